"""SerDes for asyncio clients: known schemas are used at once, and answers of the registry are awaited in a thread.

confluent-kafka's AsyncSerializingProducer and AsyncDeserializingConsumer call a SerDes on the event loop, and await
what it returns. So a plain SerDes would halt the loop at each miss, for as long as the registry takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from streamnative_serdes import _call_path
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.serialization import SerializationContext

__all__ = ["awaited"]


def awaited(serdes: Any) -> Callable[[Any, SerializationContext | None], Awaitable[Any]]:
    """Return a coroutine function that does what a call of ``serdes`` does, for ``value.serializer`` and the like.

    A message whose schema is at hand never leaves the loop. All else runs in asyncio's threads: the first message of a
    topic or version, messages that cannot be read, and those of types other than AVRO. ``to_dict`` is called again.

    Args:
        serdes: any of this package's; it is not changed, and is yours to close.

    Raises:
        ConfigError: it is something else.
    """
    if isinstance(serdes, _call_path.Serializer):
        at_once: Callable[[Any, Any, Any], Any] = _call_path.serialize_bound
    elif isinstance(serdes, _call_path.Deserializer):
        at_once = _call_path.deserialize_bound
    else:
        raise ConfigError(f"expected a SerDes of this package, got {type(serdes).__name__}")

    async def call(value: Any, ctx: SerializationContext | None = None) -> Any:
        found = at_once(serdes, value, ctx)
        return await asyncio.to_thread(serdes, value, ctx) if found is _call_path.MISS else found

    return call
