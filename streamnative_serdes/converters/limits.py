"""What a reader of batches and entries accepts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What a reader accepts.

    Args:
        max_batch_size: bytes of one batch after decompression, and of one entry that is made or put together.
        schema_header: whether a schema version header is taken off the values.
        check_crc: whether checksums are compared.
    """

    max_batch_size: int = 64 << 20
    schema_header: bool = True
    check_crc: bool = True
