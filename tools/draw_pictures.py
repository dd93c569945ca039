"""Draw the pictures of README and docs by the programs that these name.

    python tools/draw_pictures.py            # write them
    python tools/draw_pictures.py --check    # compare them with what is there

Exit status: 0 done, or all alike; 1 a picture shows something else than its program draws.
"""

from __future__ import annotations

import io
import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.image import imread

from bayespoint.tools.plots import house_style

ROOT = Path(__file__).resolve().parents[1]
PICTURES = {
    "docs/images/purpose.png": "examples/00_purpose.py",
    "docs/images/growth.png": "benchmarks/growth.py",
}
TILES = 24  # of a picture, along each side, whose mean colours are compared
ALIKE = 0.03  # largest difference of mean colours, of 1: lines may move a little by rounding


def draw(program: str) -> bytes:
    """The figure of a program, as a PNG file."""
    mpl.use("Agg")
    with house_style():
        figure = runpy.run_path(str(ROOT / program))["fig"]
        figure.set_layout_engine("constrained")
        file = io.BytesIO()
        figure.savefig(file, dpi=150)
    return file.getvalue()


def tiles(picture: Any) -> np.ndarray:
    """Mean colours of the tiles of a picture."""
    pixels = imread(picture)[..., :3]
    rows, columns = (np.linspace(0, n, TILES + 1).astype(int)[:-1] for n in pixels.shape[:2])
    sums = np.add.reduceat(np.add.reduceat(pixels, rows, axis=0), columns, axis=1)
    sizes = np.add.reduceat(np.ones(pixels.shape[0]), rows)[:, None, None]
    return sums / sizes / np.add.reduceat(np.ones(pixels.shape[1]), columns)[:, None]


def main(arguments: list[str]) -> int:
    """Run the command and return its exit status."""
    stale = []
    for name, program in PICTURES.items():
        path, drawn = ROOT / name, draw(program)
        if "--check" not in arguments:
            path.write_bytes(drawn)
        elif np.abs(tiles(path) - tiles(io.BytesIO(drawn))).max() > ALIKE:
            stale.append(name)
    for name in stale:
        print(f"{name} is not what {PICTURES[name]} draws: run tools/draw_pictures.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
