"""The interface of a message converter (PIP 94)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class MessageConverter(ABC):
    """Converts entries, or messages, of one format to another one.

    The interface of PIP 94, ``org.apache.pulsar.common.api.raw.MessageConverter``. A buffer is a read-only memoryview
    of bytes, so no converter can change its input, and Python checks every index. PIP 94's reader index does not exist:
    ``accept`` and ``convert`` see the same whole buffer.
    """

    def init(self) -> None:
        """Acquires what the converter needs. It is called once, before the first buffer."""
        return

    def close(self) -> None:
        """Releases what ``init`` acquired. It is called once, after the last buffer."""
        return

    @abstractmethod
    def accept(self, buffer: memoryview) -> bool:
        """Whether this converter can convert the buffer. False lets the next converter of a chain look at it."""

    @abstractmethod
    def convert(self, buffer: memoryview) -> Buffer:
        """The converted buffer: new bytes, or ``buffer`` itself. It is only called for a buffer that was accepted."""


def read_only(buffer: Buffer) -> memoryview:
    """A view of the buffer's bytes through which they cannot be changed.

    Raises:
        TypeError: it is no buffer, or its bytes are not in one piece.
    """
    view = memoryview(buffer).toreadonly()
    return view if view.format == "B" and view.ndim == 1 and view.c_contiguous else view.cast("B")
