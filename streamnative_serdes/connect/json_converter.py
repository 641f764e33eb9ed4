"""JsonConverter and its options: messages as of Kafka's ``org.apache.kafka.connect.json.JsonConverter``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes._config import Option, checks
from streamnative_serdes._config.option import checked
from streamnative_serdes._formats.jackson.parsing import parse
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes._topics.cache import ForkSafeLock
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, NestedTooDeeplyError, SerdesError

from .converter import Converter
from .json_schema import Envelopes, KnownSchema, to_json
from .json_values import Form, Write, read_schemaless, write_schemaless, writer
from .schema import Schema
from .values import NOTHING, SchemaAndValue

BASE64, NUMERIC = "BASE64", "NUMERIC"
_lock = ForkSafeLock()  # of all converters


def _decimal_format(value: object) -> str:
    if isinstance(value, str) and value.upper() in (BASE64, NUMERIC):
        return value.upper()
    raise ValueError(f"{BASE64} or {NUMERIC}")


def _text(value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError("a schema in JSON, as text")


OPTIONS: Final = (
    Option(
        "schemas.enable",
        True,
        checks.flag,
        'Messages are envelopes, `{"schema": ..., "payload": ...}`. With false, they are the payload only, and data '
        "has no schema.",
    ),
    Option("schemas.cache.size", 1000, checks.between(0, 1_000_000), "How many schemas are kept, at most."),
    Option(
        "decimal.format",
        BASE64,
        _decimal_format,
        "How decimals are written: `BASE64`, the bytes of the unscaled integer, or `NUMERIC`, a number. Both are read.",
    ),
    Option(
        "replace.null.with.default",
        True,
        checks.flag,
        "Write and read the default in place of null, in structs too. With false, null stays null.",
    ),
    Option(
        "schema.content",
        None,
        _text,
        "A schema in JSON for all messages that are read: they are the payload only. Requires `schemas.enable=true`.",
    ),
    Option("max.depth", 256, checks.between(1, 1_000), "How deeply a message may be nested that is read."),
)
_BY_KEY: Final = {option.key: option for option in OPTIONS}


@dataclass(frozen=True, slots=True)
class JsonOptions:
    """The checked options."""

    schemas: bool
    cache_size: int
    form: Form
    schema_content: str | None
    max_depth: int

    @classmethod
    def parse(cls, config: Mapping[str, Any], *, strict: bool) -> JsonOptions:
        """Args: ``strict``: whether an unknown option is an error; a worker passes options of others too.

        Raises:
            ConfigError: an option is unknown, or its value invalid; ``schema.content`` without ``schemas.enable``.
        """
        unknown = [str(key) for key in config if key not in _BY_KEY]
        if strict and unknown:
            hint = did_you_mean(unknown[0], _BY_KEY) or f"the options are {', '.join(_BY_KEY)}"
            raise ConfigError(f"unknown option {unknown[0]}", hint=hint)
        values = {key: checked(option, config.get(key)) for key, option in _BY_KEY.items()}
        if values["schema.content"] is not None and not values["schemas.enable"]:
            raise ConfigError("schema.content has no effect with schemas.enable=false", hint="leave one of them out")
        form = Form(values["decimal.format"] == NUMERIC, values["replace.null.with.default"])
        return cls(
            values["schemas.enable"],
            values["schemas.cache.size"],
            form,
            values["schema.content"],
            values["max.depth"],
        )


class _Configured:
    """The options of a converter, and what it keeps by them; threads share it. ``_lock`` guards the writers."""

    def __init__(self, options: JsonOptions) -> None:
        self.options = options
        self._envelopes = Envelopes(options.form, options.cache_size, options.max_depth)
        self._writers: OrderedDict[Schema, tuple[str, Write]] = OrderedDict()
        self._fixed = None if options.schema_content is None else self._content(options.schema_content)

    def _content(self, text: str) -> KnownSchema:
        try:
            return self._envelopes.schema_of(parse(text.encode(), self.options.max_depth))
        except (DecodeError, UnicodeEncodeError) as error:
            raise ConfigError(f"schema.content: {error}") from None

    def text(self, schema: Schema | None, value: Any) -> str:
        if schema is None:
            payload = write_schemaless(value)
            return f'{{"schema":null,"payload":{payload}}}' if self.options.schemas else payload
        text, write = self._writer(schema)
        return f'{{"schema":{text},"payload":{write(value)}}}' if self.options.schemas else write(value)

    def _writer(self, schema: Schema) -> tuple[str, Write]:
        """The schema's JSON and the function that writes its values, made once."""
        with _lock():
            found = self._writers.get(schema)
            if found is not None:
                self._writers.move_to_end(schema)
                return found
        form = self.options.form
        made = to_json(schema, form) if self.options.schemas else "", writer(schema, form)
        with _lock():
            self._writers[schema] = made
            while len(self._writers) > max(self.options.cache_size, 1):
                self._writers.popitem(last=False)
        return made

    def read(self, data: bytes) -> SchemaAndValue:
        if self.options.schemas and self._fixed is None:
            known, payload = self._envelopes.split(data)
        else:
            payload = parse(data, self.options.max_depth)
            known = self._fixed or KnownSchema(None, read_schemaless)
        return SchemaAndValue(known.schema, known.read(payload))


class JsonConverter(Converter):
    """Writes and reads ``{"schema": ..., "payload": ...}``, or the payload alone. May be used by several threads.

    Data that Java silently reads as another value are an error here: text for an int (Java: 0), an int that is too
    large (Java: its lowest bits), a fraction for an int, a symbol that an enum does not have, a key that comes twice,
    or characters after the message. ``None`` as the string key of a map is an error too (Java writes "null").

    Args:
        config: ``schemas.enable``, ``schemas.cache.size``, ``decimal.format``, ``replace.null.with.default``,
            ``schema.content`` and ``max.depth``; docs/connect.md describes them.

    Raises:
        ConfigError: an option is unknown, or its value invalid.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._set(JsonOptions.parse(config or {}, strict=True))

    def configure(self, config: Mapping[str, Any], is_key: bool = False) -> None:  # noqa: ARG002 - keys are no different
        self._set(JsonOptions.parse(config, strict=False))

    @classmethod
    def of_options(cls, options: JsonOptions) -> JsonConverter:
        """A converter with checked options; its caches are empty, as in an unpickled converter."""
        made = cls()
        made._set(options)
        return made

    def _set(self, options: JsonOptions) -> None:
        self._now = _Configured(options)  # replaced as a whole, so that a thread at work keeps to one

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonConverter.of_options, (self.options,)

    @property
    def options(self) -> JsonOptions:
        """The checked options."""
        return self._now.options

    # Writing

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        try:
            return self._now.text(schema, value).encode()
        except SerdesError as error:
            raise error.at(topic=topic) from None
        except RecursionError:
            raise EncodeError("nested too deeply for Python's recursion limit", topic=topic) from None

    # Reading

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return NOTHING
        try:
            return self._now.read(bytes(data))
        except DecodeError as error:
            raise error.at(topic=topic) from None
        except (RecursionError, NestedTooDeeplyError):
            raise DecodeError(
                "nested too deeply for Python's recursion limit", topic=topic, hint="lower max.depth"
            ) from None
