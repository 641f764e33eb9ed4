from typing_extensions import Buffer

def pack(version: int) -> bytes:
    """Return the 10-byte header for schema ``version``. Raises EncodeError outside 0 to 2**63 - 1."""

def read(data: Buffer) -> int | None:
    """Return the schema version in the header of ``data``, or None if it has no header."""

def confluent_id(data: Buffer) -> int | None:
    """Return the schema id if ``data`` may have Confluent's framing (0x00, int32 BE), or None.

    A guess: Avro without a header may begin with a zero byte too.
    """

def foreign_prefix(data: Buffer, which: int) -> bytes | None:
    """Return the prefix of another vendor's framing that ``data`` begins with, or None.

    ``which`` are the framings that count, as bits: see ``Framings`` in _header.pxd.
    """
