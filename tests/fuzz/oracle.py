"""Properties that must hold for any bytes and any object, however damaged; a violation is a Finding.

bytes   -> a value or a DecodeError
a value -> (unless a decimal has more digits than its precision)
           skip ends at the last byte; the value can be encoded, and the bytes decode and encode to the same again
objects -> bytes or an EncodeError; the bytes can be decoded, and the decoded value can be encoded
"""

from __future__ import annotations

import re
from typing import Any

from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError

MAX_ERROR = 5000  # characters of an error, however large the message
MAX_PREFIXES = 400  # checked per message
TOO_LONG = re.compile(r"decimal\(\d+, \d+\) cannot hold ")
NOTHING = object()  # stands for "no value": None is one


class Finding(Exception):
    """A property was violated."""


class Beyond(Exception):
    """A message with a decimal of more digits than its precision: it can be read as an object, and that is all."""


def read(work: Any, data: bytes) -> Any:
    """Return the value that ``work`` decodes from ``data``, or NOTHING if it raises DecodeError."""
    try:
        return work(data)
    except DecodeError as error:
        check_error(error)
        if error.offset is not None and not 0 <= error.offset <= len(data):
            raise Finding(f"offset {error.offset} is outside {len(data)} bytes") from error
        return NOTHING


def write(codec: Codec, value: Any, what: str) -> bytes:
    try:
        return codec.encode(value)
    except EncodeError as error:
        if TOO_LONG.search(error.message):
            raise Beyond from None
        raise Finding(f"{what} cannot be written: {error}") from error


def same(codec: Codec, one: Any, other: Any, what: str) -> None:
    """Whether both are encoded to the same bytes; unlike ==, this also works for NaN."""
    if write(codec, one, what) != write(codec, other, what):
        raise Finding(f"{what}: {one!r:.200} and {other!r:.200}")


def check_error(error: DecodeError | EncodeError) -> None:
    text = str(error)
    if len(text) > MAX_ERROR:
        raise Finding(f"an error of {len(text)} characters: {text[:200]}...") from error
    if error.path is None and isinstance(error, EncodeError):
        raise Finding(f"an error that does not say where: {text[:200]}") from error


def check_bytes(codec: Codec, data: bytes) -> Any:
    """Check ``data``, and return its datum, or NOTHING."""
    value = read(codec.decode, data)
    end = read(codec.skip, data)
    if value is not NOTHING:
        if end != len(data):
            raise Finding(f"decode took all {len(data)} bytes, skip {'refused' if end is NOTHING else f'took {end}'}")
        check_written(codec, write(codec, value, "what was read"))
    if codec.is_datum(data) != (end == len(data)):
        raise Finding(f"is_datum says {codec.is_datum(data)}, skip {'refused' if end is NOTHING else f'took {end}'}")
    return value


def check_object(codec: Codec, datum: Any) -> bool:
    """Check ``datum``, and return whether it fits the schema."""
    try:
        data = codec.encode(datum)
    except EncodeError as error:
        check_error(error)
        return False
    check_written(codec, data)
    return True


def check_written(codec: Codec, data: bytes) -> None:
    """Check that encoded bytes can be decoded, and then encode and decode to the same."""
    if codec.skip(data) != len(data):
        raise Finding(f"skip does not end where what was written ends: {data.hex()}")
    value = read(codec.decode, data)
    if value is NOTHING:
        raise Finding(f"what was written cannot be read: {data.hex()}")
    # Repeated, because a value may fit several branches of a union; once written to the best one, it stays there.
    again = write(codec, value, "what was written and read")
    if again != data:
        settled = write(codec, codec.decode(again), "what was written and read twice")
        if settled != again:
            raise Finding(f"writing and reading do not settle: {data.hex()}, {again.hex()}, {settled.hex()}")


def check_truncations(codec: Codec, data: bytes) -> int:
    """Check that no strict prefix of a message is a message. Returns the number of prefixes."""
    ends = range(min(len(data), MAX_PREFIXES))
    for end in ends:
        for work in (codec.decode, codec.skip):
            if read(work, data[:end]) is not NOTHING:
                raise Finding(
                    f"{work.__name__} took the first {end} of {len(data)} bytes for a whole message: {data.hex()}"
                )
    return len(ends)
