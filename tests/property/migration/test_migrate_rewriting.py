"""Rewriting there and back gives the same bytes, and dead letters keep any message."""

from __future__ import annotations

import json
from typing import Any

from consumed import delivered
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes import header
from streamnative_serdes._rewriting import VALUE_HEADER, Rewriter
from streamnative_serdes.migration.copying.dead_letters import PREFIX, DeadLetter, DeadLetterFile, read_file

IDS, VERSIONS = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)
NAMES = st.text(st.characters(codec="utf-8"), max_size=8) | st.text("abc", max_size=3).map(lambda end: PREFIX + end)
PAIRS = st.none() | st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=8)), min_size=1, max_size=4)
BYTES = st.none() | st.binary(max_size=40)
LETTERS = st.builds(
    DeadLetter,
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.none() | st.integers(0, 2**63 - 1),
    key=BYTES,
    value=BYTES,
    headers=PAIRS,
    reason=st.text(st.characters(codec="utf-8")),
)


@given(IDS, VERSIONS, st.binary(max_size=40), PAIRS)
@examples(300)
def test_forward_and_back_gives_the_same_message(number: int, version: int, datum: bytes, pairs: Any) -> None:
    forward, back = Rewriter("forward", {number: version}), Rewriter("back", {version: number})
    value = header.pack_id(number) + datum
    there = forward.rewrite(value, pairs)
    assert there == (header.pack(version) + datum, pairs)
    assert back.rewrite(*there) == (value, pairs)
    named = [*(pairs or ()), (VALUE_HEADER, header.pack_id(number))]
    assert forward.rewrite(datum, named) == there


@given(LETTERS, st.booleans())
@examples(300)
def test_a_dead_letter_comes_back_from_a_topic(letter: DeadLetter, hide_headers: bool) -> None:
    produced = letter.produced("orders", hide_headers=hide_headers)
    assert DeadLetter.read(delivered(produced)) == letter  # type: ignore[arg-type]


@given(st.lists(LETTERS, max_size=3))
@examples(50)
def test_dead_letters_come_back_from_a_file(tmp_path_factory: Any, letters: list[DeadLetter]) -> None:
    path = tmp_path_factory.mktemp("letters") / "file"
    file = DeadLetterFile(path, "orders", {})
    for letter in letters:
        file.add(letter)
    file.secure()
    file.close()
    assert list(read_file(path, "orders")) == letters
    head, *lines, _ = path.read_text().split("\n")
    assert json.loads(head)["source"] == "orders"
    assert [json.loads(line) for line in lines] == [letter.tree() for letter in letters]
