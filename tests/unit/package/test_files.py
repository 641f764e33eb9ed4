"""Files of our own: private, complete or absent, and refused when a byte of them has changed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from streamnative_serdes import _files
from streamnative_serdes._files import Document, load, save
from streamnative_serdes.errors import FileError

KIND = "schema backup"
DOCUMENT = Document(KIND, "http://localhost:8080", {"text": 'é " \ud800 \x1b', "numbers": [0, 2**63 - 1, None]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "backup.json"
    save(path, DOCUMENT)
    return path


def changed(path: Path, **members: Any) -> Path:
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))
    return path


def test_what_was_saved_is_loaded(path: Path) -> None:
    assert load(path, KIND) == DOCUMENT


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such mode")
def test_only_the_owner_may_read_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        save(tmp_path / "open.json", DOCUMENT)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "open.json").stat().st_mode) == 0o600


def test_a_file_is_overwritten_unless_that_is_refused(path: Path) -> None:
    other = Document(KIND, "", 1)
    with pytest.raises(FileError, match="exists already"):
        save(path, other, overwrite=False)
    assert load(path, KIND) == DOCUMENT
    save(path, other)
    assert load(path, KIND) == other


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, broken, full)
    with pytest.raises(FileError, match=r"backup\.json cannot be written: No space left on device"):
        save(path, Document(KIND, "", 1))
    monkeypatch.undo()
    assert load(path, KIND) == DOCUMENT
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nowhere.x\.json cannot be written: No such file"):
        save(tmp_path / "nowhere" / "x.json", DOCUMENT)
    with pytest.raises(FileError, match=r"x\.json cannot be read: No such file"):
        load(tmp_path / "x.json", KIND)


@pytest.mark.parametrize(
    "members",
    [
        {"body": {}},
        {"source": "http://elsewhere"},
        {"sha256": "0" * 64},
        {"sha256": None},
        {"more": 1},
    ],
)
def test_a_changed_member_is_damage(path: Path, members: dict[str, Any]) -> None:
    with pytest.raises(FileError, match="damaged: its checksum does not match"):
        load(changed(path, **members), KIND)


def test_every_changed_byte_is_found(path: Path) -> None:
    whole = path.read_bytes()
    compact = json.dumps(json.loads(whole)).encode()  # in which no byte is only for show
    quiet = []
    for place in range(len(compact)):
        path.write_bytes(compact[:place] + bytes([compact[place] ^ 1]) + compact[place + 1 :])
        try:
            if load(path, KIND) != DOCUMENT:
                quiet.append(place)
        except FileError:
            continue
    assert quiet == []


@pytest.mark.parametrize("cut", [0, 1, 100, -3])
def test_a_truncated_file_is_damaged(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FileError, match="is damaged: it is not JSON"):
        load(path, KIND)


def test_a_file_for_something_else_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="expected a migration state, got a schema backup"):
        load(path, "migration state")
    with pytest.raises(FileError, match="expected format 1, got 2"):
        load(changed(path, format=2), KIND)
    for foreign in ("[]", "{}", '"text"', "1"):
        (tmp_path / "foreign.json").write_text(foreign)
        with pytest.raises(FileError, match="is not a file of this program"):
            load(tmp_path / "foreign.json", KIND)


def test_json_that_is_nested_without_end_is_damage(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(FileError, match="damaged"):
        load(tmp_path / "deep.json", KIND)
