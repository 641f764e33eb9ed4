"""The entries that stand for KoP's in tests equal those that KoP 3.1.1 stored, byte for byte."""

from __future__ import annotations

import pytest
from kop_entries import Record, crc32c, kop_entry

A, B = bytes.fromhex("03040000000000000000026102"), bytes.fromhex("03040000000000000001026204")
HEADER = (("h", "v"),)


@pytest.mark.parametrize(
    ("records", "stored"),
    [
        ([Record(A)], "0e01fb6d5fce0000000d0a001000188080babbc82e58010000000b180d288080babbc82e4000" + A.hex()),
        (
            [Record(A, b"k1", HEADER)],
            "0e01da1a41ff0000001b0a001000188080babbc82e3204617a453d58018801019201026b310000001f0a060a01681201761204617a45"
            "3d180d288080babbc82e30013a026b314000" + A.hex(),
        ),
        (
            [Record(A, b"k1", HEADER), Record(B, b"\x00\xff"), Record(None, b"k3"), Record(b"")],
            "0e0114110ca50000001b0a001000188080babbc82e3204617a453d58048801019201026b310000001f0a060a01681201761204617a45"
            f"3d180d288080babbc82e30013a026b314000{A.hex()}000000171204"
            f"4150383d180d288080babbc82e30013a0200ff4000{B.hex()}"
            "000000191204617a4d3d1800288080babbc82e30013a026b33400048010000000b1800288080babbc82e4000",
        ),
    ],
    ids=["a value", "key and header", "a batch with a tombstone and an empty value"],
)
def test_a_batch_is_stored_as_kop_stores_it(records: list[Record], stored: str) -> None:
    assert kop_entry(*records).hex() == stored


def test_the_checksum_is_crc_32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0
