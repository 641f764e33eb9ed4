"""Properties of INLINE pairs: they equal a model byte for byte, are read back, and bad bytes only raise DecodeError."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

from avro_strategies import schema_and_datum
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes import DecodeError, KeyValue, _call_path
from streamnative_serdes.codec import Codec

TOPIC = "t"
HEADER = b"\x03\x04" + bytes(8)
HALVES = st.tuples(schema_and_datum(), st.booleans())


class OnePair:
    """A policy that binds one pair to everything."""

    is_key = False

    def __init__(self, pair: _call_path.Pair, header: bytes) -> None:
        self._pair, self._header = pair, header

    def bind(self, _serdes: object, topic: str, key: object, _context: object) -> _call_path.Bound:
        return _call_path.Bound(topic, key, 0, self._header, None, pair=self._pair)


def pair_of(key: Codec, value: Codec) -> _call_path.Pair:
    return _call_path.Pair(_call_path.Half(key), _call_path.Half(value), KeyValue)


def written(pair: _call_path.Pair, header: bytes, obj: Any) -> bytes:
    serializer = _call_path.Serializer()
    _call_path.set_up(serializer, OnePair(pair, header), None, 1)
    message = serializer.serialize(TOPIC, obj)
    assert message is not None
    return message


def read(pair: _call_path.Pair, message: bytes, offset: int = 0) -> Any:
    return _call_path.read_by(_call_path.Bound(TOPIC, 0, 0, None, None, pair=pair), message, offset)


def model(codec: Codec, datum: Any) -> bytes:
    if datum is None:
        return struct.pack(">i", -1)
    data = codec.encode(datum)
    return struct.pack(">i", len(data)) + data


def sample(halves: tuple[Any, Any]) -> tuple[_call_path.Pair, list[Codec], list[Any]]:
    """The data of a null half is None, which its schema need not allow."""
    codecs = [Codec(schema) for (schema, _), _ in halves]
    data = [datum if there else None for (_, datum), there in halves]
    return pair_of(*codecs), codecs, data


@given(st.tuples(HALVES, HALVES), st.sampled_from([b"", HEADER]))
@examples(300)
def test_pairs_equal_the_model_and_are_read_back(halves: tuple[Any, Any], header: bytes) -> None:
    pair, codecs, data = sample(halves)
    message = written(pair, header, tuple(data))
    assert message == header + b"".join(map(model, codecs, data))
    back = read(pair, message, len(header))
    assert back == tuple(data)
    assert type(back) is KeyValue


@given(st.tuples(HALVES, HALVES))
@examples(100)
def test_every_strict_prefix_of_a_pair_is_a_decode_error_within_it(halves: tuple[Any, Any]) -> None:
    pair, _, data = sample(halves)
    message = written(pair, b"", tuple(data))
    for end in range(min(len(message), 200)):
        try:
            got = read(pair, message[:end])
        except DecodeError as error:
            assert error.offset is None or error.offset <= end
        else:
            raise AssertionError(f"{message[:end]!r} gave {got!r}")


@given(st.tuples(HALVES, HALVES), st.data())
@examples(200)
def test_changed_bytes_of_a_pair_give_a_pair_or_a_decode_error(halves: tuple[Any, Any], draw: st.DataObject) -> None:
    pair, _, data = sample(halves)
    message = bytearray(written(pair, b"", tuple(data)))
    for place in range(min(len(message), 60)):
        before = message[place]
        message[place] = draw.draw(st.integers(0, 255))
        with contextlib.suppress(DecodeError):
            assert len(read(pair, bytes(message))) == 2
        message[place] = before


@given(st.tuples(HALVES, HALVES), st.binary(max_size=40))
@examples(300)
def test_any_bytes_give_a_pair_or_a_decode_error(halves: tuple[Any, Any], message: bytes) -> None:
    pair, _, _ = sample(halves)
    try:
        assert len(read(pair, message)) == 2
    except DecodeError as error:
        assert error.offset is None or error.offset <= len(message)
