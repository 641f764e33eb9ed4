"""Checksums of entries and batches: CRC32C by google-crc32c."""

from __future__ import annotations

from typing import Final

from streamnative_serdes.errors import ConfigError, DecodeError

_PART: Final = 1 << 20  # bytes: google-crc32c wants bytes objects, so a view is copied in parts


def crc32c(data: memoryview) -> int:
    """CRC32C (Castagnoli) of the data.

    Raises:
        ConfigError: google-crc32c is not installed.
    """
    try:
        from google_crc32c import extend
    except ModuleNotFoundError as error:
        raise ConfigError("checksums need google-crc32c", hint="pip install google-crc32c") from error
    crc = 0
    for start in range(0, len(data), _PART):
        crc = extend(crc, bytes(data[start : start + _PART]))
    return crc


def require_crc(what: str, expected: int, got: int, offset: int) -> None:
    """Raise DecodeError if a checksum differs from the one that stands at ``offset``."""
    if expected != got:
        raise DecodeError(
            f"{what}: expected the checksum {expected:08x}, got {got:08x} from the bytes",
            offset=offset,
            hint="the bytes are damaged or cut off",
        )
