"""ConfluentRegistryClient: a method for each endpoint of Confluent's REST API that this package needs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import quote
from uuid import UUID

from streamnative_serdes._config import named, schema_limits
from streamnative_serdes._http.api_request import ApiRequest, is_segment
from streamnative_serdes._schema import SchemaReference, self_contained
from streamnative_serdes.errors import MissingEndpointError, SchemaError, SchemaNotFoundError, SerdesError

from . import confluent_info as info
from .confluent_api import confluent_api
from .confluent_info import MAX_ID, ConfluentSchema
from .rest import Rest, RestClient

_READ, _WRITE = "the right to read the subject", "the right to write to the subject"


class ConfluentRegistryClient(RestClient):
    """A registry with Confluent's REST API: Confluent's own, Apicurio's ``ccompat``, Karapace, Redpanda, KoP's.

    It caches nothing; threads may share it.

    Args:
        conf: the validated options, as ``config.confluent_conf`` returns them for a second registry, or as
            ``config.parse(REGISTRY_OPTIONS, ...)`` does.
        clock: monotonic time in seconds.
        sleep: waits that many seconds.

    Subjects are given as text. Every method retries transient failures for ``retries.total.ms``, and raises:

    - SchemaNotFoundError: no such id, GUID, subject, version or schema;
    - MissingEndpointError: the registry does not have this endpoint, or the address is not that of such a registry;
    - AuthenticationError, AuthorizationError: the credentials are invalid, or lack a permission;
    - RegistryUnavailableError: no usable response in time;
    - SchemaRegistryError: the registry refused otherwise, or sent a response that such a registry would not send;
    - SerdesError: ``subject`` cannot be part of an address.

    ``error_code`` of an error is Confluent's code, and ``reason`` its message.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.rest = Rest(conf, confluent_api(conf), clock=clock, sleep=sleep)
        self._limits = schema_limits(conf)
        self._option = named(conf, "schema.registry.url")

    def __repr__(self) -> str:
        return f"ConfluentRegistryClient({','.join(self.rest.urls)})"

    # Schemas

    def by_id(self, id: int) -> ConfluentSchema:  # noqa: A002 - Confluent's word for it
        """The schema with this id, of whatever type."""
        if not 0 <= id <= MAX_ID:
            raise SchemaNotFoundError(f"expected a schema id from 0 to {MAX_ID}, got {id}")
        return self.rest.ask(self._get(f"/schemas/ids/{id}", f"read the schema with id {id}"), info.schema)

    def by_guid(self, guid: bytes | str) -> ConfluentSchema:
        """The schema with this GUID: 16 bytes, or its text.

        Raises:
            MissingEndpointError: this registry does not support GUIDs at all.
        """
        text = _guid(guid)
        try:
            return self.rest.ask(self._get(f"/schemas/guids/{text}", f"read the schema with GUID {text}"), info.schema)
        except MissingEndpointError as error:
            error.hint = f"the registry does not support GUIDs, or {self._option} is not its address"
            raise

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> ConfluentSchema:
        """A version of the subject's schema; they start at 1. ``deleted``: also if it was deleted, but not for good."""
        path = f"{_path(subject)}/versions/{version}{'?deleted=true' if deleted else ''}"
        request = self._get(path, f"read version {version} of subject {_shown(subject)}")
        if version != "latest" and not 1 <= version <= MAX_ID:
            raise SchemaNotFoundError(f"cannot {request.operation}: expected a version from 1", url=request.url)
        return self.rest.ask(request, info.schema)

    def schema(self, id: int) -> str:  # noqa: A002
        """The Avro schema with this id as one text, with the types that it refers to written out inside.

        Raises:
            SchemaError: as :meth:`self_contained` says.
        """
        return self.self_contained(self.by_id(id))

    def self_contained(self, schema: ConfluentSchema) -> str:
        """The text of an Avro schema, with the types that it refers to written out inside.

        Raises:
            SchemaError: the schema or a schema that it refers to is not of type AVRO, the references form a cycle or
                define a name twice, or all schemas together are larger than ``max.schema.size``.
        """
        return self_contained(_avro(schema), self._referred, self._limits.size)

    def _referred(self, reference: SchemaReference) -> ConfluentSchema:
        if not is_segment(reference.subject):
            raise SchemaError(f"expected a reference to a subject, got one to {reference.subject!r:.80}")
        # A deleted version still defines a type of the schemas that refer to it, which their ids still name.
        return _avro(self.version(reference.subject, reference.version, deleted=True))

    # Subjects

    def subjects(self) -> list[str]:
        """All subjects."""
        return self.rest.ask(self._get("/subjects", "list the subjects"), info.subjects)

    def versions(self, subject: str) -> list[int]:
        """The subject's versions that are not deleted, in order."""
        request = self._get(f"{_path(subject)}/versions", f"list the versions of subject {_shown(subject)}")
        return self.rest.ask(request, info.versions)

    def subject_versions(self, id: int) -> list[tuple[str, int]]:  # noqa: A002
        """The subjects that have the schema with this id, each with its version."""
        request = self._get(f"/schemas/ids/{id}/versions", f"list the subjects of the schema with id {id}")
        return self.rest.ask(request, info.subject_versions)

    def compatibility(self, subject: str) -> str:
        """The subject's compatibility level, such as ``BACKWARD``; by default, the registry's level."""
        of_all = self._get("/config", "read the compatibility level")
        try:
            path = f"/config/{_quoted(subject)}?defaultToGlobal=true"
            return self.rest.ask(self._get(path, f"read the compatibility level of {_shown(subject)}"), info.level)
        except SchemaNotFoundError:  # of registries that ignore defaultToGlobal
            return self.rest.ask(of_all, info.level)

    def lookup(self, subject: str, schema: str | ConfluentSchema) -> tuple[int, int]:
        """Id and version of this schema in the subject.

        Raises:
            SchemaNotFoundError: the subject does not exist, or does not have this schema.
        """
        request = self._post(_path(subject), f"look up a schema of subject {_shown(subject)}", _READ, schema)
        return self.rest.ask(request, info.identified)

    def register(self, subject: str, schema: str | ConfluentSchema) -> int:
        """Register a schema, and return its id, new or existing. Registering twice is harmless, so retries are safe.

        Raises:
            IncompatibleSchemaError: the subject's compatibility level refuses the new schema.
            InvalidSchemaError: the registry does not accept this text or type.
        """
        path = f"{_path(subject)}/versions"
        request = self._post(path, f"register a schema in subject {_shown(subject)}", _WRITE, schema)
        return self.rest.ask(request, info.registered_id)

    def _get(self, path: str, operation: str) -> ApiRequest:
        return self.rest.request("GET", path, operation, _READ)

    def _post(self, path: str, operation: str, right: str, schema: str | ConfluentSchema) -> ApiRequest:
        given = ConfluentSchema(schema) if isinstance(schema, str) else schema
        body: dict[str, Any] = {"schema": given.schema_str}
        if given.schema_type != "AVRO":  # the default, and the only type that old registries know
            body["schemaType"] = given.schema_type
        if given.references:
            body["references"] = [reference.to_dict() for reference in given.references]
        return self.rest.request("POST", path, operation, right, body=json.dumps(body).encode())


def _avro(schema: ConfluentSchema) -> ConfluentSchema:
    if schema.schema_type != "AVRO":
        raise SchemaError(f"expected a schema of type AVRO, got type {schema.schema_type}")
    return schema


def _guid(guid: bytes | str) -> str:
    try:
        return str(UUID(bytes=guid) if isinstance(guid, bytes) else UUID(guid))
    except ValueError:
        raise SchemaNotFoundError(f"expected a GUID of 16 bytes, got {guid!r:.80}") from None


def _path(subject: str) -> str:
    return f"/subjects/{_quoted(subject)}"


def _quoted(subject: object) -> str:
    if not isinstance(subject, str) or not is_segment(subject):
        raise SerdesError(f"expected a subject, got {subject!r:.80}", hint="such as TOPIC-value")
    return quote(subject, safe="")


def _shown(subject: str) -> str:
    return f"{subject!r:.200}"
