"""What KafkaAvroSerializer and KafkaPulsarSerializer share: the constructor, the first question ahead, and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streamnative_serdes import _call_path
from streamnative_serdes._lifecycle import Lifecycle, policy_of
from streamnative_serdes.serialization import SerializationContext, Serializer

from .policy import WritePolicy


class WritingFace(_call_path.Serializer, Lifecycle, Serializer):
    """A serializer, whose policy is a :class:`WritePolicy`."""

    def __init__(
        self,
        conf: Mapping[str, Any] | None = None,
        schema: object = None,
        to_dict: Callable[[Any, SerializationContext], Any] | None = None,
        *,
        is_key: bool = False,
    ) -> None:
        super().__init__(conf, schema, to_dict, is_key)

    def warm_up(self, topic: str) -> None:
        """Ask the registry now for all that the first message of ``topic`` would ask for.

        Raises:
            EncodeError: ``topic`` is not a topic's name.
            SchemaRegistryError: as a message would.
        """
        policy: WritePolicy = policy_of(self)
        policy.bind(self, topic, None, None)
        policy.topics.add(topic)

    def stats(self) -> dict[str, int]:
        """Counts: ``messages``, ``hits``, ``misses``, ``errors``, ``registry_calls``; see the deserializer's."""
        return {**super().stats(), "registry_calls": self.registry_calls()}
