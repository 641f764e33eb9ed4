from collections.abc import Callable
from typing import Any, Final, final

from typing_extensions import Buffer, disjoint_base

from .codec import Codec

LATEST: Final[int]
PREFIXED: Final[int]
"""The key of schema id 0 of the second registry, for messages with Confluent's prefix; other ids follow."""
BY_HEADER: Final[int]
"""The first key for messages with Confluent's header; see ``_reading.framings``."""
UNFRAMED: Final[int]
"""The key of messages that have none of the framings to be read. All keys of the second registry are below it."""
MISS: Final[object]
"""The result of ``serialize_bound`` and ``deserialize_bound`` where they would have to ask the policy."""

def without_header(version: int) -> int:
    """The key of ``version`` for messages without a header, and back: -2, -3, ... for 0, 1, ....

    Such messages are read whole, while bytes may follow the datum behind a header: so each has a codec of its own.
    """

@final
class Half:
    """Writes and reads keys or values. Never changes. ``encode`` and ``decode`` are used where there is no codec.

    Without ``encode`` it only reads.
    """

    def __new__(
        cls,
        codec: Codec | None,
        encode: Callable[[Any], bytes] | None = None,
        decode: Callable[[bytes], Any] | None = None,
    ) -> Half: ...
    @property
    def codec(self) -> Codec | None: ...
    @property
    def encode(self) -> Callable[[Any], bytes] | None: ...
    @property
    def decode(self) -> Callable[[bytes], Any] | None: ...

@final
class Pair:
    """Writes and reads both halves of KEY_VALUE messages. Never changes.

    ``key`` is None where keys are the messages' keys: SEPARATED. ``kind`` is the class of what INLINE messages hold, a
    subclass of tuple without further fields.
    """

    def __new__(cls, key: Half | None, value: Half, kind: type[tuple[Any, ...]]) -> Pair: ...
    @property
    def key(self) -> Half | None: ...
    @property
    def value(self) -> Half: ...
    @property
    def kind(self) -> type[tuple[Any, ...]]: ...

@final
class Bound:
    """The reader or writer of a topic's messages under one key: header, codec, lifetime. A cached one never changes."""

    def __new__(
        cls,
        topic: str,
        key: object,
        version: int,
        header: bytes | None,
        codec: Codec | None,
        lifetime: float = ...,
        pair: Pair | None = None,
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
    @property
    def pair(self) -> Pair | None: ...
    @property
    def missing(self) -> bool:
        """Whether there is nothing to read with: the registry does not have this version."""
    @property
    def by(self) -> object:
        """The codec or pair that reads, to compare with that of another Bound."""

@disjoint_base
class _Serdes:
    def rebind(self) -> None:
        """Look up what topics are bound to again, each with its next message; the registry is asked for news alone."""

# In all of these, ``serdes`` is a _Serdes. Its type is object, because the mixin Lifecycle is not one for mypy.
def set_up(serdes: object, policy: Any, convert: Any, capacity: int) -> None:
    """Let ``serdes`` ask ``policy`` from now on, with nothing bound. ``convert`` is to_dict, from_dict or None."""

def policy_of(serdes: object) -> Any:
    """The policy. Raises ConfigError before :func:`set_up`."""

def policy_or_none(serdes: object) -> Any:
    """The policy, or None before :func:`set_up`."""

def set_fields(key: str, value: str) -> None:
    """Say which objects the fields of contexts are, as a rule; others are compared as text."""

def counts_of(serdes: object) -> dict[str, int]:
    """What was counted since the SerDes was made, by counter."""

def events_of(serdes: object) -> dict[tuple[str, str, str], int]:
    """What was counted of it beside hits: by counter, topic, and the name of the error's class, or ""."""

def twin_of(serdes: object) -> _Serdes | None:
    """The SerDes for keys that a context has asked for, or None."""

def bound_of(serdes: object) -> list[Bound]:
    """All that is bound at the moment."""

class Serializer(_Serdes):
    """The call path of a serializer."""

    def __call__(self, obj: Any, ctx: Any = None) -> bytes | None:
        """``obj`` as a framed message for ``ctx.topic``; None for None."""

    def serialize(self, topic: str, obj: Any, headers: Any = None) -> bytes | None:
        """``obj`` as a framed message for ``topic``; None for None. ``headers`` only reach ``to_dict``."""

def serialize_bound(serializer: Serializer, obj: Any, context: Any) -> Any:
    """As a call, where that takes no answer of the policy; else MISS, and nothing is counted."""

def count_written(serializer: Serializer, messages: int, size: int) -> None:
    """Count a batch of ``size`` bytes."""

@disjoint_base
class Deserializer(_Serdes):
    """The call path of a deserializer."""

    def __call__(self, data: Buffer | None, ctx: Any = None) -> Any:
        """The datum of the message ``data`` of ``ctx.topic``; None for None."""

    def deserialize(self, topic: str, data: Buffer | None, version: int | None = None, headers: Any = None) -> Any:
        """The datum of the message ``data`` of ``topic``; None for None.

        ``version`` is the schema version of a message without a header, where the caller knows it (from Pulsar's
        metadata, say); None, or pulsar-client's -1, where not. ``headers`` are the message's, as the client returns
        them: ``framings`` may allow a schema id in them, and ``from_dict`` gets them.
        """

def at_hand(deserializer: Deserializer, topic: str, key: int) -> tuple[Bound | None, object]:
    """The Bound under ``key``, or None, and the cache to :func:`keep` it in."""

def keep(deserializer: Deserializer, cache: object, bound: Bound) -> Bound:
    """Bind ``bound`` for further messages, for a policy that recovers; nothing is counted."""

def count_error(serdes: object, topic: object, error: BaseException) -> None:
    """Count a message or a batch that the call path has not seen."""

def count_fallback(deserializer: Deserializer, topic: str) -> None: ...
def count_instead(deserializer: Deserializer, before: int, after: int) -> None:
    """Count a message that was read under the key ``after``, not ``before`` as it was counted."""

def count_batch(
    deserializer: Deserializer,
    topic: str,
    size: int,
    messages: dict[int, int],
    fallbacks: int,
    ambiguous: int,
    errors: dict[str, int],
) -> None:
    """Count a batch of ``size`` bytes: messages by the key that they were read or looked up under; errors by class."""

def deserialize_bound(deserializer: Deserializer, data: Any, context: Any) -> Any:
    """As a call, where that takes no answer of the policy; else MISS, and nothing is counted."""

def read_by(bound: Bound, data: Buffer, offset: int) -> Any:
    """The datum in ``data[offset:]`` by the codec or the pair of ``bound``, which must not be None."""
