"""How a serializer or a deserializer is configured, closed and pickled: what both directions share."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

from . import config
from .binding import Binding
from .errors import ConfigError, SerdesError
from .schema import load
from .serialization import MessageField, SerializationContext
from .topic_state import Learnt

# Made anew by configure(): connections, plans, and what was warned about.
_NOT_PICKLED = frozenset(
    {"_conf", "_binding", "_codec", "_arguments", "_by_class", "_fall_back", "_warned"}
    | {"_columns", "_batch_topics", "_writers"}
)


class Lifecycle:
    """Mixed into both faces, over a compiled ``_serdes`` class.

    A face names its ``OPTIONS`` and starts its compiled part in ``_start``. Pickles carry the options, the arguments,
    what is known of the topics met so far, and which addresses have answered: no connections, no locks, no plans.
    """

    OPTIONS: ClassVar[tuple[config.Option, ...]]

    _conf: dict[str, Any] | None = None
    _binding: Binding | None = None
    _codec: Any = None  # what became of the schema that was given: the serializer's codec, the deserializer's reading
    _arguments: tuple[Any, Any] = (None, None)  # schema as text or class, to_dict or from_dict
    _batch_topics: set[str]  # of batches of Arrow
    _warmed: frozenset[str] = frozenset()  # topics that were asked for ahead of their first message

    def _begin(self, conf: Mapping[str, Any] | None, schema: object, convert: object, is_key: bool) -> None:
        """What both constructors do: a schema in a file is read now, options are checked strictly."""
        if conf is not None:
            self._refuse_no_options(conf)
            if "type" in conf:  # as a schema has, and no option is called
                raise ConfigError("expected the options, got an Avro schema", hint=self._order())
        if isinstance(schema, Mapping) and "schema.registry.url" in schema:
            raise ConfigError("expected a schema, got options", hint=self._order())
        refuse_no_function(convert)
        self._arguments = schema if schema is None or isinstance(schema, type) else load(schema), convert
        if conf is not None:
            self._configure(conf, is_key, strict=True)

    def configure(self, conf: Mapping[str, Any], is_key: bool = False) -> Self:
        """Set the options; keys that are not ours are ignored, as Java's clients expect. A second call replaces all.

        Raises:
            ConfigError: a bad value, no ``schema.registry.url``, or ``is_key``.
        """
        self._configure(conf, is_key, strict=False)
        return self

    def _configure(self, conf: Mapping[str, Any], is_key: bool, *, strict: bool) -> None:
        refuse_keys(is_key)
        self._refuse_no_options(conf)
        values = config.parse(self.OPTIONS, conf, strict=strict)
        codec = self._compiled(self._arguments[0], values)
        # Nothing can fail from here on. The cache goes last: what a thread that is at work now will put into it still
        # comes from the registry and the schema of before.
        self._conf, self._binding, self._codec = values, Binding.shared(values), codec
        self._batch_topics = set()
        self._start(values)

    def _refuse_no_options(self, conf: object) -> None:
        if not isinstance(conf, Mapping):
            raise ConfigError(f"expected the options as a dict, got {type(conf).__name__}", hint=self._order())

    def _order(self) -> str:
        return f'the options go first: {type(self).__name__}({{"schema.registry.url": "http://..."}}, schema)'

    def _compiled(self, schema: object, conf: dict[str, Any]) -> Any:
        """What becomes of the schema that was given, for ``_codec``; None where none was."""
        raise NotImplementedError

    def _start(self, conf: dict[str, Any]) -> None:
        """Set up the compiled part, with an empty cache."""
        raise NotImplementedError

    def _attached(self) -> Binding:
        """The binding, which from now on tells when to :meth:`rebind`."""
        if self._binding is None:
            raise ConfigError("schema.registry.url is missing", hint="configure the SerDes before its first use")
        self._binding.attach(self)
        return self._binding

    def rebind(self) -> None:
        """Look up what topics are bound to anew, each with its next message: the registry is asked for news alone."""
        if self._conf is not None:
            self._reset(self._conf["cache.capacity"])  # type: ignore[attr-defined]

    def _bound_topics(self) -> set[str]:
        """Those whose schemas travel in a pickle."""
        return {*self._warmed, *self._batch_topics, *(bound.topic for bound in self._bound())}  # type: ignore[attr-defined]

    def _context(self, topic: str, headers: Any) -> SerializationContext:
        return SerializationContext(topic, MessageField.VALUE, headers)

    def close(self) -> None:
        """Close idle connections to the registry. A later call opens new ones: a closed SerDes stays usable."""
        if self._binding is not None:
            self._binding.detach(self)
            self._binding.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def registry_calls(self) -> int:
        """HTTP requests that this process has sent to the registry of this SerDes, by whichever object."""
        return 0 if self._binding is None else sum(self._binding.client.calls.values())

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[type[Self]], tuple[Any, ...]]:
        known = () if self._binding is None else self._binding.learnt(self._bound_topics())
        own = {key: value for key, value in vars(self).items() if key not in _NOT_PICKLED}
        # A subclass may have an __init__ of its own, so none is called.
        new = copyreg.__newobj__  # type: ignore[attr-defined]
        answered = frozenset[str]() if self._binding is None else self._binding.client.answered
        return new, (type(self),), (self._conf, self._arguments, known, own, answered)

    def __setstate__(
        self, state: tuple[dict[str, Any] | None, tuple[Any, Any], tuple[Learnt, ...], dict[str, Any], frozenset[str]]
    ) -> None:
        conf, self._arguments, known, own, answered = state
        vars(self).update(own)
        if conf is not None:
            self.configure(conf)
        if self._binding is not None:
            self._binding.client.met(answered)
            self._binding.learn(known)


def refuse_no_topic(topic: object, error: type[SerdesError]) -> None:
    """Of methods that are given a topic and data, in the words of ``serialize`` and ``deserialize``.

    Raises:
        SerdesError: an ``error``, where the topic is no text.
    """
    if not isinstance(topic, str):
        raise error(f"expected a topic as str, got {type(topic).__name__}", hint="the topic goes first")


def refuse_no_function(convert: object) -> None:
    """Check ``to_dict`` or ``from_dict``.

    Raises:
        ConfigError: it is neither None nor callable.
    """
    if convert is not None and not callable(convert):
        hint = "options are the argument conf" if isinstance(convert, Mapping) else None
        raise ConfigError(f"expected a function of (object, context), got {type(convert).__name__}", hint=hint)


def refuse_keys(is_key: bool) -> None:
    """SNIP 42 is for values: a key's schema would be registered as that of the topic's values.

    Raises:
        ConfigError: always, if ``is_key``.
    """
    if is_key:
        raise ConfigError(
            "keys cannot be serialized or deserialized: in Pulsar, a topic's schema is that of its values",
            hint="use confluent_kafka's StringSerializer or the like for keys",
        )
