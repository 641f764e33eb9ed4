from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from typing_extensions import Buffer, disjoint_base

from .schema import AvroType, Resolution, Shapes

class Duration(NamedTuple):
    """Avro's duration: three unsigned 32-bit counts that do not convert into each other."""

    months: int
    days: int
    millis: int

@disjoint_base
class Codec:
    """One schema's plan. Immutable after it is made, so any number of threads may use it at once."""

    def __new__(
        cls, root: AvroType, resolution: Resolution | None, options: Mapping[str, Any], shapes: Shapes
    ) -> Self: ...
    def encode(self, datum: Any) -> bytes:
        """The Avro bytes of ``datum``. Raises EncodeError with the path of the field that does not fit."""

    def decode(self, data: Buffer) -> Any:
        """The datum in ``data``, which must be used up. Raises DecodeError with path and byte."""

    def skip(self, data: Buffer, offset: int = 0) -> int:
        """The offset in bytes behind the datum at ``offset``: as by ``decode``, but no objects, and no look at text."""
