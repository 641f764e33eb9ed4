"""The compiled reading and writing of records and protocol buffers, its limits, and checksums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes import header
from streamnative_serdes._records import Message, RecordColumns, RecordReader, fields_of, varint, zigzag
from streamnative_serdes.errors import ConfigError, DecodeError

if TYPE_CHECKING:
    from typing_extensions import Buffer
else:
    Buffer = Any  # Python has this class from 3.12 on

__all__ = ["Buffer", "Message", "RecordColumns", "RecordReader", "fields_of", "number", "text", "varint", "zigzag"]

MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits and checks of a reader.

    Args:
        max_batch_size: bytes of one batch after decompression, and of one entry that is made or put together.
        schema_header: whether a schema version header is taken off the values.
        check_crc: whether checksums are compared.
    """

    max_batch_size: int = 64 * MIB
    schema_header: bool = True
    check_crc: bool = True


def check_sizes(**sizes: object) -> None:
    """Raise ConfigError if a number of bytes is impossible."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or not 0 < size < 2**31:
            raise ConfigError(f"{name}: expected 1 to 2**31 - 1 bytes, got {size!r:.80}")


def crc32c(data: memoryview) -> int:
    """CRC32C (Castagnoli) of the data. Raises ConfigError: google-crc32c is not installed."""
    try:
        from google_crc32c import extend
    except ModuleNotFoundError as error:
        raise ConfigError("checksums need google-crc32c", hint="pip install google-crc32c") from error
    crc = 0
    for start in range(0, len(data), MIB):  # in parts, since google-crc32c wants bytes objects, so a view is copied
        crc = extend(crc, bytes(data[start : start + MIB]))
    return crc


def require_crc(what: str, expected: int, got: int, offset: int) -> None:
    """Raise DecodeError if a checksum differs from the one that stands at ``offset``."""
    if expected != got:
        raise DecodeError(
            f"{what}: expected the checksum {expected:08x}, got {got:08x} from the bytes",
            offset=offset,
            hint="the bytes are damaged or cut off",
        )


def framed(message: Message) -> bytes | None:
    """The value for a Kafka record: with our header in front if the message names its schema version."""
    if message.value is None or message.schema_version is None:
        return message.value
    return header.pack(message.schema_version) + message.value


def number(field: int, value: int) -> bytes:
    """A varint field of a protocol buffer."""
    return varint(field << 3) + varint(value & 0xFFFFFFFFFFFFFFFF)


def text(field: int, value: bytes) -> bytes:
    """A field of bytes, text or a nested message."""
    return varint(field << 3 | 2) + varint(len(value)) + value
