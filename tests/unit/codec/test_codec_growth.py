"""Messages that outgrow the Writer's first buffer, at each byte of a value of each common leaf type."""

import json

import pytest

from streamnative_serdes.codec import Codec

VALUES = {
    "string": "text of 20 characters",
    "long": -(1 << 63),
    "int": -(1 << 31),
    "double": 1.5,
    "boolean": True,
}
ENCODED = {
    "string": b"\x2atext of 20 characters",
    "long": b"\xff" * 9 + b"\x01",
    "int": b"\xff" * 4 + b"\x0f",
    "double": b"\0\0\0\0\0\0\xf8\x3f",
    "boolean": b"\x01",
}
AROUND = range(980, 1_060)  # the buffer has 1,024 bytes


def codec_of(kind):
    fields = [
        {"name": "before", "type": "string"},
        {"name": "value", "type": kind},
        {"name": "after", "type": "string"},
    ]
    return Codec(json.dumps({"type": "record", "name": "R", "fields": fields}))


def check_at_each_size(kind, value, encoded):
    codec = codec_of(kind)
    for size in AROUND:
        datum = {"before": "x" * size, "value": value, "after": "the end"}
        written = codec.encode(datum)
        assert written[2 + size :] == encoded + b"\x0ethe end"
        assert codec.decode(written) == datum


@pytest.mark.parametrize("kind", VALUES)
def test_a_field_may_lie_anywhere_around_the_end_of_the_first_buffer(kind):
    check_at_each_size(kind, VALUES[kind], ENCODED[kind])


@pytest.mark.parametrize("kind", VALUES)
def test_an_optional_field_may_lie_anywhere_around_the_end_of_the_first_buffer(kind):
    check_at_each_size(["null", kind], VALUES[kind], b"\x02" + ENCODED[kind])
    check_at_each_size([kind, "null"], VALUES[kind], b"\x00" + ENCODED[kind])
    check_at_each_size([kind, "null"], None, b"\x02")


@pytest.mark.parametrize("kind", VALUES)
def test_items_may_lie_anywhere_around_the_end_of_the_first_buffer(kind):
    check_at_each_size({"type": "array", "items": kind}, [VALUES[kind]] * 3, b"\x06" + ENCODED[kind] * 3 + b"\0")
    values = {"k": VALUES[kind], "l": VALUES[kind]}
    encoded = b"\x04\x02k" + ENCODED[kind] + b"\x02l" + ENCODED[kind] + b"\0"
    check_at_each_size({"type": "map", "values": kind}, values, encoded)
