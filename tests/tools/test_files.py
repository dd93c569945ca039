"""Files that are written whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from bayespoint.tools.files import check_writable, replacing, write_text


def write(path, words="new"):
    with replacing(path) as draft:
        draft.write_text(words)


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a.csv.gz"
    with replacing(path) as draft:
        draft.write_text("new")
        assert draft.name.endswith(".csv.gz")  # pandas goes by it
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("begun", [True, False])
def test_an_error_leaves_what_was_there(tmp_path, error, begun):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as draft:
        if begun:
            draft.write_text("half of")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_draft_that_is_not_written_is_an_error(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(FileNotFoundError), replacing(path):
        pass
    assert path.read_text() == "old"


@pytest.mark.parametrize("folder", ["none", "file"])
def test_a_missing_folder_is_named(tmp_path, folder):
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="No such directory") as caught:
        write_text(tmp_path / folder / "words.txt", "all of them")
    assert caught.value.filename == str(tmp_path.resolve() / folder)


def test_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    link.symlink_to(path)
    write(link)
    assert link.is_symlink()
    assert path.read_text() == "new"
    dangling = tmp_path / "later.txt"
    dangling.symlink_to(tmp_path / "b.txt")
    write(dangling)
    assert dangling.is_symlink()
    assert (tmp_path / "b.txt").read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_permissions_stay(tmp_path):
    path = tmp_path / "a.txt"
    path.touch()
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write(tmp_path / "b.txt")
    (tmp_path / "c.txt").touch()
    assert (tmp_path / "b.txt").stat().st_mode == (tmp_path / "c.txt").stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes with names")
def test_what_is_no_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe)
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_the_longest_name(tmp_path):
    path = tmp_path / f"{'ä' * 120}.csv"
    write(path)
    assert path.read_text() == "new"


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path, synced = tmp_path / "a.txt", []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(path.exists()))
    write(path)
    assert synced == [False]


def test_links_in_a_circle_stay_links(tmp_path):
    one, other = tmp_path / "a.txt", tmp_path / "b.txt"
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(OSError, match="form a loop"):
        write(one)
    assert one.is_symlink() and other.is_symlink()


def test_an_error_names_the_file_and_not_the_draft(tmp_path):
    target = tmp_path / "words.txt"
    with pytest.raises(OSError, match="No space left") as caught, replacing(target) as draft:
        draft.write_text("a part")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(target)
    with pytest.raises(FileNotFoundError) as caught, replacing(target):
        pass  # the draft was never written
    assert caught.value.filename == str(target)


def test_what_cannot_be_written_is_known_before(tmp_path):
    there = tmp_path / "there.txt"
    there.write_text("words")
    for path in (there, tmp_path / "new.txt", Path(os.devnull)):
        check_writable(path)
    assert [one.name for one in tmp_path.iterdir()] == ["there.txt"]
    assert there.read_text() == "words"
    with pytest.raises(OSError, match="too long"):
        check_writable(tmp_path / ("n" * 300))
    with pytest.raises(FileNotFoundError, match="No such directory"):
        check_writable(tmp_path / "gone" / "new.txt")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_device_that_is_full_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text("/dev/full", "words")
    with pytest.raises(OSError, match="No space left on device"):
        check_writable("/dev/full")  # before there is anything to write
    assert Path("/dev/full").exists()
