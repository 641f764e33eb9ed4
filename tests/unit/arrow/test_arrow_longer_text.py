"""Text of more than 32 bytes, which columns copy and check in one loop, and the buffer of encoded messages."""

from __future__ import annotations

from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from schemas import record  # noqa: E402

from streamnative_serdes import Codec, DecodeError, EncodeError  # noqa: E402 - requires pyarrow
from streamnative_serdes.arrow import ColumnCodec  # noqa: E402

# Around the bounds of the two ends that overlap (32 to 64 bytes), and of one to four turns of the loop.
SIZES = (33, 34, 47, 48, 49, 63, 64, 65, 66, 95, 96, 127, 128, 129, 191, 192, 193, 255, 256, 257)
SCHEMA: dict[str, Any] = record("R", ("n", "long"), ("text", "string"), ("m", "int"))


def plain(size: int) -> bytes:
    return bytes(ord("a") + place % 26 for place in range(size))


def with_character(size: int, place: int, character: bytes) -> bytes:
    return plain(size)[:place] + character + plain(size)[place + len(character) :]


@pytest.fixture(scope="module")
def columns() -> ColumnCodec:
    return ColumnCodec(SCHEMA)


def messages_of(texts: list[str]) -> list[bytes]:
    codec = Codec(SCHEMA)
    return [codec.encode({"n": number, "text": text, "m": -number}) for number, text in enumerate(texts)]


@pytest.mark.parametrize("size", SIZES)
def test_text_of_each_size_with_each_place_of_another_character(size: int, columns: ColumnCodec) -> None:
    texts = [plain(size), *(with_character(size, place, "é".encode()) for place in range(size - 1))]
    messages = messages_of([text.decode() for text in texts])
    for data in (pa.array(messages), pa.array(messages).slice(3), pa.array(messages[:1]), messages):
        batch = columns.decode(data)
        rows = list(range(len(messages)))[-len(data) :] if len(data) > 1 else [0]
        assert batch.column("text").cast(pa.binary()).to_pylist() == [texts[row] for row in rows]
        assert columns.encode(batch).to_pylist() == [messages[row] for row in rows]


@pytest.mark.parametrize("size", SIZES)
def test_text_with_a_bad_byte_at_any_place_is_refused(size: int, columns: ColumnCodec) -> None:
    good = messages_of([plain(size).decode()])[0]
    for place in range(size):
        bad = with_character(size, place, b"\xe9")
        message = good.replace(plain(size), bad)
        for messages in ([message], [good] * 12 + [message] + [good] * 12):
            for data in (messages, pa.array(messages)):
                with pytest.raises(DecodeError, match=r"field text.*UTF-8") as decoding:
                    columns.decode(data)
                assert decoding.value.row == messages.index(message)
        texts = pa.array([plain(size), bad, plain(size)]).view(pa.string())
        with pytest.raises(EncodeError, match=r"field text.*UTF-8") as encoding:
            columns.encode(pa.record_batch({"n": [1, 2, 3], "text": texts, "m": [1, 2, 3]}))
        assert encoding.value.row == 1


@pytest.mark.parametrize("place", [0, 1, 5_000, 10_237, 10_238])
def test_long_text_with_one_other_character(place: int, columns: ColumnCodec) -> None:
    text = with_character(10_240, place, "é".encode()).decode()
    messages = messages_of([text] * 3)
    batch = columns.decode(pa.array(messages))
    assert batch.column("text").to_pylist() == [text] * 3
    assert columns.encode(batch).to_pylist() == messages


@pytest.mark.parametrize("size", SIZES)
def test_keys_of_maps_of_each_size(size: int) -> None:
    schema = {"type": "map", "values": "int"}
    keys = [plain(size), *(with_character(size, place, "é".encode()) for place in {0, 1, 31, size - 2})]
    message = Codec(schema).encode({key.decode(): 7 for key in keys})
    columns = ColumnCodec(schema)
    batch = columns.decode(pa.array([message] * 2))
    assert batch.column(0).to_pylist() == [[(key.decode(), 7) for key in keys]] * 2
    assert columns.encode(batch).to_pylist() == [message] * 2
    with pytest.raises(DecodeError, match="UTF-8"):
        columns.decode(pa.array([message.replace(keys[1], with_character(size, 3, b"\xff"))]))


NUMBERS = {"zero": 0, "usual": 2**30, "largest": -(2**63)}  # 1, 5 and 10 bytes, where 6 are expected


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 8_191, 8_192, 8_193])
@pytest.mark.parametrize("count", [1, 100, 3_000])
def test_messages_of_other_sizes_than_expected(number: int, size: int, count: int) -> None:
    """A buffer that is too small grows, and what is too much is given back."""
    schema: dict[str, Any] = {
        "type": "record",
        "name": "R",
        "fields": [
            *({"name": f"n{place}", "type": "long"} for place in range(6)),
            {"name": "text", "type": ["null", "string"]},
            {"name": "items", "type": {"type": "array", "items": "long"}},
        ],
    }
    count = count if size < 8_000 else min(count, 200)
    row = {**{f"n{place}": number for place in range(6)}, "text": "x" * size, "items": [number] * 3}
    message = Codec(schema).encode(row)
    columns = ColumnCodec(schema)
    batch = pa.RecordBatch.from_pylist([row] * count)
    encoded = columns.encode(batch)
    encoded.validate(full=True)
    assert encoded.to_pylist() == [message] * count
    assert encoded.buffers()[2].size < 1.3 * len(message) * count + 4_096


def test_an_encoded_slice_does_not_take_the_memory_of_all_items() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "items", "type": {"type": "array", "items": "long"}}]}
    batch = pa.record_batch({"items": pa.array([[2**40] * 1_000] * 1_000)})
    columns = ColumnCodec(schema)
    encoded = columns.encode(batch.slice(500, 1))
    assert encoded.to_pylist() == [Codec(schema).encode({"items": [2**40] * 1_000})]
    assert encoded.buffers()[2].size < 10_000
