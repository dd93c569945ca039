"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

N_KEPT = 20  # last letters of a name that its draft keeps: among them the suffix


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft to write to, which takes the place of ``path`` when the block ends well.

    The draft lies in the same folder and has the same suffix. After an error or an interrupt there
    is no draft, and what was at ``path`` is still there. A link stays a link, a file keeps its
    permissions, and what is no file, such as a pipe or ``/dev/null``, is written to directly.

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
    >>> from bayespoint.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "words.txt")) as draft:
    ...         _ = draft.write_text("all of them")
    ...     [file.name for file in Path(folder).iterdir()]
    ['words.txt']
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target
        return
    draft = target.with_name(f".bayespoint-{secrets.token_hex(8)}-{target.name[-N_KEPT:]}")
    try:
        yield draft
        if target.exists():
            shutil.copymode(target, draft)
        with draft.open("rb+") as file:  # on the disk before it has the name
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
