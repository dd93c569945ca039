"""Pictures: files below a folder, which are never opened through a link, and small copies."""

from __future__ import annotations

import errno
import os
import stat
import warnings
from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from weakref import finalize

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

# Whether the system opens a file relative to a folder that is open, and says if it is a link.
HAS_DESCRIPTORS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | NO_LINK
# Without O_NONBLOCK, a pipe with the name of a picture would stop the server.
FILE = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | NO_LINK
JUNCTION = 0xA0000003  # the link to a folder that Windows has beside symbolic links

OUTSIDE = "the file is outside the folder of the pool"
LINK = "links are not followed. Replace the link by what it leads to"
NO_FILE = "there is no such file"
NO_NAME = "this is not a valid file name"


class PictureError(ValueError):
    """An image that cannot be shown; the message says why."""


class PictureFolder:
    """The files below a folder.

    Checking a name and opening it later leaves time to put a link in its place. So each part of a
    name is opened relative to the open folder before it, by a call that fails if the part is a
    link. Where the system has no such call (Windows), names are checked before and after the file
    is opened, and the open file must be the one that was checked: only a folder that is exchanged
    twice within these microseconds is not noticed.

    Parameters
    ----------
    path : Path
        The folder. It may be reached through links.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._folder = -1
        if HAS_DESCRIPTORS:
            self._folder = os.open(path, DIRECTORY & ~NO_LINK)
            finalize(self, os.close, self._folder)

    def read(self, name: str) -> bytes:
        """The content of a file."""
        parts = self._parts(name)
        try:
            return content_of(self._opened(parts) if HAS_DESCRIPTORS else self._checked(parts))
        except (FileNotFoundError, NotADirectoryError):
            raise PictureError(NO_FILE) from None
        except UnicodeError:
            raise PictureError(NO_NAME) from None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise PictureError(NO_NAME) from None
            raise PictureError(f"the file cannot be read: {error.strerror}") from None

    def _parts(self, name: str) -> list[str]:
        """Folders and file, as names below the folder; ``..`` is resolved without asking it."""
        if "\0" in name:
            raise PictureError(NO_NAME)
        path = Path(os.path.normpath(name))
        if path.anchor:
            folders = [self._path, self._path.resolve()]
            folder = next((one for one in folders if path.is_relative_to(one)), None)
            if folder is None:
                raise PictureError(OUTSIDE)
            path = path.relative_to(folder)
        if not path.parts:
            raise PictureError(NO_FILE)
        if path.parts[0] == os.pardir:
            raise PictureError(OUTSIDE)
        return list(path.parts)

    def _opened(self, parts: Sequence[str]) -> int:
        """The descriptor of the file, opened part by part."""
        *folders, last = parts
        here = os.dup(self._folder)
        try:
            for part in folders:
                there = open_part(part, DIRECTORY, here)
                os.close(here)
                here = there
            return open_part(last, FILE, here)
        finally:
            os.close(here)

    def _checked(self, parts: Sequence[str]) -> int:
        """The descriptor of the file, opened by name between two checks."""
        self._refuse_links(parts)
        file = os.open(self._path.joinpath(*parts), FILE)
        try:
            found = self._refuse_links(parts)
            if not os.path.samestat(found, os.fstat(file)):
                raise PictureError(LINK)
        except BaseException:
            os.close(file)
            raise
        return file

    def _refuse_links(self, parts: Sequence[str]) -> os.stat_result:
        """Raise an error if a part is a link, and describe the last one."""
        path = self._path
        for part in parts:
            path = path / part
            found = path.lstat()
            if stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) == JUNCTION:
                raise PictureError(LINK)
        return found


def content_of(file: int) -> bytes:
    """The content of an open file, which is closed; only regular files have any."""
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise PictureError(NO_FILE)
    with open(file, "rb") as stream:
        return stream.read()


def open_part(name: str, flags: int, folder: int) -> int:
    """The descriptor of one part of a name, which must not be a link."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError:
        # Systems differ in the number of the error. This only chooses the message.
        if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise PictureError(LINK) from None
        raise


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


# A copy is made to see whether there is a picture, and needed again to learn from it.
_copies: dict[bytes, NDArray[np.float64]] = {}


def small_copy(content: bytes) -> NDArray[np.float64]:
    """The grey values, from 0 to 1, of a picture that is made small."""
    key = sha256(content).digest()
    if key not in _copies:
        _copies[key] = decoded(content)
    return _copies[key]


def decoded(content: bytes) -> NDArray[np.float64]:
    """The grey values of a picture, as Pillow reads it."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(content)) as picture:
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
