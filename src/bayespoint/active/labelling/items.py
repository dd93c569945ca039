"""Rows as a person sees them: cells, a text, or a picture, from a file or columns of pixels."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.active.labelling.pictures import (
    PictureError,
    PictureFolder,
    media_type,
    png,
    small_copy,
)

TABLE, TEXT, IMAGE, PIXELS = "table", "text", "image", "pixels"


class Items:
    """The rows of a pool as a person sees them.

    Parameters
    ----------
    frame : DataFrame
        The pool, without the column of the labels.
    name : str
        Name of the pool.
    folder : Path
        Pictures must lie below this folder.
    kind : {"table", "text", "image", "pixels"}
        How a row is shown.
    columns : sequence of str
        The column of the text or of the names of pictures, or those of the pixels.
    shape : (int, int), optional
        Height and width of a picture that is given by its pixels.

    Attributes
    ----------
    usable : ndarray of int
        Rows that can be shown.
    """

    def __init__(
        self,
        frame: Any,
        name: str,
        folder: Path,
        kind: str = TABLE,
        columns: Sequence[str] = (),
        shape: tuple[int, int] | None = None,
    ) -> None:
        self.name, self.kind = name, kind
        self._frame, self._columns = frame, list(columns)
        self._others = [column for column in frame if column not in self._columns]
        self._is_usable = np.ones(len(frame), dtype=bool)
        self.problem = ""  # of the first row that cannot be shown
        if kind == PIXELS:
            values = frame[self._columns].to_numpy(dtype=np.float64)
            self._pixels = grey_values(values).reshape(-1, *(shape or ()))
        elif kind == TEXT:
            self._is_usable = frame[self._columns[0]].notna().to_numpy()
        elif kind == IMAGE:
            self._folder = PictureFolder(folder)
            self._is_usable = np.array([self._has_picture(row) for row in range(len(frame))])
        self.usable: NDArray[np.intp] = np.flatnonzero(self._is_usable)

    def __len__(self) -> int:
        return len(self._frame)

    def is_usable(self, row: int) -> bool:
        """Whether a row can be shown."""
        return bool(self._is_usable[row])

    def show(self, row: int) -> dict[str, Any]:
        """The row, ready for JSON."""
        cells = self._frame.iloc[row]
        shown: dict[str, Any] = {"number": row + 1, "kind": self.kind}
        if self.kind == TEXT:
            shown["text"] = str(cells[self._columns[0]])
        elif self.kind in (IMAGE, PIXELS):
            shown["image"] = f"image/{row}"
        shown["fields"] = [(name, words(cells[name])) for name in self._others]
        return shown

    def records(self) -> Iterator[dict[str, str]]:
        """All rows as texts by name; images of pixels as data URLs."""
        pixels = self.kind == PIXELS
        names = self._others if pixels else list(self._frame)
        # With the index: older pandas has no rows where there is no column.
        for row, (_, *cells) in enumerate(self._frame[names].itertuples(name=None)):
            record = dict(zip(names, map(words, cells), strict=True))
            if pixels:
                content = base64.b64encode(png(self._pixels[row])).decode("ascii")
                record["image"] = f"data:image/png;base64,{content}"
            yield record

    def picture(self, row: int) -> tuple[str, bytes]:
        """Media type and content of the picture of a row."""
        if self.kind == PIXELS and 0 <= row < len(self):
            return "image/png", png(self._pixels[row])
        if self.kind == IMAGE and 0 <= row < len(self) and self.is_usable(row):
            content = self._content(row)
            return media_type(content), content
        raise PictureError("this row has no picture")

    def _content(self, row: int) -> bytes:
        """The file of the picture of a row."""
        return self._folder.read(str(self._frame[self._columns[0]].iloc[row]))

    def _has_picture(self, row: int) -> bool:
        try:
            content = self._content(row)
            media_type(content)  # browsers show fewer types than Pillow
            small_copy(content)
            return True
        except PictureError as error:
            name = self._frame[self._columns[0]].iloc[row]
            self.problem = self.problem or f"row {row + 1}, {str(name)!r:.80}: {error}"
            return False


def grey_values(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Shades from black, the smallest value, to white; NaN is black, infinity is an end.

    >>> import numpy as np
    >>> grey_values(np.array([0.0, 5.0, 10.0, np.nan, np.inf]))
    array([  0, 128, 255,   0, 255], dtype=uint8)
    """
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    values = np.nan_to_num(values, nan=low, posinf=high, neginf=low)
    width = high / 2 - low / 2  # halves do not overflow
    return ((values / 2 - low / 2) / (width or 1.0) * 255).round().astype(np.uint8)


def words(value: Any) -> str:
    """A cell as text; nothing for a missing value.

    >>> words(0.1 + 0.2), words(float("nan")), words("yes")
    ('0.3', '', 'yes')
    """
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else str(value)
