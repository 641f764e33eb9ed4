"""Dead letters in topics and in files: nothing of a message is lost, and what is damaged is refused."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from consumed import delivered

from streamnative_serdes.errors import FileError
from streamnative_serdes.migration.copying.dead_letters import (
    HEADERS,
    OFFSET,
    PARTITION,
    REASON,
    DeadLetter,
    DeadLetterFile,
    DeadLetterTopic,
    read_file,
)

LETTER = DeadLetter(1, 17, 1_000, b"\xff", b"\0value", [("a", None), ("a", b"\xff"), ("b", b"")], "it is bad: \u00e4")


def read(produced: dict[str, Any]) -> DeadLetter | None:
    return DeadLetter.read(delivered(produced))  # type: ignore[arg-type]


def letters(path: Path, *offsets: int, following: dict[int, int] | None = None, source: str = "s") -> None:
    file = DeadLetterFile(path, source, following or {})
    for offset in offsets:
        file.add(replace(LETTER, offset=offset))
    file.secure()
    file.close()


def test_a_letter_of_a_message_has_all_its_parts() -> None:
    parts = {"key": b"k", "value": None, "headers": [("a", None)], "timestamp": 5}
    assert DeadLetter.of(delivered(parts, 2, 9), "why") == DeadLetter(2, 9, 5, b"k", None, [("a", None)], "why")  # type: ignore[arg-type]
    assert DeadLetter.of(delivered({}), "why").timestamp is None  # type: ignore[arg-type]


@pytest.mark.parametrize("hide_headers", [False, True])
@pytest.mark.parametrize("headers", [None, [("a", None), ("a", b"\xff")]])
@pytest.mark.parametrize("timestamp", [None, 1, 0])
def test_what_is_produced_reads_as_the_same_letter(hide_headers: bool, headers: Any, timestamp: int | None) -> None:
    letter = replace(LETTER, headers=headers, timestamp=timestamp)
    produced = letter.produced("orders", hide_headers=hide_headers)
    assert read(produced) == letter
    assert (HEADERS in dict(produced["headers"])) == hide_headers
    assert all(data is not None for _, data in produced["headers"]) or not hide_headers


@pytest.mark.parametrize("name", [OFFSET, REASON, HEADERS, "streamnative.migration.place"])
def test_a_message_s_own_header_with_a_name_like_ours_is_not_lost(name: str) -> None:
    letter = replace(LETTER, headers=[(name, b"5"), ("a", b"1")])
    assert read(letter.produced("orders")) == letter


@pytest.mark.parametrize(
    "headers",
    [None, [], [(PARTITION, b"0")], [(PARTITION, b"0"), (OFFSET, b"x"), (REASON, b"")],
     [(PARTITION, None), (OFFSET, b"1"), (REASON, b"")], [(PARTITION, b"0"), (OFFSET, b"1"), (REASON, None)],
     [(PARTITION, b"0"), (OFFSET, b"1"), (REASON, b""), (HEADERS, b"{")],
     [(PARTITION, b"0"), (OFFSET, b"1"), (REASON, b""), (HEADERS, b'[["a", "?"]]')]],
)  # fmt: skip
def test_another_message_is_no_letter(headers: Any) -> None:
    assert read({"headers": headers, "value": b"v"}) is None


def test_a_long_reason_is_cut_in_a_topic() -> None:
    found = read(replace(LETTER, reason="x" * 10_001).produced("orders"))
    assert found is not None
    assert found.reason == "x" * 10_000


def test_a_file_has_all_letters_and_is_the_owner_s(tmp_path: Path) -> None:
    path = tmp_path / "letters"
    letters(path, 1, 2)
    assert list(read_file(path, "s")) == [replace(LETTER, offset=1), replace(LETTER, offset=2)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [child.name for child in tmp_path.iterdir()] == ["letters"]
    assert list(read_file(tmp_path / "none", "s")) == []


def test_resuming_drops_the_letters_that_come_again(tmp_path: Path) -> None:
    path = tmp_path / "letters"
    letters(path, 1, 5, 6)
    letters(path, 7, following={1: 6})
    assert [letter.offset for letter in read_file(path, "s")] == [1, 5, 7]
    letters(path, following={0: 100})  # partition 1 begins again
    assert list(read_file(path, "s")) == []


def test_a_last_line_that_is_not_whole_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "letters"
    letters(path, 1, 2)
    path.write_bytes(path.read_bytes()[:-1])
    assert [letter.offset for letter in read_file(path, "s")] == [1]
    letters(path, 2, following={1: 2})
    assert [letter.offset for letter in read_file(path, "s")] == [1, 2]


@pytest.mark.parametrize("change", [("17", "18"), ('"reason"', '"season"'), ('"sha256"', '"sha255"'), ("{", "[")])
def test_a_damaged_line_is_named(tmp_path: Path, change: tuple[str, str]) -> None:
    path = tmp_path / "letters"
    letters(path, 16, 17, 16)
    lines = path.read_text().split("\n")
    lines[2] = lines[2].replace(*change)
    path.write_text("\n".join(lines))
    with pytest.raises(FileError, match="line 3 is damaged"):
        letters(path)
    assert path.read_text() == "\n".join(lines)


@pytest.mark.parametrize("text", ["", "x\n", "[]\n", json.dumps({"streamnative-serdes": "dead letters", "format": 1})])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "letters"
    path.write_text(text)
    with pytest.raises(FileError, match="not a file of dead letters of s"):
        letters(path)
    assert path.read_text() == text


def test_a_file_of_another_source_is_refused(tmp_path: Path) -> None:
    letters(tmp_path / "letters", 1)
    with pytest.raises(FileError, match="not a file of dead letters of other"):
        letters(tmp_path / "letters", source="other")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written"):
        letters(tmp_path / "none" / "letters")


def test_letters_that_are_safe_are_not_sent_again_and_only_sent_ones_are_flushed() -> None:
    done: list[Any] = []

    def send(name: str, **more: Any) -> None:
        done.append((name, more["partition"], dict(more["headers"])[OFFSET]))
        assert more["headers"][:3] == LETTER.headers

    topic = DeadLetterTopic("t", "s", send, lambda: done.append("flush"), {1: {4, 6}})
    topic.secure()
    for partition, offset in ((1, 4), (1, 6)):
        topic.add(replace(LETTER, partition=partition, offset=offset))
    topic.secure()
    assert done == []
    for partition, offset in ((1, 5), (0, 0)):  # the first one was refused, and later ones were in flight
        topic.add(replace(LETTER, partition=partition, offset=offset))
    topic.secure()
    topic.secure()
    assert done == [("t", 1, b"5"), ("t", 0, b"0"), "flush"]
