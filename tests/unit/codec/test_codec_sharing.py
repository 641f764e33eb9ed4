"""Sharing one codec: copies, pickles, threads, user code that calls it again, and no leaks."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
from typing import Any

import pytest
from schemas import record
from waiting import busy_switching, together

from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError

LIST = record("LongList", ("value", "long"), ("next", ["null", "LongList"]))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda codec: pickle.loads(pickle.dumps(codec))])
@pytest.mark.parametrize("strict", [True, False])
def test_a_codec_can_be_copied_and_pickled(copied: Any, strict: bool) -> None:
    schema = LIST if strict else record("R", ("a", "int", "bad"))
    codec = Codec(parse(schema, strict=strict))
    datum = {"value": 1, "next": None} if strict else {"a": 1}

    assert copied(codec).encode(datum) == codec.encode(datum)
    assert copied(codec).schema.text == codec.schema.text


WIDE = record(
    "R",
    ("id", "long"),
    ("name", "string"),
    ("tags", {"type": "map", "values": {"type": "array", "items": ["null", "int", "string"]}}),
    ("next", ["null", "R"]),
)


def wide(number: int) -> dict[str, Any]:
    inner = {"id": -number, "name": "é" * (number % 7), "tags": {}, "next": None}
    return {"id": number, "name": f"n{number}" * 200, "tags": {f"k{number}": [number, None, "x"]}, "next": inner}


def test_eight_threads_on_one_codec_get_correct_values_and_errors() -> None:
    codec, wrong = Codec(WIDE), []

    def work(thread: int) -> None:
        for number in range(thread * 1000, thread * 1000 + 400):
            if codec.decode(codec.encode(wide(number))) != wide(number):
                wrong.append(number)
            bad = wide(number)
            bad["tags"][f"k{number}"].append(1.5)
            try:
                codec.encode(bad)
            except EncodeError as error:
                if error.path != f'tags["k{number}"][3]':
                    wrong.append(error.path)
            else:
                wrong.append(number)

    with busy_switching():
        together(8, work)
    assert wrong == []


def memory_kib() -> int:
    """Return the resident memory; 0 if the platform does not report it, or a sanitizer keeps freed memory."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        return 0
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4
    except OSError:
        return 0


def test_neither_calls_nor_errors_leak() -> None:
    codec, good = Codec(WIDE), wide(3)
    data, bad = codec.encode(good), wide(3) | {"tags": {"somekey": [1, object()]}}
    shared = [good["name"], good["tags"], bad["tags"], data]

    def work(rounds: int) -> None:
        for _ in range(rounds):
            codec.encode(good)
            codec.decode(data)
            codec.skip(data)
            with pytest.raises(EncodeError):
                codec.encode(bad)
            with pytest.raises(DecodeError):
                codec.decode(data[:-3])

    work(500)
    gc.collect()
    objects, references, memory = len(gc.get_objects()), [sys.getrefcount(one) for one in shared], memory_kib()
    work(10_000)
    gc.collect()
    assert [sys.getrefcount(one) for one in shared] == references
    assert len(gc.get_objects()) - objects < 500
    assert memory_kib() - memory < 4096


@pytest.mark.parametrize("size", [0, 10, 1000, 1100, 50_000])
def test_the_caller_has_the_only_reference_to_a_result(size: int) -> None:
    codec = Codec(record("R", ("s", "string"), ("b", "bytes")))
    data = codec.encode({"s": "x" * size, "b": bytes(size)})
    datum = codec.decode(data)

    fresh = object()
    counts = sys.getrefcount(data), sys.getrefcount(datum), sys.getrefcount(fresh)
    assert counts[:2] == (counts[2], counts[2])


class Encoding:
    """A number that calls encode with another such number when it is read, ``levels`` deep."""

    def __init__(self, levels: int) -> None:
        self.levels = levels

    def __index__(self) -> int:
        return len(Codec("long").encode(Encoding(self.levels - 1))) if self.levels else 1


def test_nested_calls_of_encode_are_allowed_up_to_a_limit() -> None:
    codec = Codec("long")
    assert codec.encode(Encoding(5)) == b"\x02"
    for _ in range(3):  # after an error, the count of levels is reset
        with pytest.raises(EncodeError, match="calls of encode are nested more than 8 levels deep"):
            codec.encode(Encoding(10_000))
    assert codec.encode(Encoding(5)) == b"\x02"
