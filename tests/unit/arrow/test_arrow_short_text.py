"""Text of up to 32 bytes, which columns copy and check in one step, at each size and in each place."""

from __future__ import annotations

from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from schemas import enum, mapping, record  # noqa: E402

from streamnative_serdes import Codec, DecodeError, EncodeError  # noqa: E402 - requires pyarrow
from streamnative_serdes.arrow import ColumnCodec  # noqa: E402

SIZES = range(36)
# A text between two numbers, the second of which has high bits in its bytes, and a text at the end of the message.
SCHEMA: dict[str, Any] = record(
    "R", ("n", "long"), ("first", "string"), ("m", "long"), ("data", "bytes"), ("last", "string")
)
HIGH = -(2**62)  # all of its bytes but the last have their high bit set


def texts(size: int) -> list[str]:
    """Texts of so many bytes: ASCII, and with a character of two bytes at each place."""
    plain = "".join(chr(ord("a") + place % 26) for place in range(size))
    return [plain, *(plain[:place] + "é" + plain[place + 2 :] for place in range(size - 1))]


def rows(size: int) -> list[dict[str, Any]]:
    return [{"n": 1, "first": text, "m": HIGH, "data": b"\xff" * size, "last": text} for text in texts(size)]


@pytest.fixture(scope="module")
def codec() -> Codec:
    return Codec(SCHEMA)


@pytest.fixture(scope="module")
def columns() -> ColumnCodec:
    return ColumnCodec(SCHEMA)


@pytest.mark.parametrize("size", SIZES)
def test_text_of_each_size_with_each_place_of_another_character(size: int, codec: Codec, columns: ColumnCodec) -> None:
    expected = rows(size)
    messages = [codec.encode(row) for row in expected]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        array = pa.array(messages, kind)
        for data in (array, array.slice(1), array.slice(0, 1)):
            batch = columns.decode(data)
            assert batch.to_pylist() == [codec.decode(message) for message in data.to_pylist()]
            assert columns.encode(batch).to_pylist() == data.to_pylist()
    assert columns.decode(messages).to_pylist() == expected  # bytes objects, which are copied into one buffer
    long = codec.encode({**expected[0], "data": b"\xff" * 1_100 * len(messages)})  # then they are read where they are
    assert columns.decode([*messages, long]).to_pylist()[:-1] == expected


@pytest.mark.parametrize("size", range(1, 36))
@pytest.mark.parametrize("field", ["first", "last"])
def test_text_that_is_not_utf8_is_refused_wherever_it_goes_wrong(
    size: int, field: str, codec: Codec, columns: ColumnCodec
) -> None:
    plain = b"a" * size
    row = {"n": 1, "first": "", "m": HIGH, "data": b"", "last": "", field: "a" * size}
    before = [codec.encode({**row, "first": "b" * 99, "last": "c" * 99})] * 9  # so that the columns have room
    for place in range(size):
        bad = plain[:place] + b"\xe9" + plain[place + 1 :]
        message = codec.encode(row).replace(plain, bad)
        for messages in ([message], [*before, message], [*before, message, *before]):
            for data in (messages, pa.array(messages)):
                with pytest.raises(DecodeError, match=f"field {field}.*UTF-8"):
                    columns.decode(data)
        texts = pa.array([plain, bad, b"x" * 40]).view(pa.string())
        batch = pa.record_batch({name: texts if name == field else [value] * 3 for name, value in row.items()})
        for part in (batch, batch.slice(0, 2), batch.slice(1, 1)):
            with pytest.raises(EncodeError, match=f"field {field}.*UTF-8"):
                columns.encode(part)


@pytest.mark.parametrize("size", [31, 32, 33])
def test_bytes_are_copied_whatever_they_are(size: int) -> None:
    codec, columns = Codec("bytes"), ColumnCodec("bytes")
    values = [bytes([255]) * size, bytes(size), bytes(range(size))]
    batch = columns.decode(pa.array([codec.encode(value) for value in values]))
    assert batch.column(0).to_pylist() == values
    assert columns.encode(batch).to_pylist() == [codec.encode(value) for value in values]


@pytest.mark.parametrize("size", SIZES)
def test_symbols_and_keys_of_maps_of_each_size(size: int) -> None:
    symbol = "S" + "y" * size
    schema = record("R", ("e", enum("E", symbol, "B")), ("m", mapping("int")))
    codec, columns = Codec(schema), ColumnCodec(schema)
    expected = [{"e": symbol, "m": dict.fromkeys(texts(size), 1)}, {"e": "B", "m": {}}]
    messages = [codec.encode(row) for row in expected]
    for data in (messages, pa.array(messages)):
        batch = columns.decode(data)
        assert [{**row, "m": dict(row["m"])} for row in batch.to_pylist()] == expected
        assert columns.encode(batch).to_pylist() == messages


def test_columns_that_have_to_grow_between_short_texts_keep_each_of_them() -> None:
    codec, columns = Codec({"type": "array", "items": "string"}), ColumnCodec({"type": "array", "items": "string"})
    value = [f"{number:x}" * (number % 9) for number in range(5_000)]
    batch = columns.decode(pa.array([codec.encode(value)]))
    assert batch.column(0).to_pylist() == [value]
    assert columns.encode(batch).to_pylist() == [codec.encode(value)]
