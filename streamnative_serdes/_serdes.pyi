from typing import Any, Final, final

from typing_extensions import Buffer, disjoint_base

from .codec import Codec

LATEST: Final[int]

def without_header(version: int) -> int:
    """The key of ``version`` for messages without a header, and back: -2, -3, ... for 0, 1, ..., and LATEST for -1.

    Such messages are read whole, while bytes may follow the datum behind a header: so each has a codec of its own.
    """

@final
class Bound:
    """What a topic is read or written with, under one key: header, codec and how long that holds. Never changes."""

    def __new__(
        cls,
        topic: str,
        key: object,
        version: int,
        header: bytes | None,
        codec: Codec | None,
        lifetime: float = ...,
    ) -> Bound: ...
    @property
    def topic(self) -> str: ...
    @property
    def key(self) -> Any: ...
    @property
    def version(self) -> int: ...
    @property
    def header(self) -> bytes | None: ...
    @property
    def codec(self) -> Codec | None: ...

@disjoint_base
class _Serdes:
    def _bound(self) -> list[Bound]: ...

@disjoint_base
class Serializer(_Serdes):
    """The call path of a serializer; a subclass overrides ``_bind`` and ``_context``."""

    def _setup(self, capacity: int, to_dict: Any, by_type: bool) -> None: ...
    def _count_batch(self, messages: int, errors: int) -> None: ...
    def __call__(self, obj: Any, ctx: Any = None) -> bytes | None:
        """``obj`` as a framed message for ``ctx.topic``; None for None."""

    def serialize(self, topic: str, obj: Any, headers: Any = None) -> bytes | None:
        """``obj`` as a framed message for ``topic``; None for None. ``headers`` only reach ``to_dict``."""

    def stats(self) -> dict[str, int]: ...

@disjoint_base
class Deserializer(_Serdes):
    """The call path of a deserializer; a subclass overrides ``_bind``, ``_recover`` and ``_context``."""

    def _setup(self, capacity: int, from_dict: Any) -> None: ...
    def _look_up(self, topic: str, number: int, context: Any) -> Bound:
        """For ``_recover``: its message is counted already, and so is its failure."""
    def _count_fallback(self) -> None: ...
    def _count_batch(self, messages: int, headerless: int, fallbacks: int, errors: int) -> None: ...
    def __call__(self, data: Buffer | None, ctx: Any = None) -> Any:
        """What the message ``data`` of ``ctx.topic`` holds; None for None."""

    def deserialize(self, topic: str, data: Buffer | None, version: int | None = None) -> Any:
        """What the message ``data`` of ``topic`` holds; None for None.

        ``version`` is the schema version of a message without a header, where the caller knows it (from Pulsar's
        metadata, say); None or -1 where not.
        """

    def stats(self) -> dict[str, int]: ...

def read_by(bound: Bound, data: Buffer, offset: int) -> Any:
    """The datum in ``data[offset:]`` by the codec of ``bound``, which must not be None."""
