"""Registries that are neither Pulsar's nor of Confluent's API, as far as reading needs them: a schema by its id.

Source: the OpenAPI documents of Apicurio Registry 2 and 3; Azure's REST reference ("Get Schema By Id", 2023-07-01);
``GetSchemaVersion`` of the AWS Glue API reference.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final
from urllib.parse import quote

from streamnative_serdes._config import named, schema_limits
from streamnative_serdes._http.api_request import ApiRequest, is_segment
from streamnative_serdes._http.reply import Expected, Reply
from streamnative_serdes._schema import SchemaReference, self_contained
from streamnative_serdes.errors import (
    AuthenticationError,
    AuthorizationError,
    ConfigError,
    MissingEndpointError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
)

from .confluent_info import ConfluentSchema
from .rest import Api, Rest, RestClient, refused

_PASSING: Final = frozenset({429, 500, 502, 503, 504})
Key = tuple[Any, str, Any]  # (registry, kind, id), as _reading.framings.ForeignId


class _ByIdClient(RestClient):
    """The requests of the two clients over HTTP."""

    KIND: ClassVar[str]
    ADDRESS: ClassVar[str]

    def __init__(
        self,
        conf: Mapping[str, Any],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.rest = Rest(conf, _api(conf, self.KIND, self.ADDRESS), clock=clock, sleep=sleep)
        self._most = schema_limits(conf).size

    def self_contained(self, schema: ConfluentSchema) -> str:
        """The text of a schema, which refers to no other schemas."""
        return schema.schema_str

    def _text(self, path: str, what: str) -> str:
        request = self._get(path, what)
        return self.rest.understood(request, self.rest.send(request), str, _schema_text)

    def _get(self, path: str, what: str) -> ApiRequest:
        return self.rest.request("GET", path, f"read {what}", "the right to read schemas")


def _schema_text(reply: Reply) -> str:
    """Raises ValueError: the body is empty, or a page, as of a proxy where users sign in."""
    if not reply.body.strip() or reply.is_page:
        raise ValueError("the text of a schema")
    return reply.body.decode("utf-8-sig", "replace")


class ApicurioClient(_ByIdClient):
    """Apicurio's own API, version 2 or 3, as the path of ``apicurio.registry.url`` says."""

    KIND = "an Apicurio registry"
    ADDRESS = "the address of Apicurio's own API with its path, such as http://localhost:8080/apis/registry/v2"

    def __init__(self, conf: Mapping[str, Any], **clocks: Any) -> None:
        super().__init__(conf, **clocks)
        version = self.rest.urls[0].rstrip("/").rpartition("/")[2]
        if version not in ("v2", "v3"):
            raise ConfigError(
                "apicurio.registry.url: expected a path that ends with the version of the API, v2 or v3",
                hint=f"give {self.ADDRESS}; `framings` of Confluent take the address that ends with /apis/ccompat/v7",
            )
        self._content = "/content" if version == "v3" else ""

    def by_key(self, key: Key) -> ConfluentSchema:
        """The schema with this ``globalId`` or ``contentId``."""
        _, kind, number = key
        path = f"/ids/{kind}s/{number}"
        return self._schema(path, f"{path}/references", f"the schema with {kind} {number}")

    def self_contained(self, schema: ConfluentSchema) -> str:
        """The text of a schema, with the types that it refers to written out inside.

        Raises:
            SchemaError: the references form a cycle or define a name twice, or the schemas are too large together.
        """
        return self_contained(schema, self._referred, self._most)

    def _referred(self, reference: SchemaReference) -> ConfluentSchema:
        path = f"{reference.subject}/versions/{reference.version}"
        if not all(map(is_segment, path[1:].split("/"))):
            raise SchemaError(f"expected a reference to a version of an artifact, got one to {path!r:.200}")
        return self._schema(f"{path}{self._content}", f"{path}/references", f"the schema of {reference.name}")

    def _schema(self, path: str, references: str, what: str) -> ConfluentSchema:
        text = self._text(path, what)
        try:
            found = self.rest.ask(self._get(references, f"the references of {what}"), _references)
        except SchemaNotFoundError as error:  # the schema is there, so its id is not unknown
            raise SchemaRegistryError(error.message, status=error.status, reason=error.reason, url=error.url) from error
        return ConfluentSchema(text, references=found)


def _references(tree: Any) -> tuple[SchemaReference, ...]:
    """``[{"groupId": null, "artifactId": "a", "version": "1", "name": "org.example.Item"}]``."""
    if not isinstance(tree, list):
        raise ValueError("a list of references")
    found = []
    for one in tree:
        if not isinstance(one, dict) or not all(isinstance(one.get(k), str) for k in ("artifactId", "version", "name")):
            raise ValueError('references with "artifactId", "version" and "name"')
        if not isinstance(one.get("groupId"), str | None):
            raise ValueError('references whose "groupId" is text or null')
        group = quote(one.get("groupId") or "default", safe="")
        path = f"/groups/{group}/artifacts/{quote(one['artifactId'], safe='')}"
        version: Any = quote(one["version"], safe="")  # text, such as 1.0.0
        found.append(SchemaReference(one["name"], path, version))
    return tuple(found)


class AzureClient(_ByIdClient):
    """The Azure Schema Registry of an Event Hubs namespace."""

    KIND = "an Azure Schema Registry"
    ADDRESS = "the address of the namespace, such as https://NAMESPACE.servicebus.windows.net"

    def by_key(self, key: Key) -> ConfluentSchema:
        """The schema with this id, 32 hexadecimal digits."""
        path = f"/$schemaGroups/$schemas/{key[2]}?api-version=2023-07-01"
        return ConfluentSchema(self._text(path, f"the schema with id {key[2]}"))


