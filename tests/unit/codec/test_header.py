"""The schema version header: packing and unpacking ten bytes, and recognizing other data."""

from __future__ import annotations

from typing import Any

import pytest

from streamnative_serdes import header
from streamnative_serdes.errors import EncodeError

VERSIONS = [
    (0, "03040000000000000000"),
    (1, "03040000000000000001"),
    (255, "030400000000000000ff"),
    (256, "03040000000000000100"),
    (0x0102030405060708, "03040102030405060708"),
    (2**63 - 1, "03047fffffffffffffff"),
]


@pytest.mark.parametrize(("version", "text"), VERSIONS)
def test_a_version_is_packed_into_exactly_these_ten_bytes(version: int, text: str) -> None:
    assert header.pack(version).hex() == text
    assert header.SIZE == len(header.pack(version))
    assert header.pack(version).startswith(header.MARKER)
    for wrap in (bytes, bytearray, memoryview):
        assert header.read(wrap(bytes.fromhex(text))) == version
        assert header.read(wrap(bytes.fromhex(text) + b"body")) == version


@pytest.mark.parametrize("version", [-1, 2**63, 10**30, True, 1.0, "1", None])
def test_an_invalid_version_is_refused(version: Any) -> None:
    with pytest.raises(EncodeError, match="expected a schema version from 0"):
        header.pack(version)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x03", b"\x03\x04", b"\x03\x04" + bytes(7), b"\x03\x05" + bytes(8), b"\x04\x03" + bytes(8), bytes(10)],
)
def test_other_bytes_have_no_header(data: bytes) -> None:
    assert header.read(data) is None


def test_bytes_with_a_negative_version_are_not_a_header() -> None:
    assert header.read(b"\x03\x04" + b"\xff" * 8) is None
    assert header.read(b"\x03\x04\x80" + bytes(7)) is None


@pytest.mark.parametrize(
    ("data", "number"),
    [
        (b"\x00\x00\x00\x00\x01", 1),
        (b"\x00\x7f\xff\xff\xff" + b"body", 2**31 - 1),
        (b"\x00\x00\x01\x02\x03", 0x010203),
        (b"\x00\x80\x00\x00\x00", None),
        (b"\x00\x00\x00\x00", None),
        (b"", None),
        (b"\x01\x00\x00\x00\x01", None),
        (header.pack(1), None),
    ],
)
def test_confluents_framing_is_recognized_by_its_schema_id(data: bytes, number: int | None) -> None:
    assert header.confluent_id(data) == number


@pytest.mark.parametrize("read", [header.read, header.confluent_id])
def test_text_is_refused_as_a_message(read: Any) -> None:
    with pytest.raises(TypeError):
        read("text")
