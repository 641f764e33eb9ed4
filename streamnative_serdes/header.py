"""The schema version header (SNIP 42): ten bytes in front of each message.

::

    offset 0      2                          10
           | 0x03 0x04 | schema version, int64 BE | Avro binary datum ...
"""

from typing import Final

from ._header import confluent_id, pack, read

__all__ = ["MARKER", "SIZE", "confluent_id", "pack", "read"]

MARKER: Final = b"\x03\x04"
SIZE: Final = 10  # bytes
