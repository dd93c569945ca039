"""Pictures: which files are read, and that no file outside of the folder ever is."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.helpers.labelling import Client, make_session

from bayespoint.active.labelling import pictures as module
from bayespoint.active.labelling.items import Items
from bayespoint.active.labelling.pictures import (
    PictureError,
    PictureFolder,
    media_type,
    png,
    small_copy,
)
from bayespoint.active.labelling.server import LabelServer

INSIDE = png(np.full((4, 4), 50, dtype=np.uint8))
SECRET = png(np.full((4, 4), 200, dtype=np.uint8))


@pytest.fixture(params=["descriptors", "names"])
def way(request, monkeypatch):
    """How files are opened: as systems can that open relative to a folder, and as others can."""
    if request.param == "names":
        monkeypatch.setattr(module, "HAS_DESCRIPTORS", False)
        monkeypatch.setattr(module, "FILE", module.FILE & ~module.NO_LINK)
    elif not module.HAS_DESCRIPTORS:
        pytest.skip("this system does not open files relative to a folder")
    return request.param


@pytest.fixture
def folder(tmp_path):
    """Pictures inside of the folder of a pool, and others outside."""
    pool = tmp_path / "pool"
    (pool / "inner").mkdir(parents=True)
    for path in (pool / "a.png", pool / "inner" / "b.png"):
        path.write_bytes(INSIDE)
    (tmp_path / "secret.png").write_bytes(SECRET)
    (pool / "link.png").symlink_to(tmp_path / "secret.png")
    (pool / "near.png").symlink_to("a.png")
    (pool / "way").symlink_to(tmp_path)
    (pool / "circle.png").symlink_to(pool / "circle.png")
    (pool / "to").symlink_to(pool / "fro")
    (pool / "fro").symlink_to(pool / "to")
    (pool / "script.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    if hasattr(os, "mkfifo"):
        os.mkfifo(pool / "pipe.png")
    return pool


OUTSIDE = [
    "../secret.png",
    "inner/../../secret.png",
    "/etc/passwd",
    "..",
    "inner/../..",
    "//etc/passwd",
    "a.png/../../secret.png",
]
LINKS = [
    "link.png",
    "near.png",
    "way/secret.png",
    "circle.png",
    "to",
    "fro/a.png",
    "way/pool/a.png",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_files_outside_of_the_folder_are_refused(folder, way, name):
    with pytest.raises(PictureError, match="outside the folder"):
        PictureFolder(folder).read(name)


@pytest.mark.parametrize("name", LINKS)
def test_links_are_not_followed(folder, way, name):
    with pytest.raises(PictureError, match=r"links are not followed\. Replace the link"):
        PictureFolder(folder).read(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "no such file"),
        (".", "no such file"),
        ("no.png", "no such file"),
        ("inner", "no such file"),
        ("inner/", "no such file"),
        ("no/a.png", "no such file"),
        ("a.png/b.png", "no such file"),
        ("pipe.png", "no such file"),  # it would never end
        ("a.png\0.jpg", "not a valid file name"),
        ("\ud800.png", "not a valid file name"),
        ("x" * 5000, "not a valid file name"),
    ],
)
def test_names_that_are_no_files(folder, way, name, words):
    with pytest.raises(PictureError, match=words):
        PictureFolder(folder).read(name)


def test_files_below_the_folder_are_read(folder, way, tmp_path, monkeypatch):
    (tmp_path / "alias").symlink_to(folder)  # the folder itself may be reached through a link
    monkeypatch.chdir(folder)
    for pictures in map(PictureFolder, (folder, tmp_path / "alias", Path())):
        for name in ("a.png", "inner/b.png", "./inner//b.png", "inner/../a.png", folder / "a.png"):
            assert pictures.read(str(name)) == INSIDE
    assert PictureFolder(tmp_path / "alias").read(str(tmp_path / "alias" / "a.png")) == INSIDE


def test_the_descriptors_are_closed(folder, way):
    def count():
        return len(os.listdir("/proc/self/fd"))

    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not list descriptors")
    before = count()
    pictures = PictureFolder(folder)
    for name in ["a.png", "inner/b.png", *OUTSIDE, *LINKS, "inner", "no/a.png", "pipe.png"] * 5:
        with suppress(PictureError):
            pictures.read(name)
    del pictures
    assert count() == before


def test_pictures_are_served(folder, way):
    names = ["a.png", "inner/b.png", str(folder / "a.png"), "script.svg", *OUTSIDE, *LINKS]
    pytest.importorskip("PIL")
    items = Items(pd.DataFrame({"file": names}), "pool", folder, "image", ["file"])
    assert items.usable.tolist() == [0, 1, 2]
    assert "row 4, 'script.svg': the file is not a PNG" in items.problem
    for row in (0, 1, 2):
        assert items.picture(row) == ("image/png", INSIDE)
    for row in range(3, len(names)):  # scripts in SVG, and files of others
        with pytest.raises(PictureError):
            items.picture(row)
    with pytest.raises(PictureError):
        media_type(b"<svg>")


# Links are put in the place of a file and of its folder while pictures are requested -------------


class Swapper(threading.Thread):
    """Exchanges a file and a folder with links to others outside, again and again."""

    def __init__(self, folder, outside):
        super().__init__(daemon=True)
        self.folder, self.outside, self.ended = folder, outside, False

    def run(self):
        folder, spare = self.folder, self.folder.parent / "spare"
        while not self.ended:
            spare.symlink_to(self.outside / "b.png")
            spare.replace(folder / "a.png")
            spare.write_bytes(INSIDE)
            spare.replace(folder / "a.png")
            (folder / "inner").rename(folder / "away")
            (folder / "inner").symlink_to(self.outside)
            (folder / "inner").unlink()
            (folder / "away").rename(folder / "inner")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.ended = True
        self.join()


@pytest.fixture
def swapped(folder, tmp_path):
    """The folder, while a thread exchanges parts of it with links."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.png").write_bytes(SECRET)
    with Swapper(folder, outside):
        yield folder


