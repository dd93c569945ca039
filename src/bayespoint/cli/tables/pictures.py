"""Pictures as numbers: small grey copies of the files that a column names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bayespoint.active.labelling.pictures import SIDE, PictureError, picture_path, small_copy
from bayespoint.cli.output.printing import Notes, count, listed
from bayespoint.tools.extras import require


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
