"""The schema version header (SNIP 42): ten bytes in front of each message.

::

    offset 0      2                          10
           | 0x03 0x04 | schema version, int64 BE | Avro binary datum ...
"""

from typing import Final

from ._header import confluent_id, foreign_prefix, pack, read
from .errors import EncodeError

__all__ = ["MARKER", "SIZE", "confluent_id", "foreign_prefix", "pack", "pack_id", "read"]

MARKER: Final = b"\x03\x04"
SIZE: Final = 10  # bytes


def pack_id(schema_id: int) -> bytes:
    """Return Confluent's framing, ``0x00`` and the schema id as int32, big-endian.

    Raises:
        EncodeError: the id is not from 0 to 2**31 - 1.
    """
    if not 0 <= schema_id < 2**31:
        raise EncodeError(f"expected a schema id from 0 to 2**31 - 1, got {schema_id}")
    return b"\0" + schema_id.to_bytes(4)