def check_then_open(folder, name):
    """The wrong way: between the check of the name and the opening, the file may become a link."""
    path = Path(folder, name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise PictureError("outside")
    return path.read_bytes()


def contents(read, names, most):
    """What is read, until a secret is."""
    seen = set()
    for place in range(most):
        with suppress(PictureError, OSError):
            seen.add(read(names[place % len(names)]))
        if SECRET in seen:
            break
    return seen


@pytest.mark.parametrize("name", ["a.png", "inner/b.png"])
def test_no_file_outside_is_read_while_links_are_swapped(swapped, name):
    if not module.HAS_DESCRIPTORS:
        pytest.skip("this system does not open files relative to a folder")
    seen = contents(PictureFolder(swapped).read, [name], 20_000)
    assert seen == {INSIDE}


def test_the_wrong_way_reads_a_file_outside(swapped):
    seen = contents(lambda name: check_then_open(swapped, name), ["a.png", "inner/b.png"], 10**6)
    assert SECRET in seen


def test_no_file_outside_is_served_while_links_are_swapped(folder, tmp_path):
    pytest.importorskip("PIL")
    if not module.HAS_DESCRIPTORS:
        pytest.skip("this system does not open files relative to a folder")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.png").write_bytes(SECRET)
    frame = pd.DataFrame({"file": ["a.png", "inner/b.png"]})
    session = make_session(folder, frame, kind="image", columns=["file"])
    server = LabelServer(session, {})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    client = Client(server)

    def ask(place):
        return client.request("GET", f"/{client.token}/image/{place % 2}")[::2]

    try:
        with Swapper(folder, outside), ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(ask, range(400)))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        session.end()
    assert {status for status, _ in answers} == {200, 400}
    assert {content for status, content in answers if status == 200} == {INSIDE}


@pytest.mark.parametrize("length", [8, 40, 200])
def test_a_picture_that_cannot_be_decoded_is_named_and_left_out(tmp_path, length):
    pytest.importorskip("PIL")
    whole = png(np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8))
    (tmp_path / "whole.png").write_bytes(whole)
    (tmp_path / "torn.png").write_bytes(whole[:length])
    names = pd.DataFrame({"file": ["whole.png", "torn.png"]})
    items = Items(names, "pool", tmp_path, "image", ["file"])
    assert items.usable.tolist() == [0]
    assert items.problem == "row 2, 'torn.png': the file cannot be decoded"
    with pytest.raises(PictureError):
        items.picture(1)


def test_a_small_copy_has_the_means_of_the_parts_of_a_picture():
    pytest.importorskip("PIL")
    pixels = np.random.default_rng(0).integers(0, 256, (32, 48), dtype=np.uint8)
    means = pixels.reshape(16, 2, 16, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(small_copy(png(pixels)), means.ravel() / 255, atol=1 / 255)
