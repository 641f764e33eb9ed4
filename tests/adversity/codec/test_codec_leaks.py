# ruff: noqa: E501 - programs as text
"""A million calls, including failing ones, leak neither memory nor references."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest
from child import run_limited

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"
CALLS = 1_000_000
# How often each call is made in each of three rounds, at least; and a growth that is less than that of one leaking call.
# Without a GIL, CPython frees some blocks later: about 85 are pending at any time, however many calls there are.
TIMES, FEW = (300, 150) if sysconfig.get_config_var("Py_GIL_DISABLED") else (60, 45)

PRELUDE = """
import ctypes, datetime, json, pickle, uuid
from decimal import Decimal
from random import Random
sys.path.insert(0, {fuzz!r})
from avro_maker import datum_of
from hand_picked import HAND_PICKED
from leaks import measure
from mutations import mutated
from object_changes import spoilt
from odd_objects import tame
from readings import Readings
from schema_changes import reader_of, spoilt_schema
from streamnative_serdes import header
rng = Random(4)
"""

# For every type: messages and data of the fuzzer, read and written in each way, with most errors of each.
READING_AND_WRITING = """
def calls_of(schema):
    "Return pairs (function, argument) whose outcome is the same in each call."
    readings = Readings(schema, rng)
    codec = readings.codec
    data = [datum_of(schema.root, rng) for _ in range(3)]
    messages = [codec.encode(datum) for datum in data]
    messages += [mutated(rng.choice(messages), rng, messages) for _ in range(8)]
    messages = [message for message in messages if len(message) < 2000]
    data += filter(tame, [spoilt(rng.choice(data), rng) for _ in range(12)])
    readers = [codec.decode, codec.skip, readings.raw.decode, readings.named.decode, readings.tight.decode, readings.again.decode]
    readers += [readings.shaped.decode]
    readers += [] if readings.resolving is None else [readings.resolving.decode, readings.resolving_shaped.decode]
    calls = [(work, message) for work in readers for message in messages]
    calls += [(lambda message: readings.topic.deserialize("topic", message), header.pack(1) + message) for message in messages[::3]]
    calls += [(readings.shaped.encode, readings.shaped.decode(codec.encode(datum))) for datum in data[:3]]
    return calls + [(work, datum) for work in (codec.encode, readings.raw.encode, readings.writers[-2].encode) for datum in data]

calls = [call for tree in HAND_PICKED.values() for call in calls_of(parse(tree))]
names = [sys.intern(word) for word in ("value", "next", "NEW", "RED", "radius", *[f"field_{i}" for i in range(90)])]
watched = [None, True, False, 0, 1, 2, "", b"", (), int, str, bytes, dict, list, float, tuple, Codec, DecodeError, EncodeError,
           Decimal, uuid.UUID, Duration, datetime.date, datetime.time, datetime.datetime, datetime.timezone.utc, *names]
print(json.dumps(measure(calls, max(TIMES, CALLS // len(calls) // 3 + 1), watched)))
"""

# Plans are compiled and dropped, also those of recursive schemas; some cannot be compiled.
PLANS = """
def make(trees):
    writer, reader = [parse(tree, strict=False) for tree in trees]
    outcome(Codec(writer, reader).decode, bytes(9))
def copy(tree):
    pickle.loads(pickle.dumps(Codec(tree, return_record_name=True, max_depth=9)))
trees = list(HAND_PICKED.values())
calls = [(make, (tree, reader_of(tree, rng))) for tree in trees] + [(make, (spoilt_schema(tree, rng), tree)) for tree in trees]
calls += [(copy, tree) for tree in trees]
print(json.dumps(measure(calls, TIMES, [None, True, False, 0, 1, int, str, list, dict, tuple, Codec, SchemaError])))
"""

# Deliberate leaks of a block, a large block and a reference prove that the measurement detects them.
LEAKS = {
    "blocks": "lambda _: kept.append(object())",
    "large": "lambda _: kept.append(bytes(5000))",
    "counts": "lambda _: ctypes.pythonapi.Py_IncRef(ctypes.py_object(mine))",
}
LEAKING = """
kept, mine = [None], object()
print(json.dumps(measure([({leak}, None)] + [(len, b"")] * 999, TIMES, [mine])))
"""

pytestmark = pytest.mark.not_sanitized(reason="their allocator does not count blocks and keeps freed ones")


def measured(code: str) -> dict[str, int]:
    told: dict[str, int] = json.loads(
        run_limited(f"TIMES = {TIMES}\n" + PRELUDE.format(fuzz=str(FUZZ)) + code, seconds=180)
    )
    assert told["times"] >= TIMES
    return told


def assert_nothing_grew(told: dict[str, int]) -> None:
    assert told["blocks"] < FEW
    assert told["large"] < FEW * 512
    assert told["resident"] < 4 << 20
    assert told["counts"] < FEW


def test_a_million_calls_leak_neither_memory_nor_references() -> None:
    told = measured(READING_AND_WRITING.replace("CALLS", str(CALLS)))

    assert told["calls"] >= CALLS
    assert 0.2 < told["values"] / told["calls"] < 0.8  # both successes and errors
    assert_nothing_grew(told)


def test_dropped_plans_leak_neither_memory_nor_references() -> None:
    told = measured(PLANS)

    assert 0.5 < told["values"] / told["calls"] < 0.95  # some cannot be compiled
    assert_nothing_grew(told)


@pytest.mark.parametrize("what", LEAKS)
def test_a_leak_in_one_call_of_a_thousand_is_detected(what: str) -> None:
    told = measured(LEAKING.format(leak=LEAKS[what]))

    if what == "large" and told["large"] == 0:
        pytest.skip("the C library does not report large blocks")
    with pytest.raises(AssertionError):
        assert_nothing_grew(told)
    assert told[what] >= FEW
