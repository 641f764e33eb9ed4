"""SchemaRegistryClient with the methods of Confluent's, as far as Pulsar's registry can serve them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from streamnative_serdes.binding import Binding
from streamnative_serdes.config import schema_limits
from streamnative_serdes.errors import ConfigError, SchemaError, SerdesError
from streamnative_serdes.known import holds
from streamnative_serdes.schema import Schema as ParsedSchema
from streamnative_serdes.schema import parse
from streamnative_serdes.schema_registry import SchemaInfo
from streamnative_serdes.schema_registry import SchemaRegistryClient as PulsarClient

from . import options, references
from .error import BadSchemaError, UnknownSchemaError, refusal
from .schema import RegisteredSchema, Schema, SchemaReference

_NO_IDS = "Pulsar counts versions per topic and has no ids beyond it"
_NO_LIST = "Pulsar's registry does not list what it holds"
_ALL_AT_ONCE = "Pulsar deletes all schemas of a topic at once"
_STRATEGY = "compatibility is a policy of the namespace or topic"
_SET_STRATEGY = "use pulsar-admin namespaces set-schema-compatibility-strategy"

# Methods of Confluent's client that no one has here, and why.
_NOT_THERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("get_schema_by_guid", "get_subjects_by_schema_id", "get_schema_versions"), _NO_IDS),
    **dict.fromkeys(("get_config", "set_config", "delete_config", "test_compatibility_all_versions"), _STRATEGY),
    **dict.fromkeys(
        ("get_mode", "update_mode", "delete_mode", "get_global_mode", "update_global_mode"),
        "Pulsar's registry has no modes",
    ),
    "get_latest_with_metadata": "Pulsar's registry keeps no metadata",
    "get_referenced_by": "Pulsar's registry knows no references: schemas are registered self-contained",
    "get_contexts": "Pulsar has tenants and namespaces instead",
    **dict.fromkeys(
        ("get_associations_by_resource_name", "create_association", "delete_associations"),
        "in Pulsar, a schema belongs to its topic",
    ),
}


class SchemaRegistryClient:
    """Pulsar's schema registry behind the interface of Confluent's client.

    Args:
        conf: ``url`` is Pulsar's HTTP address, or ``mock://scope`` for a registry in the memory of this process.
            Confluent's other keys as docs/migration.md lists them; those of docs/config.md may stand here too.

    A subject is a topic: ``orders-value`` and ``orders`` are both the topic ``orders``. ``orders-key`` is refused, for
    a topic's schema is that of its values. Versions are Pulsar's: they count from 0, per topic, and ``schema_id`` is
    the version, so it means nothing without its topic. Nothing is kept between calls. Threads may share a client, and
    it pickles.

    Raises:
        ConfigError: unknown key, bad value, or a key that Pulsar cannot serve.

    Methods raise SchemaRegistryError, which has Confluent's ``http_status_code``, ``error_code`` and
    ``error_message``; for an invalid schema it is a SchemaError too, and nothing was sent.
    """

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self._conf = options.for_client(conf)
        self._given = dict(conf)

    @staticmethod
    def new_client(conf: Mapping[str, Any]) -> SchemaRegistryClient:
        return SchemaRegistryClient(conf)

    def config(self) -> Mapping[str, Any]:
        """The configuration as it was given."""
        return MappingProxyType(self._given)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of docs/config.md that it stands for."""
        return MappingProxyType(self._conf)

    @property
    def _pulsar(self) -> PulsarClient:
        return Binding.shared(self._conf).client

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], frozenset[str]]:
        return type(self), (self._given,), self._pulsar.answered

    def __setstate__(self, answered: frozenset[str]) -> None:
        self._pulsar.met(answered)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close idle connections; a later call opens new ones."""
        self._pulsar.close()

    # Schemas

    def register_schema(self, subject_name: str, schema: Schema, normalize_schemas: bool = False) -> int:
        """Register ``schema``, with all that it refers to inside; gives its version on this topic, new or known."""
        return self.register_schema_full_response(subject_name, schema, normalize_schemas).schema_id

    def register_schema_full_response(
        self,
        subject_name: str,
        schema: Schema,
        normalize_schemas: bool = False,  # noqa: ARG002 - Pulsar compares schemas as parsed
    ) -> RegisteredSchema:
        topic = topic_of(subject_name)
        text = self._parsed(topic, schema, to_register=True).text
        version = self._pulsar.register(topic, text)
        return RegisteredSchema(subject_name, version, version, None, Schema(text))

    def lookup_schema(
        self,
        subject_name: str,
        schema: Schema,
        normalize_schemas: bool = False,  # noqa: ARG002
        fmt: str | None = None,
        deleted: bool = False,
    ) -> RegisteredSchema:
        """The version of ``schema`` on this topic.

        Raises:
            SchemaNotFoundError: the topic has none that is the same.
        """
        _refuse_formats("lookup_schema", fmt, deleted)
        topic, limits = topic_of(subject_name), schema_limits(self._conf)
        wanted = self._parsed(topic, schema)
        for info in reversed(self._pulsar.all_versions(topic)):
            if holds(info, wanted, limits):
                return _registered(subject_name, info)
        raise UnknownSchemaError("the topic has no such schema", topic=topic, status=404)

    def get_latest_version(self, subject_name: str, fmt: str | None = None) -> RegisteredSchema:
        return self.get_version(subject_name, "latest", fmt=fmt)

    def get_version(
        self,
        subject_name: str,
        version: int | Literal["latest"] = "latest",
        deleted: bool = False,  # noqa: ARG002 - what Pulsar deleted is gone, so asking for it too changes nothing
        fmt: str | None = None,
    ) -> RegisteredSchema:
        """The schema of ``version``, counted from 0."""
        _refuse_formats("get_version", fmt, False)
        topic = topic_of(subject_name)
        info = self._pulsar.latest(topic) if version == "latest" else self._pulsar.by_version(topic, int(version))
        return _registered(subject_name, info)

    def get_schema(
        self,
        schema_id: int,
        subject_name: str | None = None,
        fmt: str | None = None,
        reference_format: str | None = None,
    ) -> Schema:
        """The schema of an id on ``subject_name``, which must be given: an id is a version of one topic."""
        if subject_name is None:
            raise refusal("get_schema without a subject", _NO_IDS, "use get_version(subject, version)")
        _refuse_formats("get_schema", fmt or reference_format, False)
        return self.get_version(subject_name, schema_id).schema

    def get_versions(
        self, subject_name: str, deleted: bool = False, deleted_only: bool = False, offset: int = 0, limit: int = -1
    ) -> list[int]:
        """The versions that are not deleted, in order; none is an empty list, where Confluent's raises."""
        _refuse_formats("get_versions", None, deleted or deleted_only)
        versions = [info.version for info in self._pulsar.all_versions(topic_of(subject_name))]
        return versions[offset : None if limit < 0 else offset + limit]

    def get_schema_types(self) -> list[str]:
        return ["AVRO"]

    def delete_subject(self, subject_name: str, permanent: bool = False) -> list[int]:
        """Delete all schemas of the topic; gives their versions.

        Later versions count on, unless ``permanent``: then they begin at 0 again, and what is still in the topic
        is read by other schemas than it was written with.
        """
        versions = self.get_versions(subject_name)
        self._pulsar.delete(topic_of(subject_name), force=permanent)
        return versions

    def test_compatibility(
        self,
        subject_name: str,
        schema: Schema,
        version: int | str = "latest",
        normalize: bool = False,  # noqa: ARG002
        verbose: bool = False,  # noqa: ARG002
    ) -> bool:
        """Whether the topic would take ``schema``, by its strategy; with which versions is the strategy's matter."""
        if version != "latest":
            raise refusal("test_compatibility with one version", "Pulsar compares as the topic's strategy says")
        topic = topic_of(subject_name)
        return self._pulsar.compatibility(topic, self._parsed(topic, schema).text).compatible

    def self_contained(self, schema: Schema | str) -> str:
        """The text of ``schema`` with all that it refers to inside.

        Raises:
            SchemaError: see :func:`references.self_contained`.
            SchemaRegistryError: a reference leads nowhere.
        """
        if isinstance(schema, str):
            return schema
        if not hasattr(schema, "schema_str"):
            raise ConfigError(f"expected a Schema, got {type(schema).__name__}", hint='Schema(text, "AVRO")')
        return references.self_contained(schema, self._referred)

    def _parsed(self, topic: str, schema: Schema | str, *, to_register: bool = False) -> ParsedSchema:
        """``schema`` as it goes to the registry, which would say of a bad one that it is, but not where.

        Raises:
            BadSchemaError: it is no Avro schema.
        """
        text = self.self_contained(schema)
        try:
            return parse(text, limits=schema_limits(self._conf), to_register=to_register)
        except SchemaError as error:
            raise BadSchemaError(error.message, topic=topic, path=error.path, hint=error.hint, status=422) from None

    def _referred(self, reference: SchemaReference) -> Schema:
        return self.get_version(reference.subject, reference.version).schema

    # What Pulsar cannot serve

    def get_subjects(self, *_: Any, **__: Any) -> list[str]:
        raise refusal("get_subjects", _NO_LIST, "pulsar-admin topics list names topics, with schemas or without")

    def delete_version(self, *_: Any, **__: Any) -> int:
        raise refusal("delete_version", _ALL_AT_ONCE, "use delete_subject(subject)")

    def get_compatibility(self, subject_name: str | None = None) -> str:  # noqa: ARG002
        raise refusal("get_compatibility", _STRATEGY, "use pulsar-admin namespaces get-schema-compatibility-strategy")

    def set_compatibility(self, subject_name: str | None = None, level: str | None = None) -> str:  # noqa: ARG002
        raise refusal("set_compatibility", _STRATEGY, _SET_STRATEGY)

    def clear_latest_caches(self) -> None:
        """Nothing to do: no answer is kept."""

    clear_caches = clear_latest_caches

    if not TYPE_CHECKING:  # a type checker shall find them missing

        def __getattr__(self, name: str) -> Any:
            reason = _NOT_THERE.get(name, "no such attribute")
            raise AttributeError(f"{type(self).__name__}.{name}: {reason}", name=name, obj=self)


def topic_of(subject: str) -> str:
    """The topic that a subject of Confluent's topic strategy names.

    Raises:
        SerdesError: it is a key's, or no text.
    """
    if not subject:
        raise SerdesError(
            f"expected a subject, got {subject!r:.80}", hint="a subject is a topic's name, or TOPIC-value"
        )
    if subject.endswith("-key"):
        raise refusal(
            f"subject {subject!r:.120}", "in Pulsar, a topic's schema is that of its values", "use TOPIC-value"
        )
    return subject.removesuffix("-value")


def _registered(subject: str, info: SchemaInfo) -> RegisteredSchema:
    return RegisteredSchema(subject, info.version, info.version, None, Schema(info.text, info.type))


def _refuse_formats(method: str, fmt: str | None, deleted: bool) -> None:
    if fmt:
        raise refusal(f"{method} with a format", "Pulsar gives a schema as it was registered")
    if deleted:
        raise refusal(f"{method} of deleted schemas", "what Pulsar deleted is gone")
