"""The container of a model file: an uncompressed zip archive, checked before use."""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from typing import Any, BinaryIO

from bayespoint.tools.attributes import ContentError, need

MANIFEST = "manifest.json"
FORMAT = "bayespoint model"
VERSION = 6  # of the format; raised when older releases cannot read new files
SEAL = "bayespoint model, manifest sha256 "  # comment of the archive, followed by the digits
LARGEST_MANIFEST = 64 * 2**20  # bytes
# Bytes of memory for each of these characters, in JSON and in the values that are made of it.
PARSED = {b"[": 160, b"{": 400, b",": 64}
# The directory of an archive may be this share of it, and a file this small is read in any case.
# Members that are arrays take four times as much as their entries there. An entry of 46 bytes and a
# name takes 900 bytes of memory.
DIRECTORY, TINY_FILE = 1 / 3, 2**18
GROWTH, SMALL = 8, 4 * 2**20  # most memory, as a multiple of the manifest; what is always allowed
THE_SAME_DAY = (1980, 1, 1, 0, 0, 0)  # of all members, so that equal models give equal bytes

# How pickles begin, plain or as joblib compresses them (zlib, gzip, bz2, xz).
ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")  # 0x78 alone is the letter x
PICKLES = (b"\x80", *ZLIB, b"\x1f\x8b", b"BZh", b"\xfd7zX")
AGAIN = "Save the model with bayespoint.save"
COPY = "Copy the file again from its source"


class Writer:
    """Writes arrays and finally the manifest; a context manager."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def add(self, data: memoryview) -> str:
        """Write the bytes of an array and return the name of its member."""
        name = f"arrays/{len(self._digests)}.npy"
        self._digests[name] = digest(data)
        self._put(name, data)
        return name

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest and its checksum."""
        whole = {"format": FORMAT, "format_version": VERSION, **manifest, "sha256": self._digests}
        data = json.dumps(whole, indent=1, allow_nan=False).encode("ascii")
        if len(data) > LARGEST_MANIFEST:
            raise ContentError(f"its manifest would have {len(data)} bytes, too many to load")
        check_density(data)
        self._put(MANIFEST, data)
        self._zip.comment = (SEAL + digest(data)).encode("ascii")

    def _put(self, name: str, data: bytes | memoryview) -> None:
        member = zipfile.ZipInfo(name, THE_SAME_DAY)
        member.create_system = 3  # Unix, on every system
        member.external_attr = 0o644 << 16
        self._zip.writestr(member, data)


class BoundedFile:
    """A file of which only some bytes may be read, for opening an archive.

    ``zipfile`` reads the directory at once, and keeps an object for each of its entries.
    """

    def __init__(self, file: BinaryIO, left: float) -> None:
        self._file = file
        self.left = left  # bytes
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """Read some bytes, or raise an error if they are too many."""
        here = self._file.tell()
        rest = self._file.seek(0, os.SEEK_END) - here
        self._file.seek(here)
        self.left -= rest if size < 0 else min(size, rest)
        need(self.left >= 0, f"its directory has too many entries for a model. {AGAIN}")
        return self._file.read(size)

    def seekable(self) -> bool:
        """It is a file on a disk."""
        return True


