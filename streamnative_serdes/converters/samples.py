"""The three converters that PIP 94 describes for its unit tests; they also serve as examples."""

from __future__ import annotations

import struct
from typing import Final

from streamnative_serdes.errors import DecodeError

from .converter import MessageConverter
from .entry import read_entry, write_entry
from .kafka_entries import FORMAT
from .metadata import NUM_MESSAGES, without
from .wire import Buffer, number

BYTES_FORMAT: Final = b"bytes"


class RejectAllConverter(MessageConverter):
    """Accepts nothing, so nothing is converted."""

    def accept(self, buffer: memoryview) -> bool:  # noqa: ARG002
        """False."""
        return False

    def convert(self, buffer: memoryview) -> Buffer:
        """The buffer."""
        return buffer


class EchoConverter(MessageConverter):
    """Accepts everything, and returns it unchanged."""

    def accept(self, buffer: memoryview) -> bool:  # noqa: ARG002
        """True."""
        return True

    def convert(self, buffer: memoryview) -> Buffer:
        """The buffer."""
        return buffer


class BytesConverter(MessageConverter):
    """Converts entries with the property ``entry.format=bytes``, whose payload is a value without its own metadata."""

    def accept(self, buffer: memoryview) -> bool:
        """Whether the buffer is an entry with that property."""
        try:
            return read_entry(buffer, check_crc=False).metadata.property(FORMAT) == BYTES_FORMAT
        except DecodeError:
            return False

    def convert(self, buffer: memoryview) -> Buffer:
        """A batch of one message, with the same metadata.

        Raises:
            DecodeError: the entry is damaged.
        """
        entry = read_entry(buffer)
        single = number(3, len(entry.payload))
        metadata = without(entry.metadata.raw, {NUM_MESSAGES}) + number(NUM_MESSAGES, 1)
        payload = b"".join((struct.pack(">i", len(single)), single, entry.payload))
        return write_entry(metadata, payload, entry.broker)