def _api(conf: Mapping[str, Any], kind: str, address: str) -> Api:
    option = named(conf, "schema.registry.url")

    def odd(_request: ApiRequest, _reply: Reply) -> str:
        return f"is {option} {address}?"

    def refusal(request: ApiRequest, reply: Reply, sign_in_hint: str) -> SchemaRegistryError:
        by_status = {401: AuthenticationError, 403: AuthorizationError}
        missing = MissingEndpointError if _is_elsewhere(reply) else SchemaNotFoundError
        error = missing if reply.status == 404 else by_status.get(reply.status, SchemaRegistryError)
        hints = {
            AuthenticationError: sign_in_hint,
            AuthorizationError: f"the user needs {request.right}",
            SchemaNotFoundError: None,
        }
        return refused(error, request, reply, hints.get(error, odd(request, reply)))

    return Api(
        kind=kind,
        option=option,
        address=address,
        away=f"is {option} the address of the registry, and is it running?",
        expected=Expected("a port for Kafka clients", address, "the registry's https port"),
        passes=lambda _, reply: reply.status in _PASSING,
        refusal=refusal,
        odd=odd,
    )


def _is_elsewhere(reply: Reply) -> bool:
    """Whether a 404 is a server's answer to a path that it does not know: no object, or Apicurio's general error."""
    try:
        tree = reply.json()
    except ValueError:
        return True
    return not isinstance(tree, dict) or tree.get("name") == "NotFoundException"


class GlueClient:
    """AWS Glue Schema Registry, through boto3 or another object with boto3's method ``get_schema_version``."""

    answered: frozenset[str] = frozenset()

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self._given, self._client = conf["glue.registry"], None
        self._lock = threading.RLock()  # boto3.client() is not for two threads at once
        self.calls: Counter[str] = Counter()

    def met(self, answered: Iterable[str]) -> None:
        """boto3 retries by rules of its own."""

    def close(self) -> None:
        """The next call makes another client of a region."""
        self._client = None

    def after_fork(self) -> None:
        """In a child process: a client of its own, since two processes must not share a socket."""
        self._client, self._lock, self.calls = None, threading.RLock(), Counter()

    def self_contained(self, schema: ConfluentSchema) -> str:
        """The text of a schema; Glue has no references."""
        return schema.schema_str

    def by_key(self, key: Key) -> ConfluentSchema:
        """The schema version with this UUID. Raises SchemaError: it is not of type AVRO."""
        client = self._made()
        self.calls["GetSchemaVersion"] += 1
        try:
            found = client.get_schema_version(SchemaVersionId=key[2])
        except Exception as error:
            raise _glue_error(error, key[2]) from error
        if not isinstance(found, Mapping):
            raise SchemaRegistryError(
                f"cannot read schema version {key[2]} from AWS Glue: expected a dict, got {type(found).__name__}",
                hint="get_schema_version has to return what boto3's method returns",
            )
        text, kind = found.get("SchemaDefinition"), found.get("DataFormat", "AVRO")
        if not isinstance(text, str):
            raise SchemaNotFoundError(f"AWS Glue has no definition for schema version {key[2]}")
        if kind != "AVRO":
            raise SchemaError(f"schema version {key[2]}: expected a schema of type AVRO, got type {kind}")
        return ConfluentSchema(text)

    def _made(self) -> Any:
        if not isinstance(self._given, str):
            return self._given
        with self._lock:
            if self._client is None:
                self._client = self._of_region(self._given)
            return self._client

    @staticmethod
    def _of_region(region: str) -> Any:
        try:
            import boto3  # type: ignore[import-not-found, import-untyped, unused-ignore] # only where it is asked for
        except ImportError:
            raise ConfigError(
                "glue.registry names a region, and boto3 is not installed",
                hint="install boto3, or give an object with get_schema_version",
            ) from None
        try:
            return boto3.client("glue", region_name=region)
        except Exception as error:  # of botocore: the region, or the files with its configuration
            raise ConfigError(f"glue.registry: boto3 makes no client of region {region!r}: {error}") from error


_GLUE_ERRORS: Final[Mapping[str, type[SchemaRegistryError]]] = {
    "EntityNotFoundException": SchemaNotFoundError,
    "AccessDeniedException": AuthorizationError,
    "UnrecognizedClientException": AuthenticationError,
    "ExpiredTokenException": AuthenticationError,
    "InvalidSignatureException": AuthenticationError,
    "NoCredentialsError": AuthenticationError,
    "InvalidInputException": SchemaRegistryError,
}


def _glue_error(error: Exception, version: object) -> SchemaRegistryError:
    """The typed error of a failed call: boto3 says what failed by a code, or else by the name of the class."""
    response: Any = getattr(error, "response", None)
    about = response.get("Error") if isinstance(response, Mapping) else None
    code = str((about.get("Code") if isinstance(about, Mapping) else None) or type(error).__name__)
    kind = _GLUE_ERRORS.get(code, RegistryUnavailableError)
    hint = "the role needs glue:GetSchemaVersion" if kind is AuthorizationError else None
    return kind(f"cannot read schema version {version} from AWS Glue: {str(error)[:500]}", reason=code, hint=hint)


FOREIGN_CLIENTS: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "apicurio.": ApicurioClient,
    "azure.": AzureClient,
    "glue.": GlueClient,
}