class Reader:
    """Reads members and checks their checksums.

    Nothing is compressed, so reading needs no more memory than the size of the file.

    Attributes
    ----------
    manifest : dict
        The manifest, in the format that this release reads.
    size : int
        Bytes of the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.size = size = file.seek(0, os.SEEK_END)
        bounded = BoundedFile(file, max(DIRECTORY * size, TINY_FILE))
        self._zip = open_zip(bounded)
        bounded.left = math.inf
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in self._zip.infolist():
            if member.filename in self._members:
                raise ContentError(f"it has two members {member.filename!r}. {AGAIN}")
            stored = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
            if not stored or member.compress_size != member.file_size:
                raise ContentError(
                    f"its member {member.filename!r} is compressed or encrypted, which another "
                    f"program must have done. {AGAIN}"
                )
            self._members[member.filename] = member
        if sum(member.file_size for member in self._members.values()) > size:
            raise ContentError(f"its members are larger in total than the file, {size} bytes")
        self.manifest = self._read_manifest()

    def array(self, name: str) -> bytes:
        """The bytes of an array."""
        expected = self.manifest["sha256"].get(name)
        need(expected and name in self._members, f"the array {name!r} is missing. {COPY}")
        data = self._zip.read(self._members[name])
        if not is_intact(data, expected):
            raise ContentError(f"the array {name!r} was changed or damaged (its SHA-256 is wrong)")
        return data

    def check_members(self) -> None:
        """Raise an error unless the archive contains exactly the arrays of the manifest."""
        expected = {MANIFEST, *self.manifest["sha256"]}
        for name in sorted(expected ^ self._members.keys()):
            what = "is missing" if name in expected else "is not in the manifest"
            raise ContentError(f"its member {name!r} {what}: the file was changed. {AGAIN}")

    def _read_manifest(self) -> dict[str, Any]:
        member = self._members.get(MANIFEST)
        if member is None:
            raise ContentError(
                f"it is a zip archive without {MANIFEST!r}, not a bayespoint model file. {AGAIN}"
            )
        if member.file_size > LARGEST_MANIFEST:
            raise ContentError(f"its manifest of {member.file_size} bytes is too large to load")
        data = self._zip.read(member)
        check_density(data)
        manifest = json.loads(
            data.decode("ascii"), parse_constant=refuse_constant, object_pairs_hook=unique
        )
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ContentError(f"its manifest is not that of a bayespoint model file. {AGAIN}")
        check_version(manifest)
        seal = self._zip.comment.decode("ascii", errors="replace")
        if not seal.startswith(SEAL) or not is_intact(data, seal.removeprefix(SEAL)):
            raise ContentError("its manifest was changed or damaged (its SHA-256 is wrong)")
        for key in ("libraries", "metadata", "sha256"):
            need(isinstance(manifest.get(key), dict), f"its manifest has no {key!r}")
        return manifest


def digest(data: bytes | memoryview) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def is_intact(data: bytes, expected: str) -> bool:
    """Whether the bytes have the expected SHA-256."""
    return digest(data) == expected


def check_density(data: bytes) -> None:
    """Refuse JSON that would take far more memory than its text: thousands of empty lists."""
    parsed = sum(size * data.count(character) for character, size in PARSED.items())
    if parsed > max(GROWTH * len(data), SMALL):
        raise ContentError(
            f"its manifest of {len(data)} bytes would take about {parsed} bytes of memory. {AGAIN}"
        )


def open_zip(file: BoundedFile) -> zipfile.ZipFile:
    """Open the archive, or raise an error that says what the file looks like."""
    file.seek(0)
    start = file.read(4)
    if start.startswith(b"PK\x03\x04"):
        try:
            return zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise ContentError(f"it is truncated or damaged ({error!s:.200}). {COPY}") from error
    need(start, f"it is empty. {AGAIN}")
    if start.startswith(PICKLES):
        raise ContentError(
            "it looks like a pickle, from pickle or joblib. Pickles can run any code, so they are "
            f"never loaded. {AGAIN}"
        )
    raise ContentError(f"it is not a bayespoint model file, which is a zip archive. {AGAIN}")


def check_version(manifest: dict[str, Any]) -> None:
    """Raise an error unless this release can read the version of the format."""
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ContentError(f"its format version is {version!r}, not a positive integer")
    if version != VERSION:
        libraries = manifest.get("libraries")
        writer = libraries.get("bayespoint") if isinstance(libraries, dict) else None
        remedy = "Upgrade bayespoint" if version > VERSION else "Fit and save the model again"
        raise ContentError(
            f"it was written by bayespoint {writer or 'of unknown version'} in format {version}, "
            f"but this release reads format {VERSION}. {remedy}"
        )


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; an error if a key is there twice, of which programs take one or the other."""
    found = dict(pairs)
    need(len(found) == len(pairs), "its manifest contains an object with a key twice")
    return found


def refuse_constant(token: str) -> None:
    """Raise an error for NaN and Infinity, which are not valid JSON."""
    raise ContentError(f"its manifest contains {token}, which is not JSON")
