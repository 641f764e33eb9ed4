from typing_extensions import Buffer

def pack(version: int) -> bytes:
    """The 10 bytes in front of a message of schema ``version``. Raises EncodeError outside of 0 to 2**63 - 1."""

def read(data: Buffer) -> int | None:
    """The schema version that ``data`` begins with, or None if it has no header."""

def confluent_id(data: Buffer) -> int | None:
    """The schema id if ``data`` may be framed as Confluent does it (0x00, int32 BE), or None.

    A guess: Avro without a header may begin with a zero byte too.
    """
