"""A migration's source in a framing of Apicurio, AWS Glue or Azure: how messages name schemas, and who has these.

The names are those of errors, such as ``globalId 7``, ``schema version b7b4...`` or ``schema id 0f1e...``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

from streamnative_serdes import _config as config
from streamnative_serdes._reading.framings import CONFLUENTS, PACKED, ForeignId, Signs
from streamnative_serdes._rewriting import BadMessageError, Headers, Name
from streamnative_serdes.errors import ConfigError, SchemaNotFoundError
from streamnative_serdes.schema_registry import ConfluentRegistryClient, ConfluentSchema
from streamnative_serdes.schema_registry.foreign import FOREIGN_CLIENTS

_URL: Final = "schema.registry.url"
_FRAMINGS: Final = next(option for option in config.DESERIALIZER_OPTIONS if option.key == "framings")


class ForeignFramings:
    """The framings of a source, as :class:`Rewriter` takes them; they are pickled by their options.

    Args:
        conf: the options of the source's registry, not yet checked: ``framings`` and an address, as of a deserializer.
            Options for signing in, for TLS and for the proxy may be without the registry's prefix.

    Raises:
        ConfigError: an option is not valid, or the framings belong to several registries.
    """

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self._given = dict(conf)
        self.conf = _checked(conf)

    def __reduce__(self) -> tuple[Callable[..., ForeignFramings], tuple[Any, ...]]:
        return ForeignFramings, (self._given,)

    @cached_property
    def _signs(self) -> Signs:
        return Signs(self.conf)

    @property
    def headers(self) -> frozenset[str]:
        """The names of the headers that name schemas."""
        return frozenset(name for name, _ in self._signs.header_keys)

    def name_of(self, value: bytes, headers: Headers) -> tuple[Name, int]:
        """As :meth:`Rewriter.name_of`."""
        found = self._signs.named_in(headers) or self._signs.named_by(value)
        if found is None:
            expected = f"expected one of the framings {self._signs.expected}"
            raise BadMessageError(f"{expected}, got {len(value)} bytes {value[:10].hex(' ')!r}")
        return str(found[1]), config.BY_NAME[found[0]].size

    def opened(self, value: bytes) -> bytes:
        """The value, unpacked if AWS Glue's serializer has compressed it. Raises BadMessageError."""
        if not (self._signs.unpacks and value.startswith(PACKED)):
            return value
        unpacked = self._signs.unpacked(value)
        if unpacked is None:
            raise BadMessageError("its datum is compressed by zlib, and damaged or too large (glue.max.unpacked.size)")
        return unpacked

    def registry(self) -> ForeignRegistry:
        """A client of the source's registry, to be closed."""
        return ForeignRegistry(config.other_registries(self.conf))


class ForeignRegistry:
    """A registry of other vendors, as far as a migration asks one of Confluent's: by the name of a schema alone."""

    def __init__(self, conf: Mapping[str, Mapping[str, Any]]) -> None:
        ((self._prefix, own),) = conf.items()
        self._client = FOREIGN_CLIENTS[self._prefix](own)

    def close(self) -> None:
        self._client.close()

    def by_guid(self, name: str) -> ConfluentSchema:
        """The schema with a name of :meth:`ForeignFramings.name_of`."""
        kind, _, value = name.rpartition(" ")
        found: ConfluentSchema = self._client.by_key(ForeignId(self._prefix, kind, value))
        return found

    def self_contained(self, schema: ConfluentSchema) -> str:
        text: str = self._client.self_contained(schema)
        return text

    def _not_asked(self, *what: object) -> Any:
        raise SchemaNotFoundError(
            f"the source's registry is not asked for {', '.join(map(str, what)) or 'subjects'}",
            hint="run `migrate plan` first: it finds the ids in the messages",
        )

    # Ids alone, and what belongs to a subject
    by_id = versions = version = lookup = subject_versions = subjects = compatibility = _not_asked


def _checked(conf: Mapping[str, Any]) -> dict[str, Any]:
    known = {option.key for option in config.DESERIALIZER_OPTIONS}
    given = {key: value for key, value in conf.items() if key in known}
    framings = config.checked(_FRAMINGS, given["framings"])
    found = {config.BY_NAME[name].registry for name in framings if name in config.BY_NAME}
    if len(found) != 1 or CONFLUENTS in found:
        raise ConfigError(
            f"framings={','.join(framings)}: expected framings of one registry, of Apicurio, AWS Glue or Azure",
            hint="leave out framings for a source in Confluent's framing, and migrate other messages by themselves",
        )
    (prefix,) = found
    address = next(framing.option for framing in config.FRAMINGS if framing.registry == prefix)
    own = {key: value for key, value in given.items() if f"confluent.{key}" in known}
    moved = {config.prefixed(prefix, key): value for key, value in own.items() if key != _URL}
    if prefix == "glue." and any(value is not None for value in moved.values()):
        raise ConfigError(f"{min(own.keys() - {_URL})} has no effect: AWS Glue is asked through boto3, which signs in")
    rest = {key: value for key, value in given.items() if key not in own}
    return config.parse(
        config.DESERIALIZER_OPTIONS,
        {address: given.get(_URL), **moved, **rest, _URL: "http://unused"},
        strict=True,
    )


SourceRegistry: TypeAlias = ConfluentRegistryClient | ForeignRegistry


def named(registry: SourceRegistry, name: Name) -> ConfluentSchema:
    """The schema that messages of the source name so."""
    return registry.by_guid(name) if isinstance(name, str) else registry.by_id(name)
