"""Arrow columns under stress: more data than 32-bit offsets can count, concurrent threads, leaks, buffer bounds."""

from __future__ import annotations

import ctypes.util
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from child import run_limited
from waiting import together

from streamnative_serdes.arrow import ColumnCodec, in_parts
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import BatchTooLargeError, DecodeError

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"
TEXT = 2 << 20  # characters
BEYOND = (1 << 31) // TEXT + 1  # so many rows that 32-bit offsets cannot count their text
EMPTY: dict[str, Any] = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}
FILLED = {**EMPTY, "fields": [*EMPTY["fields"], {"name": "text", "type": "string", "default": "x" * TEXT}]}
CHECKED_MALLOC = ctypes.util.find_library("c_malloc_debug")  # of the GNU C library, from 2.34 on

no_sanitizers = pytest.mark.not_sanitized(reason="takes 2 GB, and several times that with sanitizers")


@no_sanitizers
def test_text_that_overflows_32_bit_offsets_is_a_batch_error_with_a_hint() -> None:
    codec = ColumnCodec(EMPTY, FILLED)

    data = pa.array([b"\2"] * BEYOND)
    with pytest.raises(BatchTooLargeError, match=r"more text, bytes or items in one column .*in_parts") as caught:
        codec.decode(data, error_column="why")
    assert caught.value.row == BEYOND - 2  # 2**31 bytes are one byte too many
    assert caught.value.path == "text"
    parts = (batch for _, batch in in_parts(data, lambda part: codec.decode(part, error_column="why")))
    assert [len(batch) for batch in parts] == [BEYOND - 2, 2]


@no_sanitizers
def test_large_types_hold_more_text_than_32_bit_offsets_can_count() -> None:
    batch = ColumnCodec(EMPTY, FILLED, large_types=True).decode(pa.array([b"\2"] * BEYOND))

    offsets = pa.Array.from_buffers(pa.int64(), BEYOND + 1, [None, batch.column("text").buffers()[1]])
    assert offsets[-1].as_py() == BEYOND * TEXT > 1 << 31
    assert batch.column("text")[BEYOND - 1].as_buffer().size == TEXT


@no_sanitizers
def test_messages_that_overflow_32_bit_offsets_are_an_error_with_a_hint() -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * BEYOND), ["x" * TEXT])
    batch = pa.record_batch([texts], ["value"])

    with pytest.raises(BatchTooLargeError, match=r"exceed 2 GB.*in_parts") as caught:
        ColumnCodec("string").encode(batch)
    assert caught.value.row == BEYOND - 2
    assert [len(messages) for _, messages in in_parts(batch, ColumnCodec("string").encode)] == [BEYOND - 2, 2]
    assert ColumnCodec("string", large_types=True).encode(batch).nbytes > 1 << 31


@no_sanitizers
def test_a_message_too_large_for_any_batch_gets_its_own_error() -> None:
    """The message is short, but each of its items gets a long default."""
    codec = ColumnCodec({"type": "array", "items": EMPTY}, {"type": "array", "items": FILLED})
    huge = Codec({"type": "array", "items": "int"}).encode([1] * BEYOND)
    parts = in_parts(pa.array([b"\0", huge, b"\0"]), lambda part: codec.decode(part, error_column="why"))
    why = [said for _, batch in parts for said in batch.column("why").to_pylist()]
    assert (why[0], why[2]) == (None, None)
    assert why[1].startswith(f"field [{BEYOND - 2}].text, byte {BEYOND + 1}: the message has more text, bytes or items")


def test_threads_on_one_codec_get_their_own_columns_and_errors() -> None:
    schema = {"type": "map", "values": ["null", "string", {"type": "array", "items": "double"}]}
    rows, columns = Codec(schema), ColumnCodec(schema)

    def work(seed: int) -> None:
        rng = Random(seed)
        for _ in range(60):
            data = [
                rows.encode({f"k{seed}": rng.choice((None, f"{seed}" * rng.randrange(90), [rng.random()]))})
                for _ in range(200)
            ]
            batch = columns.decode(pa.array(data))
            assert columns.encode(batch).to_pylist() == data
            bad = rng.randrange(200)
            data[bad] = b"\2"
            with pytest.raises(DecodeError) as caught:
                columns.decode(pa.array(data))
            assert caught.value.row == bad

    together(8, work)


CALLS = """
import json
from random import Random
import pyarrow as pa
sys.path.insert(0, {fuzz!r})
from avro_maker import datum_of
from columns import columns_of
from hand_picked import HAND_PICKED
from leaks import measure
from mutations import mutated
from schema_changes import reader_of

rng, calls = Random(4), []

def both(codec):
    def work(data):
        codec.encode(codec.decode(data))
    return work

for tree in HAND_PICKED.values():
    schema = parse(tree)
    for reader in (None, reader_of(tree, rng)):
        try:
            codec = columns_of(schema, reader and parse(reader, strict=False))
        except SchemaError:     # the reader lacks a name
            continue
        if codec is None:
            continue
        data = [Codec(schema).encode(datum_of(schema.root, rng)) for _ in range(6)]
        spoilt = [mutated(one, rng, data) for one in data]
        calls += [(codec.decode, pa.array([*data, None])), (codec.decode, pa.array(spoilt))]
        calls += [(lambda rows, codec=codec: codec.decode(rows, error_column="why"), pa.array([*spoilt, *data] * 9))]
        calls += [(both(codec), pa.array(data))] * (reader is None)
print(json.dumps(measure(calls, 60, [None, True, int, str, DecodeError, EncodeError])))
"""


@pytest.mark.not_sanitized(reason="their allocator does not count blocks and keeps freed ones")
def test_batches_leak_neither_memory_nor_references() -> None:
    told = json.loads(run_limited(CALLS.format(fuzz=str(FUZZ)), seconds=180))

    assert told["calls"] > 10_000
    assert 0.3 < told["values"] / told["calls"] < 0.95
    assert told["blocks"] < 45
    assert told["large"] < 45 * 512
    assert told["resident"] < 4 << 20
    assert told["counts"] < 45


@pytest.mark.not_sanitized(reason="the sanitizers check this with their own allocator")
@pytest.mark.skipif(not CHECKED_MALLOC, reason="this C library has no allocator that checks the ends of blocks")
def test_encode_writes_only_within_its_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(CHECKED_MALLOC))
    monkeypatch.setenv("MALLOC_CHECK_", "3")
    said = run_limited(
        """
        from random import Random
        import pyarrow as pa
        from streamnative_serdes.arrow import ColumnCodec

        names = [f"f{i}" for i in range(12)]  # ten bytes each: more than is reserved for a row at first
        fields = [dict(name=name, type="long") for name in names] + [dict(name="text", type="string")]
        codec, draw = ColumnCodec(dict(type="record", name="R", fields=fields)), Random(7)
        for _ in range(200):
            rows = draw.randrange(1, 120)
            longs = dict.fromkeys(names, [-2**63] * rows)
            texts = ["x" * draw.randrange(120) for _ in range(rows)]
            assert len(codec.encode(pa.RecordBatch.from_pydict(dict(longs, text=texts)))) == rows
        """
    )
    assert said == ""
