"""Pictures of rows: files below the folder of the pool, and columns of pixels."""

from __future__ import annotations

import warnings
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# First bytes of pictures that browsers show. SVG is not among them: it may contain scripts.
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"BM": "image/bmp",
}
SIDE = 16  # pixels of a small copy, in each direction
SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp"}


class PictureError(ValueError):
    """An image that cannot be shown; the message says why."""


def picture_path(folder: Path, name: str) -> Path:
    """The file of a picture, which must lie below the folder, links followed."""
    try:
        path = Path(folder, name).resolve()
        is_file = path.is_file()
    except (OSError, RuntimeError, ValueError):  # names with NUL, links in a circle
        raise PictureError("this is not a valid file name") from None
    if not path.is_relative_to(folder.resolve()):
        raise PictureError("the file is outside the folder of the pool")
    if not is_file:
        raise PictureError("there is no such file")
    return path


def read_picture(path: Path) -> tuple[str, bytes]:
    """Media type and content of a picture."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PictureError(f"the file cannot be read: {error.strerror}") from None
    return media_type(content), content


def media_type(content: bytes) -> str:
    """The type of a picture, by its first bytes.

    >>> media_type(b"GIF89a...")
    'image/gif'
    """
    for signature, kind in SIGNATURES.items():
        if content.startswith(signature):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    raise PictureError("the file is not a PNG, JPEG, GIF, BMP or WebP picture")


@cache  # it is made to see whether there is a picture, and again to learn from it
def small_copy(path: Path) -> NDArray[np.float64]:
    """The grey values, from 0 to 1, of a picture that is made small."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as picture:
                picture.draft("L", (4 * SIDE, 4 * SIDE))  # JPEG files are read faster
                grey = picture.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Warning):
        raise PictureError("the file cannot be decoded") from None
    return np.asarray(grey, dtype=np.float64).ravel() / 255


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file of grey values.

    >>> import numpy as np
    >>> media_type(png(np.zeros((2, 2), dtype=np.uint8)))
    'image/png'
    """
    from PIL import Image

    file = BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()
