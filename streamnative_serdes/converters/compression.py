"""Decompression into a bounded buffer: Kafka's codecs, and those of Pulsar.

The output goes into anonymous memory of the declared maximum, of which the system provides only the pages that are
written, so a small input that expands without end costs no more than the maximum.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Final

from streamnative_serdes.errors import ConfigError, DecodeError, SerdesError

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)  # of Kafka
KAFKA: Final = {NONE: "none", GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}
PULSAR: Final = {0: "NONE", 1: "LZ4", 2: "ZLIB", 3: "ZSTD", 4: "SNAPPY"}

_XERIAL: Final = memoryview(b"\x82SNAPPY\0")
_XERIAL_HEADER: Final = 16  # bytes: the magic, a version and a compatible version, int32 each
_INT: Final = struct.Struct(">i")
_LZ4_MAGIC: Final = memoryview(b"\x04\x22\x4d\x18")
_GZIP_WINDOW: Final = 31  # of zlib: the largest window, and gzip's header
_GZIP_MAGIC: Final = b"\x1f\x8b"


def decompress(codec: int, data: memoryview, most: int, *, broken_lz4: bool = False) -> memoryview:
    """The bytes of a batch's records.

    Args:
        codec: Kafka's number of it.
        data: compressed.
        most: bytes that the result may have.
        broken_lz4: as in message sets of format 0, whose LZ4 header has a wrong checksum.

    Raises:
        DecodeError: the data are damaged, or expand to more.
        ConfigError: cramjam is not installed.
    """
    if codec == NONE:
        return data
    if codec == GZIP:
        return _inflated("gzip", _GZIP_WINDOW, data, most)
    if codec == SNAPPY:
        return _snappy(data, most)
    if codec == LZ4:
        return _into("lz4", _cramjam().lz4.decompress_into, _repaired(data) if broken_lz4 else data, most)
    if codec == ZSTD:
        return _into("zstd", _cramjam().zstd.decompress_into, data, most)
    raise DecodeError(f"expected a compression codec from 0 to 4, got {codec}")


def decompress_pulsar(codec: int, data: memoryview, size: int, most: int) -> memoryview:
    """The payload of an entry that a Pulsar producer has compressed.

    Args:
        codec: Pulsar's number of it.
        data: compressed.
        size: bytes of the result, as the metadata say.
        most: bytes that the result may have.

    Raises:
        DecodeError: the data are damaged, have another size, or a larger one than allowed.
        ConfigError: cramjam is not installed.
    """
    if codec == 0:
        return data
    if codec not in PULSAR:
        raise DecodeError(f"expected a compression type from 0 to 4, got {codec}")
    if size > most:
        raise _too_large(PULSAR[codec], most)
    result = _pulsar(codec, data, size)
    if len(result) != size:
        raise DecodeError(f"{PULSAR[codec]}: expected {size} bytes as the metadata say, got {len(result)}")
    return result


def _pulsar(codec: int, data: memoryview, size: int) -> memoryview:
    if PULSAR[codec] == "ZLIB":
        return _inflated("ZLIB", 15, data, size, ends=False)
    if PULSAR[codec] == "LZ4":
        return _into(
            "LZ4", lambda source, target: _cramjam().lz4.decompress_block_into(source, target, max(size, 1)), data, size
        )
    if PULSAR[codec] == "ZSTD":
        return _into("ZSTD", _cramjam().zstd.decompress_into, data, size)
    return _into("SNAPPY", _cramjam().snappy.decompress_raw_into, data, size)


def _inflated(name: str, window: int, data: memoryview, most: int, *, ends: bool = True) -> memoryview:
    """The bytes of a stream. If not ``ends``, the end may be missing: Pulsar's Java client flushes, but writes no end.

    Streams of gzip may follow each other (RFC 1952), and Java's consumers read them.
    """
    inflater = zlib.decompressobj(window)
    try:
        result = inflater.decompress(data, most + 1)
    except zlib.error as error:
        raise _damaged(name, error) from None
    if len(result) > most:
        raise _too_large(name, most)
    if ends and not inflater.eof:
        raise DecodeError(f"{name}: expected the end of the stream, got the end of the {len(data)} bytes")
    rest = len(inflater.unused_data)
    if rest and window == _GZIP_WINDOW and inflater.unused_data.startswith(_GZIP_MAGIC):
        del result, inflater  # they may be large
        return _into(name, _cramjam().gzip.decompress_into, data, most)  # all streams, from the first on
    if rest:
        raise DecodeError(f"{name}: expected the end, got {rest} bytes after the stream")
    return memoryview(result)


def _into(
    name: str, decompress_into: Callable[[memoryview, memoryview], int], data: memoryview, most: int
) -> memoryview:
    target = _buffer(most)
    return target[: _filled(name, decompress_into, data, target, most)].toreadonly()


def _buffer(size: int) -> memoryview:
    try:
        return memoryview(mmap.mmap(-1, max(size, 1)))  # mmap refuses 0 bytes
    except OSError as error:
        raise SerdesError(
            f"cannot get {size} bytes of memory to decompress a batch: {error.strerror}",
            hint="lower max_batch_size, or give the process more memory",
        ) from error


def _filled(
    name: str,
    decompress_into: Callable[[memoryview, memoryview], int],
    data: memoryview,
    target: memoryview,
    most: int,
) -> int:
    """Decompress to the beginning of ``target``, and return the number of bytes."""
    try:
        return decompress_into(data, target)
    except _cramjam().DecompressionError as error:
        # cramjam has no type of its own for this, but Rust's text for a full buffer, or snappy's for a large size.
        if "write whole buffer" in str(error) or "output buffer" in str(error):
            raise _too_large(name, most) from None
        raise _damaged(name, error) from None


def _snappy(data: memoryview, most: int) -> memoryview:
    """Decompress plain Snappy, or Snappy in the chunks of the Java library snappy-java (xerial)."""
    if data[:8] != _XERIAL:
        return _into("snappy", _cramjam().snappy.decompress_raw_into, data, _snappy_size(data, most))
    if len(data) < _XERIAL_HEADER:
        raise DecodeError(f"snappy: expected a header of {_XERIAL_HEADER} bytes, got {len(data)}")
    target, end = _buffer(sum(size for _, size in _chunks(data, most))), 0
    for chunk, length in _chunks(
        data, most
    ):  # again, since many small ones would take more memory than they have bytes
        if length:
            end += _filled("snappy", _cramjam().snappy.decompress_raw_into, chunk, target[end : end + length], length)
    return target[:end].toreadonly()


def _chunks(data: memoryview, most: int) -> Iterator[tuple[memoryview, int]]:
    """Yield each chunk, and its number of bytes after decompression: together at most ``most``."""
    start = before = 0
    while start < len(data):
        if data[start : start + 8] == _XERIAL:  # streams may follow each other
            start += _XERIAL_HEADER
            continue
        chunk, start = _chunk(data, start)
        size = _snappy_size(chunk, most, before)
        before += size
        yield chunk, size


def _chunk(data: memoryview, start: int) -> tuple[memoryview, int]:
    left = len(data) - start - 4
    size = _INT.unpack_from(data, start)[0] if left >= 0 else -1
    if not 0 <= size <= left:
        raise DecodeError(
            f"snappy: byte {start} of the stream: expected a chunk of 0 to {max(left, 0)} bytes, got {size}"
        )
    return data[start + 4 : start + 4 + size], start + 4 + size


def _snappy_size(data: memoryview, most: int, before: int = 0) -> int:
    """The decompressed size in bytes that the data declare; ``before`` is the number of bytes in front of them."""
    module = _cramjam()
    try:
        size: int = module.snappy.decompress_raw_len(data)
    except module.DecompressionError as error:
        raise _damaged("snappy", error) from None
    if size + before > most:
        raise _too_large("snappy", most)
    return size


def _repaired(data: memoryview) -> memoryview:
    """The frame with the right checksum of its header.

    Clients that wrote message sets of format 0 included the magic in the checksum, and brokers kept that (KAFKA-3160).
    """
    if len(data) < 7 or data[:4] != _LZ4_MAGIC:
        return data
    end = 6 + 8 * (data[4] >> 3 & 1) + 4 * (data[4] & 1)  # with a content size, with a dictionary
    if len(data) <= end:
        return data
    return memoryview(b"".join((data[:end], bytes([xxh32(bytes(data[4:end])) >> 8 & 0xFF]), data[end + 1 :])))


def xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes, as many as an LZ4 frame's header has at most."""
    value = (0x165667B1 + len(data)) & 0xFFFFFFFF
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        value = _rotated((value + word * 0xC2B2AE3D) & 0xFFFFFFFF, 17) * 0x27D4EB2F & 0xFFFFFFFF
    for byte in data[whole:]:
        value = _rotated((value + byte * 0x165667B1) & 0xFFFFFFFF, 11) * 0x9E3779B1 & 0xFFFFFFFF
    value = (value ^ value >> 15) * 0x85EBCA77 & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE3D & 0xFFFFFFFF
    return value ^ value >> 16


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & 0xFFFFFFFF


def _cramjam() -> ModuleType:
    try:
        import cramjam
    except ModuleNotFoundError as error:
        raise ConfigError("snappy, lz4 and zstd need cramjam", hint="pip install cramjam") from error
    return cramjam


def _damaged(name: str, error: Exception) -> DecodeError:
    return DecodeError(f"{name}: the compressed data are damaged: {error}")


def _too_large(name: str, most: int) -> DecodeError:
    return DecodeError(
        f"{name}: expected at most {most} bytes after decompression, got more",
        hint="max_batch_size allows larger batches",
    )
