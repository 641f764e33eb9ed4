"""How a serializer or a deserializer is configured, closed and pickled: all that its class adds to the call path."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self, overload

from . import _call_path
from . import _config as config
from ._call_path import policy_of
from ._closing import Closing
from ._formats import protobuf_native_text
from ._schema import load
from ._topics.binding import Binding
from ._topics.confluent_ids import ConfluentSchemas, LearntIds
from ._topics.topic_state import PickledSchema
from .errors import ConfigError
from .key_value import KeyValueSchema, TypedSchema
from .models import Registered
from .serialization import SerializationContext, Serializer

_EVENTS: Final = ("misses", "errors", "fallbacks", "ambiguous")  # the counters that topics have of their own


class _Second(NamedTuple):
    """The part of a pickle about a registry beside Pulsar's."""

    known: LearntIds
    answered: frozenset[str]

    @classmethod
    def of(cls, schemas: ConfluentSchemas) -> _Second:
        return cls(schemas.learnt(), schemas.client.answered)


class _State(NamedTuple):
    """The content of a pickle besides a subclass's own attributes: no connections, no locks, no plans."""

    given: _call_path.ConstructorArguments
    conf: dict[str, Any] | None = None
    topics: frozenset[str] = frozenset()
    known: tuple[PickledSchema, ...] = ()
    answered: frozenset[str] = frozenset()  # addresses that have answered before
    others: tuple[tuple[str, _Second], ...] = ()  # by the prefix of their options
    seen: tuple[Any, ...] = ()  # versions of topics that a deserializer has read
    is_key: bool | None = None  # as last configured


