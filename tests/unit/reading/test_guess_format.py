"""Hints about what an unreadable message without a header looks like."""

import gzip

import pytest

from streamnative_serdes._reading.guess_format import look_of, with_hint
from streamnative_serdes.errors import DecodeError


@pytest.mark.parametrize(
    ("message", "looks"),
    [
        (b"\x00\x00\x00\x00\x07", "begins like those of Confluent's serializer (0x00, schema id 7); "),
        (b"\x00\x7f\xff\xff\xff", "begins like those of Confluent's serializer (0x00, schema id 2147483647); "),
        (b"\x03\x04", "may be truncated: it has 2 of the 10 bytes of a schema version header"),
        (b"\x03\x04" + bytes(7), "may be truncated: it has 9 of the 10 bytes of a schema version header"),
        (b'{"v":5}', "looks like JSON text, not Avro: '{\"v\":5}'"),
        (b'\xef\xbb\xbf {"v": 5}\n', "looks like JSON text, not Avro: ' {\"v\": 5}\\n'"),
        (b"[1, 2]", "looks like JSON text, not Avro: '[1, 2]'"),
        (b'{"name": "' + b"x" * 1000 + b'"}\r\n', 'looks like JSON text, not Avro: \'{"name": "' + "x" * 30 + "'..."),
        ('{"n": "Zoë ' + "ë" * 200 + '"}', 'looks like JSON text, not Avro: \'{"n": "Zoë ' + "ë" * 29 + "'..."),
        (b"{not closed", "looks like text: '{not closed'"),
        (b"<a>b</a>", "looks like text: '<a>b</a>'"),
        (b"5.25", "looks like text: '5.25'"),
        ("Zoë\tspielt", "looks like text: 'Zoë\\tspielt'"),
        (gzip.compress(b"hello"), "looks like gzip data: the producer compressed it before passing it to the client"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "looks like zstd data: "),
        (b"\x04\x22\x4d\x18\x64", "looks like lz4 data: "),
        (b"Obj\x01\x04\x14avro.codec", "looks like an Avro object container file; "),
        (b"\xc3\x01" + bytes(8), "looks like Avro's single-object encoding, "),
        (b"PAR1\x15\x04", "looks like a Parquet file"),
        (b"ARROW1\x00\x00\xff", "looks like an Arrow file"),
        (b"\xac\xed\x00\x05t", "looks like an object in Java serialization format"),
    ],
    ids=repr,
)
def test_the_error_says_what_the_message_looks_like(message: bytes | str, looks: str) -> None:
    hint = look_of(message.encode() if isinstance(message, str) else message)
    assert hint is not None
    assert hint.startswith(f"the message {looks}")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x00\x00\x00\x07",  # one byte too few
        b"\x00\x80\x00\x00\x00",  # a negative schema id
        b"\x03\x04" + b"\xff" * 8,  # a complete header with a negative version
        b"abc",  # may be text by chance
        b"\x06Ada\x48",
        b"text\x00",
        b"text\x7f",
        b"\xff\xfetext",
        b"text" * 10 + b"\xc3(",
    ],
    ids=repr,
)
def test_bytes_that_could_be_anything_get_no_hint(message: bytes) -> None:
    assert look_of(message) is None


def test_an_existing_hint_is_replaced_only_if_a_headerless_message_looks_like_something() -> None:
    error = DecodeError("m", hint="h")
    assert with_hint(error, b"{}{}{}", 5).hint == "h"
    assert with_hint(error, b"\x01\x02", None).hint == "h"
    assert (
        with_hint(error, memoryview(b"{}{}").cast("H"), None).hint
        == "the message looks like JSON text, not Avro: '{}{}'"
    )
