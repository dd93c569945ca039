"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

N_KEPT = 20  # last characters of the file name that the draft keeps, for the suffix


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft to write to, which replaces ``path`` when the block ends without an error.

    The draft is in the same folder and has the same suffix. After an error or an interrupt the
    draft is removed, and ``path`` is unchanged. A link stays a link, and a file keeps its
    permissions. A pipe or a device such as ``/dev/null`` is written to directly.

    Parameters
    ----------
    path : str or path
        The file to write.

    Returns
    -------
    context manager
        Its value is the path of the draft.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayespoint.tools.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "words.txt")) as draft:
    ...         _ = draft.write_text("all of them")
    ...     [file.name for file in Path(folder).iterdir()]
    ['words.txt']
    """
    target, draft = _places(path)
    try:
        yield draft
        if target == draft:
            return
        if target.exists():
            shutil.copymode(target, draft)
        with draft.open("rb+") as file:  # on disk before it gets its name
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException as error:
        if target != draft:
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(draft)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if a file cannot be written, before there is much to lose."""
    target, draft = _places(path)
    if target != draft:
        trial = draft if target.exists() else target  # a name may be too long
        trial.touch(exist_ok=False)
        trial.unlink()
    elif target.is_char_device():
        with target.open("wb", buffering=0) as device:
            device.write(b"")  # a full device says so


def _places(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """The file that is meant, and a draft beside it; a pipe or a device is its own draft."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        return target, target
    if target.is_symlink():
        raise OSError(errno.ELOOP, "Symbolic links form a loop", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such directory", str(target.parent))
    return target, target.with_name(f".bayespoint-{secrets.token_hex(8)}-{target.name[-N_KEPT:]}")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, in UTF-8, completely or not at all.

    Characters that UTF-8 cannot encode, such as surrogates in file names, are escaped.
    """
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
