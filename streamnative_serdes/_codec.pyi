from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from typing_extensions import Buffer, disjoint_base

from ._schema import AvroType, Resolution, Shapes

class Duration(NamedTuple):
    """Avro's duration: three unsigned 32-bit counts that do not convert into each other."""

    months: int
    days: int
    millis: int

@disjoint_base
class Codec:
    """The compiled plan of one schema. Immutable after construction, so threads may share it."""

    def __new__(
        cls,
        root: AvroType,
        resolution: Resolution | None,
        options: Mapping[str, Any],
        shapes: Shapes,
        without_size: bool = False,
    ) -> Self: ...
    def encode(self, datum: Any) -> bytes:
        """Encode ``datum`` as Avro bytes. Raises EncodeError with the path of the field that does not fit."""

    def decode(self, data: Buffer) -> Any:
        """Decode the datum in ``data``, all of which it must take up. Raises DecodeError with path and byte offset."""

    def is_datum(self, data: Buffer) -> bool:
        """Whether ``data`` is exactly one datum of the writer's schema. Checks what ``decode`` checks, except text."""

    def skip(self, data: Buffer, offset: int = 0) -> int:
        """Return the byte offset after the datum at ``offset``. Checks what ``decode`` checks, except text."""

def weight(value: object) -> int:
    """Count the values in ``value``, including itself; long text and bytes count as more, since they are copied."""
