"""Pictures of README and docs are what the programs draw that they name."""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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


def test_the_picture_of_the_labelling_page_has_its_words():
    """It is drawn by tests/helpers/draw_labelling_page.py, which keeps what the page said."""
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    page = ROOT / "src" / "bayespoint" / "active" / "labelling" / "page" / "page.html"
    source = page.read_text(encoding="utf-8").partition("<dialog")[0]
    found = re.findall(r"<(?:dt|button|label)\b[^>]*>(.*?)</(?:dt|button|label)>", source)
    words = {re.sub("<[^>]*>", "", one).strip() for one in found} - {""}
    assert {"Labels given", "Cannot say space"} <= words and len(words) == 9
    shown = image.open(ROOT / "docs" / "images" / "labelling.png").text["page"]
    assert not [one for one in sorted(words) if one not in shown]
