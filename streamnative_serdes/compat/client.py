"""SchemaRegistryClient with the methods of Confluent's client that Pulsar's registry can support."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from streamnative_serdes._closing import Closing
from streamnative_serdes._config import schema_limits
from streamnative_serdes._schema import Schema as ParsedSchema
from streamnative_serdes._schema import parse_given, self_contained
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.schema_version import holds
from streamnative_serdes.errors import (
    ConfigError,
    InvalidSchemaError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from streamnative_serdes.schema_registry import SchemaInfo, TopicName
from streamnative_serdes.schema_registry import SchemaRegistryClient as PulsarClient

from . import options
from .error import BadSchemaError, BadVersionError, UnknownSchemaError, unsupported
from .schema import RegisteredSchema, Schema, SchemaReference, require_avro

_NO_IDS = "Pulsar numbers versions per topic and has no global schema ids"
_NO_LIST = "Pulsar's registry cannot list its subjects"
_ALL_AT_ONCE = "Pulsar deletes all schemas of a topic at once"
_STRATEGY = "in Pulsar, compatibility is a policy of the namespace or topic"
_SET_STRATEGY = "use pulsar-admin namespaces set-schema-compatibility-strategy"

# Methods of Confluent's client that are missing here, and why.
_NOT_THERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("get_schema_by_guid", "get_subjects_by_schema_id", "get_schema_versions"), _NO_IDS),
    **dict.fromkeys(("get_config", "set_config", "delete_config", "test_compatibility_all_versions"), _STRATEGY),
    **dict.fromkeys(
        ("get_mode", "update_mode", "delete_mode", "get_global_mode", "update_global_mode"),
        "Pulsar's registry has no modes",
    ),
    "get_latest_with_metadata": "Pulsar's registry stores no metadata",
    "get_referenced_by": "Pulsar's registry has no references: schemas are registered self-contained",
    "get_contexts": "Pulsar has tenants and namespaces instead",
    **dict.fromkeys(
        ("get_associations_by_resource_name", "create_association", "delete_associations"),
        "in Pulsar, a schema belongs to its topic",
    ),
}


class SchemaRegistryClient(Closing):
    """Pulsar's schema registry behind the interface of Confluent's client.

    Args:
        conf: ``url`` is Pulsar's HTTP address, or ``mock://scope`` for an in-memory registry of this process.
            docs/from-confluent.md lists Confluent's other keys; the options of docs/config.md are accepted too.

    A subject is a topic: ``orders-value`` and ``orders`` both mean the topic ``orders``. ``orders-key`` is refused,
    since a topic's schema describes its values. Versions count as Confluent's, from 1 in each topic: they are Pulsar's
    version + 1. Ids are Pulsar's versions, from 0, so an id is meaningful only together with the topic. A
    client caches nothing; SerDes cache their schemas. Threads may share a client, and it can be pickled.

    Raises:
        ConfigError: an unknown key, an invalid value, or a key that Pulsar cannot support.

    Methods raise SchemaRegistryError, with Confluent's ``http_status_code``, ``error_code`` and ``error_message``. For
    an invalid schema that the topic does not hold, the error is a SchemaError too, and the schema was not sent.
    """

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self._conf = options.for_client(conf)
        self._given = dict(conf)

    @staticmethod
    def new_client(conf: Mapping[str, Any]) -> SchemaRegistryClient:
        return SchemaRegistryClient(conf)

    def config(self) -> dict[str, Any]:
        """The configuration, as passed to the constructor."""
        return dict(self._given)

    @property
    def options(self) -> Mapping[str, Any]:
        """The configuration in terms of the options of docs/config.md."""
        return MappingProxyType(self._conf)

    @property
    def _binding(self) -> Binding:
        """The binding of this process to the registry; shared with the SerDes that have this client's options."""
        return Binding.shared(self._conf)

    @property
    def _pulsar(self) -> PulsarClient:
        return self._binding.client

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], frozenset[str]]:
        return type(self), (self._given,), self._pulsar.answered

    def __setstate__(self, answered: frozenset[str]) -> None:
        self._pulsar.met(answered)

    def close(self) -> None:
        """Close idle connections; a later call opens new ones."""
        self._pulsar.close()

    # Schemas

    def register_schema(self, subject_name: str, schema: Schema, normalize_schemas: bool = False) -> int:
        """Register ``schema`` with its references resolved, and return its id: Pulsar's version, new or existing."""
        return self.register_schema_full_response(subject_name, schema, normalize_schemas).schema_id

    def register_schema_full_response(
        self,
        subject_name: str,
        schema: Schema,
        normalize_schemas: bool = False,  # noqa: ARG002 - Pulsar compares schemas as parsed
    ) -> RegisteredSchema:
        topic = _topic_of(subject_name)
        given = self._parsed(topic, schema, to_register=True)
        refusal: SerdesError
        if given.fault is not None:
            refusal = _bad(topic, given.fault)
        else:
            try:
                return _registered(subject_name, self._register(topic, given.text), Schema(given.text))
            except InvalidSchemaError as error:  # by a newer broker
                refusal = error
        held = self._held(subject_name, topic, given)
        if held is None:
            raise refusal
        return held

    def _register(self, topic: str, text: str) -> int:
        version = self._pulsar.register(topic, text)
        for binding in self._binding.of_registry():
            binding.forget_refusals(self._binding.named(topic))
        return version

    def _held(self, subject: str, topic: str, given: ParsedSchema) -> RegisteredSchema | None:
        """The newest version of the topic that has this schema."""
        limits = schema_limits(self._conf)
        there = reversed(self._pulsar.all_versions(topic))
        return next((_found(subject, info) for info in there if holds(info, given, limits)), None)

    def lookup_schema(
        self,
        subject_name: str,
        schema: Schema,
        normalize_schemas: bool = False,  # noqa: ARG002
        fmt: str | None = None,
        deleted: bool = False,
    ) -> RegisteredSchema:
        """The version of ``schema`` in this topic.

        Raises:
            SchemaNotFoundError: the topic does not have this schema, or has none.
        """
        _refuse_formats("lookup_schema", fmt, deleted)
        topic = _topic_of(subject_name)
        wanted = self._parsed(topic, schema)
        held = self._held(subject_name, topic, wanted)
        if held is not None:
            return held
        if wanted.fault is not None:
            raise _bad(topic, wanted.fault)
        self._pulsar.latest(topic)  # a topic without schemas has another error
        raise UnknownSchemaError("the topic does not have this schema", topic=topic, status=404)

    def get_latest_version(self, subject_name: str, fmt: str | None = None) -> RegisteredSchema:
        return self.get_version(subject_name, "latest", fmt=fmt)

    def get_version(
        self,
        subject_name: str,
        version: int | Literal["latest"] = "latest",
        deleted: bool = False,  # noqa: ARG002 - deleted versions are gone in Pulsar, so including them changes nothing
        fmt: str | None = None,
    ) -> RegisteredSchema:
        """The schema with this version; versions start at 1.

        Raises:
            BadVersionError: ``version`` is neither a number from 1 on nor "latest".
        """
        _refuse_formats("get_version", fmt, False)
        topic = _topic_of(subject_name)
        info = self._pulsar.latest(topic) if version == "latest" else self._numbered(topic, version)
        return _found(subject_name, info)

    def _numbered(self, topic: str, version: object) -> SchemaInfo:
        """The schema with Confluent's number ``version``; errors have the same number."""
        try:
            return self._pulsar.by_version(topic, _to_pulsar(version, topic))
        except SchemaRegistryError as error:
            if error.version is not None:
                error.version = _to_confluent(error.version)
            raise

    def get_schema(
        self,
        schema_id: int,
        subject_name: str | None = None,
        fmt: str | None = None,
        reference_format: str | None = None,
    ) -> Schema:
        """The schema with this id in ``subject_name``, which is required: an id is Pulsar's version of one topic."""
        if subject_name is None:
            raise unsupported("get_schema without subject_name", _NO_IDS, "use get_version(subject, version)")
        _refuse_formats("get_schema", fmt or reference_format, False)
        topic, number = _topic_of(subject_name), _whole(schema_id)
        if number is None or number < 0:
            raise BadVersionError(f"expected an id, from 0, got {schema_id!r:.80}", topic=topic, status=422)
        try:
            return _found(subject_name, self._pulsar.by_version(topic, number)).schema
        except SchemaNotFoundError as error:
            error.code = 40403  # Confluent's code for an id
            raise

    def get_versions(
        self, subject_name: str, deleted: bool = False, deleted_only: bool = False, offset: int = 0, limit: int = -1
    ) -> list[int]:
        """The versions that are not deleted, in order, from 1. Empty without versions, where Confluent's raises."""
        _refuse_formats("get_versions", None, deleted or deleted_only)
        topic, start = _topic_of(subject_name), _whole(offset)
        most = None if limit == -1 else _whole(limit)
        if start is None or start < 0 or (most is None and limit != -1):
            text = f"expected whole numbers from 0 as offset and limit, got {offset!r:.80} and {limit!r:.80}"
            raise SchemaRegistryError(text, topic=topic, status=422, code=422)
        numbers = [_to_confluent(info.version) for info in self._pulsar.all_versions(topic)]
        return numbers[start:] if most is None or most < 0 else numbers[start : start + most]

    def get_schema_types(self) -> list[str]:
        return ["AVRO"]

    def delete_subject(self, subject_name: str, permanent: bool = False) -> list[int]:
        """Delete all schemas of the topic, and return their versions. If it has none, only ``permanent`` is accepted.

        Later versions continue the numbering, unless ``permanent``: then they start at 1 again, and messages that are
        still in the topic are read with the wrong schemas. SerDes of this process with an address of this client
        register their schemas again with the next message, and forget permanently deleted schemas.
        """
        topic, deleted = _topic_of(subject_name), self.get_versions(subject_name)
        if not deleted and not permanent:  # Pulsar would skip a version number
            raise SchemaNotFoundError("the topic has no schemas to delete", topic=topic, status=404)
        self._pulsar.delete(topic, force=permanent)
        name = self._binding.named(topic)
        for binding in self._binding.of_registry():
            binding.deleted(name, for_good=permanent)
        return deleted

    def test_compatibility(
        self,
        subject_name: str,
        schema: Schema,
        version: int | str = "latest",
        normalize: bool = False,  # noqa: ARG002
        verbose: bool = False,  # noqa: ARG002
    ) -> bool:
        """Whether the topic would accept ``schema``; the topic's strategy decides which versions are compared."""
        if version != "latest":
            raise unsupported(
                "test_compatibility with a version",
                "the topic's strategy decides which versions are compared",
            )
        topic = _topic_of(subject_name)
        given = self._parsed(topic, schema)
        if given.fault is None:
            return self._pulsar.compatibility(topic, given.text).compatible
        if self._held(subject_name, topic, given) is None:
            raise _bad(topic, given.fault)
        return True

    def self_contained(self, schema: Schema | str) -> str:
        """The text of ``schema`` with its references resolved.

        Raises:
            SchemaError: the references cannot be resolved, or Pulsar cannot store a schema.
            SchemaRegistryError: a referenced schema does not exist.
        """
        if isinstance(schema, str):
            return schema
        if not hasattr(schema, "schema_str"):
            raise ConfigError(f"expected a Schema, got {type(schema).__name__}", hint='Schema(text, "AVRO")')
        return self_contained(require_avro(schema), self._referred)

    def _parsed(self, topic: str, schema: Schema | str, *, to_register: bool = False) -> ParsedSchema:
        """Parse ``schema`` before it is sent: the registry would refuse a bad schema without naming the place.

        Raises:
            BadSchemaError: ``schema`` is not an Avro schema. An invalid schema has a fault: the registry may hold it.
        """
        try:
            text = self.self_contained(schema)
            return parse_given(text, limits=schema_limits(self._conf), to_register=to_register)
        except SchemaError as error:
            raise _bad(topic, error) from None

    def _referred(self, reference: SchemaReference) -> Schema:
        return require_avro(self.get_version(reference.subject, reference.version).schema)

    def clear_latest_caches(self) -> None:
        """Make SerDes with an address of this client ask for latest schemas again.

        While the registry is away, its last answers hold.
        """
        for binding in self._binding.of_registry():
            binding.expire()

    def clear_caches(self) -> None:
        """Make SerDes with an address of this client ask for everything again, except a second registry."""
        for binding in self._binding.of_registry():
            binding.forget_topics()

    # Not supported by Pulsar

    def get_subjects(self, *_: Any, **__: Any) -> list[str]:
        raise unsupported(
            "get_subjects", _NO_LIST, "pulsar-admin topics list shows all topics, with or without schemas"
        )

    def delete_version(self, *_: Any, **__: Any) -> int:
        raise unsupported("delete_version", _ALL_AT_ONCE, "use delete_subject(subject)")

    def get_compatibility(self, subject_name: str | None = None) -> str:  # noqa: ARG002
        raise unsupported(
            "get_compatibility", _STRATEGY, "use pulsar-admin namespaces get-schema-compatibility-strategy"
        )

    def set_compatibility(self, subject_name: str | None = None, level: str | None = None) -> str:  # noqa: ARG002
        raise unsupported("set_compatibility", _STRATEGY, _SET_STRATEGY)

    if not TYPE_CHECKING:  # so that type checkers report these methods as missing

        def __getattr__(self, name: str) -> Any:
            raise absent(self, name)