class Lifecycle(Closing):
    """Mixed into each face, over a compiled ``_call_path`` class.

    A face names its ``OPTIONS`` and the class of its ``POLICY``, which is made from the checked options and the
    constructor's arguments. The policy has ``conf``, ``binding``, ``topics`` (known but not bound), ``registries``:
    the schemas of each registry beside Pulsar's, by the prefix of its options, and ``seen``: the versions of topics
    that a copy must know, or None.
    """

    OPTIONS: ClassVar[tuple[config.Option, ...]]
    POLICY: ClassVar[Any]

    _given = _call_path.ConstructorArguments()

    def __init__(self, conf: Mapping[str, Any] | None, schema: object, convert: object, is_key: bool) -> None:
        """Read a schema that is in a file now, and check options strictly."""
        if conf is not None:
            self._refuse_no_options(conf)
            if "type" in conf:  # as a schema has, and no option is called
                raise ConfigError("expected the options, got an Avro schema", hint=self._order())
        if isinstance(schema, Mapping) and "schema.registry.url" in schema:
            raise ConfigError("expected a schema, got options", hint=self._order())
        refuse_no_function(convert)
        self._given = _call_path.ConstructorArguments(_loaded(schema), convert, is_key)
        if conf is not None:
            self._configure(conf, is_key, strict=True)

    def configure(self, conf: Mapping[str, Any], is_key: bool | None = None) -> Self:
        """Set the options; keys that are not ours are ignored, as Java's clients expect. A second call replaces all.

        ``is_key``: for keys; None keeps the constructor's argument.

        Raises:
            ConfigError: a bad value, or no ``schema.registry.url``.
        """
        self._configure(conf, is_key, strict=False)
        return self

    def _configure(self, conf: Mapping[str, Any], is_key: bool | None, *, strict: bool) -> None:
        self._refuse_no_options(conf)
        values = config.parse(self.OPTIONS, conf, strict=strict)
        if strict:
            config.refuse_idle_registry(values)
        given = self._given if is_key is None else self._given._replace(is_key=is_key)
        policy = type(self).POLICY(values, given)
        _call_path.set_up(self, policy, self._given.convert, values["cache.capacity"])

    def _refuse_no_options(self, conf: object) -> None:
        if not isinstance(conf, Mapping):
            raise ConfigError(f"expected the options as a dict, got {type(conf).__name__}", hint=self._order())

    def _order(self) -> str:
        return f'the options go first: {type(self).__name__}({{"schema.registry.url": "http://..."}}, schema)'

    def close(self) -> None:
        """Close idle connections to the registries. A later call opens new ones: a closed SerDes stays usable."""
        policy = _call_path.policy_or_none(self)
        if policy is not None:
            policy.binding.detach(self)
            twin = _call_path.twin_of(self)
            if twin is not None:
                policy.binding.detach(twin)
        for client in _clients(policy):
            client.close()

    def registry_calls(self) -> int:
        """The number of HTTP requests of this process to the registries of this SerDes, by any object."""
        return sum(client.calls.total() for client in _clients(_call_path.policy_or_none(self)))

    @overload
    def stats(self, by: None = None) -> dict[str, int]: ...
    @overload
    def stats(self, by: Literal["topic", "error.type"]) -> dict[str, dict[str, int]]: ...
    def stats(self, by: str | None = None) -> dict[str, int] | dict[str, dict[str, int]]:
        """Counts since it was made: ``messages``, ``bytes``, ``hits``, ``misses``, ``errors``, ``registry_calls``.

        A deserializer has also ``headerless`` and ``fallbacks``; and if ``framings`` has those of other registries,
        ``confluent`` and ``confluent_header``, messages of these framings, ``other_framings``, and ``ambiguous``,
        messages that could be read without a header too (docs/messages.md). Messages of types without a header count as
        headerless.

        Each message is a hit, or a miss if its schema was not at hand, and counts as one error at most. A batch that
        fails as a whole counts as one error, and its messages are not counted. ``bytes`` is the size of the messages
        that were written, or passed in to be read. Registry calls are those of the whole process.

        Args:
            by: ``"topic"`` returns ``misses``, ``errors``, ``fallbacks`` and ``ambiguous`` for each topic that has any;
                ``"error.type"`` returns for each class of errors how many each topic has. After 10,000 of them, further
                topics share the name ``""``.

        Raises:
            ConfigError: ``by`` is something else.
        """
        counts = _call_path.counts_of(self)
        if by is None:
            return {**counts, "registry_calls": self.registry_calls()}
        if by not in ("topic", "error.type"):
            raise ConfigError(f'by: expected "topic" or "error.type", got {by!r}')
        found: dict[str, dict[str, int]] = {}
        for (counter, topic, kind), messages in _call_path.events_of(self).items():
            if by == "topic":
                of_topic = found.setdefault(topic, {name: 0 for name in _EVENTS if name in counts})
                of_topic[counter] += messages
            elif kind:
                found.setdefault(kind, {})[topic] = messages
        return found

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[type[Self]], tuple[_State, dict[str, Any]]]:
        policy = _call_path.policy_or_none(self)
        state = _State(self._given)
        if policy is not None:
            topics = frozenset({*policy.topics, *(bound.topic for bound in _call_path.bound_of(self))})
            binding: Binding = policy.binding
            others = tuple((prefix, _Second.of(schemas)) for prefix, schemas in policy.registries.items())
            seen = () if policy.seen is None else policy.seen.learnt()
            known, answered = binding.learnt(topics), binding.client.answered
            state = _State(self._given, policy.conf, topics, known, answered, others, seen, policy.is_key)
        own = {key: value for key, value in vars(self).items() if key != "_given"}
        # A subclass may have an __init__ of its own, so none is called.
        return copyreg.__newobj__, (type(self),), (state, own)  # type: ignore[attr-defined]

    def __setstate__(self, pickled: tuple[_State, dict[str, Any]]) -> None:
        state, own = pickled
        vars(self).update(own)
        self._given = state.given
        if state.conf is not None:
            # A subclass may have a configure() of the options alone.
            self.configure(state.conf, *(() if state.is_key == state.given.is_key else (state.is_key,)))
            policy = policy_of(self)
            policy.topics.update(state.topics)
            policy.binding.client.met(state.answered)
            policy.binding.attach(self)  # makes room for what is learnt
            policy.binding.learn(state.known)
            for prefix, other in state.others:
                policy.registries[prefix].client.met(other.answered)
                policy.registries[prefix].learn(other.known)
            if policy.seen is not None:
                policy.seen.learn(state.seen)


class WritingFace(_call_path.Serializer, Lifecycle, Serializer):
    """A serializer: its constructor, and what all of them do."""

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
        policy = policy_of(self)
        policy.bind(self, topic, None, None)
        policy.topics.add(topic)


def _loaded(schema: Any) -> Any:
    """The schema that a constructor keeps: a file is read now, since it may be missing where a pickle goes."""
    if isinstance(schema, KeyValueSchema):
        return replace(schema, key=_loaded(schema.key), value=_loaded(schema.value))
    if isinstance(schema, TypedSchema):
        if schema.type == "PROTOBUF_NATIVE":  # a descriptor does not pickle
            return replace(schema, schema=protobuf_native_text(schema.schema))
        return schema if schema.schema is None else replace(schema, schema=_loaded(schema.schema))
    return schema if schema is None or isinstance(schema, (type, Registered)) else load(schema)


def _clients(policy: Any) -> list[Any]:
    """The clients of a policy's registries: none before configure(), else Pulsar's, and those of others."""
    if policy is None:
        return []
    return [policy.binding.client, *(schemas.client for schemas in policy.registries.values())]


def refuse_no_function(convert: object) -> None:
    """Check ``to_dict`` or ``from_dict``. Raises ConfigError: the argument is neither None nor callable."""
    if convert is not None and not callable(convert):
        hint = "options are the argument conf" if isinstance(convert, Mapping) else None
        raise ConfigError(f"expected a function of (object, context), got {type(convert).__name__}", hint=hint)
