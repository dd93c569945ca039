"""Pictures of README and docs are what the programs draw that they name."""

import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "draw_pictures.py"


def test_pictures_are_those_of_their_programs():
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_another_picture_is_noticed(monkeypatch, tmp_path):
    """The negative control: the picture of an earlier version, with another curve."""
    monkeypatch.syspath_prepend(str(TOOL.parent))
    from matplotlib.image import imread, imsave

    import draw_pictures

    path = tmp_path / "other.png"
    shutil.copy(ROOT / "docs" / "images" / "purpose.png", path)
    pixels = imread(path)[..., :3].copy()
    same = io.BytesIO(path.read_bytes())
    assert np.abs(draw_pictures.tiles(path) - draw_pictures.tiles(same)).max() == 0
    pixels[: len(pixels) // 4] = pixels[: len(pixels) // 4, ::-1]
    imsave(path, pixels)
    same.seek(0)
    difference = np.abs(draw_pictures.tiles(path) - draw_pictures.tiles(same)).max()
    assert difference > draw_pictures.ALIKE