def absent(client: object, name: str) -> AttributeError:
    """The error for an attribute that a client does not have."""
    reason = _NOT_THERE.get(name, "no such attribute")
    return AttributeError(f"{type(client).__name__}.{name}: {reason}", name=name, obj=client)


# Version numbers: Confluent's registry counts from 1, Pulsar's from 0


def _to_confluent(version: int) -> int:
    """Confluent's number for Pulsar's: always one more, also where deletions leave gaps."""
    return version + 1


def _to_pulsar(version: object, topic: str) -> int:
    """Pulsar's number for Confluent's, which may be given as text, as Confluent's client allows.

    Raises:
        BadVersionError: ``version`` is not a whole number from 1 on.
    """
    number = _whole(version)
    if number is None or number < 1:
        raise BadVersionError(
            f'expected a version from 1 on, or "latest", got {version!r:.80}',
            topic=topic,
            status=422,
            hint="version numbers of compat are Pulsar's + 1",
        )
    return number - 1


def _whole(given: object) -> int | None:
    """The integer that ``given`` is, or whose digits it contains; None for anything else, such as a bool."""
    if isinstance(given, str):
        return int(given) if re.fullmatch("[0-9]{1,20}", given) else None
    if isinstance(given, bool):
        return None
    try:
        return operator.index(given)  # type: ignore[arg-type]  # TypeError for all others
    except TypeError:
        return None


