"""Pictures as numbers: small grey copies of the files that a column names."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayespoint.active.labelling.pictures import PictureError, picture_path
from bayespoint.cli.output.printing import Notes, count, listed
from bayespoint.tools.extras import require

SIDE = 16  # pixels of the small copy, in each direction


def pixel_names(column: str) -> list[str]:
    """Names of the columns of numbers that stand for a column of pictures."""
    return [f"{column} {place}" for place in range(SIDE**2)]


def pixel_columns(series: pd.Series, folder: Path, notes: Notes) -> pd.DataFrame:
    """Grey values from 0 to 1 of small copies; all 0 where there is no picture."""
    require("PIL", "label", f"column {series.name!r}")
    values = np.zeros((len(series), SIDE**2))
    missing = []
    for place, name in enumerate(series):
        try:
            values[place] = small_copy(picture_path(folder, str(name)))
        except PictureError:
            missing.append(name)
    if missing:
        pictures = count(len(missing), "picture")
        notes.add(f"column {series.name!r}: {pictures} cannot be read: {listed(missing)}")
    return pd.DataFrame(values, columns=pixel_names(str(series.name)), index=series.index)


def small_copy(path: Path) -> NDArray[np.float64]:
    """The grey values of a picture that is made small."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as picture:
                picture.draft("L", (4 * SIDE, 4 * SIDE))  # JPEG files are read faster
                grey = picture.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Warning):
        raise PictureError("the file is not a picture") from None
    return np.asarray(grey, dtype=np.float64).ravel() / 255