def _bad(topic: str, fault: SchemaError) -> BadSchemaError:
    return BadSchemaError(fault.message, topic=topic, path=fault.path, hint=fault.hint, status=422)


def _topic_of(subject: object) -> str:
    """The topic of a subject, by Confluent's topic name strategy.

    Raises:
        SchemaRegistryError: the subject is no name of a topic, or that of a topic's keys.
    """
    if not isinstance(subject, str) or not subject:
        raise _bad_subject(f"expected a subject, got {subject!r:.80}", "a subject is a topic name, or TOPIC-value")
    if subject.endswith("-key"):
        raise unsupported(
            f"subject {subject!r:.120}", "in Pulsar, a topic's schema describes its values", "use TOPIC-value"
        )
    topic = subject.removesuffix("-value")
    try:
        TopicName.parse(topic)
    except SerdesError as error:
        raise _bad_subject(error.message, error.hint, topic) from None
    return topic


def _bad_subject(message: str, hint: str | None, topic: str | None = None) -> SchemaRegistryError:
    return SchemaRegistryError(message, topic=topic, hint=hint, status=422, code=42208)


def _found(subject: str, info: SchemaInfo) -> RegisteredSchema:
    return _registered(subject, info.version, Schema(info.text, info.type))


def _registered(subject: str, version: int, schema: Schema) -> RegisteredSchema:
    """``schema`` under Pulsar's ``version``."""
    return RegisteredSchema(subject, _to_confluent(version), version, None, schema)


def _refuse_formats(method: str, fmt: str | None, deleted: bool) -> None:
    if fmt:
        raise unsupported(f"{method} with a format", "Pulsar returns a schema as it was registered")
    if deleted:
        raise unsupported(f"{method} of deleted schemas", "Pulsar does not keep deleted schemas")
