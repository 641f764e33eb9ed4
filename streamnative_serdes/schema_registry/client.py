"""SchemaRegistryClient: one method for each schema endpoint of Pulsar's admin REST API."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from streamnative_serdes._http import strangers
from streamnative_serdes._http.address import base_urls, reachable
from streamnative_serdes._http.call import API, Call
from streamnative_serdes._http.reply import Reply, quoted
from streamnative_serdes._http.retry import Retrier
from streamnative_serdes.errors import SchemaNotFoundError, SchemaRegistryError

from . import schema_info
from .refusal import incompatible, refusal
from .schema_info import MAX_VERSION, Compatibility, SchemaInfo
from .topic_name import TopicName

_T = TypeVar("_T")
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_READ, _WRITE, _ADMIN = "the right to produce or consume", "the right to produce", "to be an admin of the tenant"


class SchemaRegistryClient:
    """Pulsar's schema registry over HTTP. It caches nothing; threads may share it.

    Args:
        conf: the validated options, as ``config.parse(REGISTRY_OPTIONS, ...)`` returns them.
        clock: monotonic time in seconds.
        sleep: waits that many seconds.

    Every method takes a topic name in the forms of :meth:`TopicName.parse`, or a parsed one, retries transient
    failures for ``retries.total.ms``, and raises:

    - SchemaNotFoundError: no such schema, version or namespace;
    - AuthenticationError, AuthorizationError: the credentials are invalid, or lack a permission;
    - RegistryUnavailableError: no usable response in time;
    - SchemaRegistryError: the registry refused otherwise, or sent a response that Pulsar would not send;
    - SerdesError: ``topic`` is not a valid topic name.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._urls = base_urls(conf["schema.registry.url"])
        self._tenant, self._namespace = conf["pulsar.tenant"], conf["pulsar.namespace"]
        from .transport import Transport  # importing requests opens a socket, to detect IPv6

        self._transport = Transport(conf, clock=clock)
        self._retrier = Retrier(conf, clock=clock, sleep=sleep)
        TopicName.parse("checked", self._tenant, self._namespace)

    def __repr__(self) -> str:
        return f"SchemaRegistryClient({','.join(self._urls)})"

    @property
    def calls(self) -> Counter[str]:
        """HTTP requests sent by this process so far, retries and redirects included, by method."""
        return self._transport.calls

    @property
    def answered(self) -> frozenset[str]:
        """Addresses that have ever answered, an OAuth issuer's included; these are retried for ``retries.total.ms``."""
        return frozenset(self._transport.answered)

    def met(self, answered: Iterable[str]) -> None:
        """Note that these addresses have answered another process."""
        self._transport.answered.update(answered)

    def close(self) -> None:
        """Close the connections. The client stays usable: the next call opens new ones."""
        self._transport.close()

    def latest(self, topic: str | TopicName, *, patience: float | None = None) -> SchemaInfo:
        """The topic's latest schema; ``patience`` limits all attempts, in seconds, below ``retries.total.ms``."""
        call = self._call("GET", topic, "schema", "read the latest schema", _READ, patience=patience)
        return self._ask(call, schema_info.schema_info)

    def by_version(self, topic: str | TopicName, version: int, *, patience: float | None = None) -> SchemaInfo:
        """The schema with this version; ``patience`` as in :meth:`latest`."""
        call = self._call(
            "GET", topic, f"schema/{version}", "read the schema", _READ, version=version, patience=patience
        )
        if not 0 <= version <= MAX_VERSION:
            raise SchemaNotFoundError(
                f"expected a version from 0 to {MAX_VERSION}", topic=call.topic, version=version, url=call.url
            )
        found = self._ask(call, schema_info.schema_info)
        if found.version != version:
            raise SchemaRegistryError(
                f"expected version {version}, got version {found.version} from the registry",
                topic=call.topic,
                version=version,
                url=call.url,
            )
        return found

    def all_versions(self, topic: str | TopicName) -> list[SchemaInfo]:
        """All schemas that are not deleted, oldest first; an empty list if there are none."""
        return self._ask(self._call("GET", topic, "schemas", "list the schemas", _READ), schema_info.schema_infos)

    def register(
        self,
        topic: str | TopicName,
        text: str,
        *,
        type: str = "AVRO",  # noqa: A002 - Pulsar's word for it
        properties: Mapping[str, str] = _NONE,
    ) -> int:
        """Register a schema and return its version, new or existing. It is one idempotent POST, so retries are safe.

        Raises:
            IncompatibleSchemaError: the schema is new, and the topic's compatibility strategy refuses it.
            InvalidSchemaError: Pulsar refuses this text or type.
        """
        call = self._post(topic, "schema", "register a schema", _WRITE, text, type, properties)
        return self._ask(call, schema_info.registered_version)

    def compatibility(
        self,
        topic: str | TopicName,
        text: str,
        *,
        type: str = "AVRO",  # noqa: A002
        properties: Mapping[str, str] = _NONE,
    ) -> Compatibility:
        """Whether the topic would accept this schema. Pulsar requires a tenant admin for this call."""
        call = self._post(topic, "compatibility", "check a schema's compatibility", _ADMIN, text, type, properties)
        reply = self._send(call)
        if incompatible(reply):
            return Compatibility(False, None, reply.words())
        return self._understood(call, reply, schema_info.compatibility)

    def delete(self, topic: str | TopicName, *, force: bool = False) -> int | None:
        """Delete all schemas of the topic. A retry after a lost response deletes again, which is harmless.

        Returns:
            The version number that the deletion used up: the next schema gets a higher one. None with ``force``, after
            which versions start at 0 again.
        """
        leaf = "schema?force=true" if force else "schema"
        return self._ask(self._call("DELETE", topic, leaf, "delete the schemas", _ADMIN), schema_info.version)

    def _post(
        self,
        topic: str | TopicName,
        leaf: str,
        operation: str,
        right: str,
        text: str,
        kind: str,
        properties: Mapping[str, str],
    ) -> Call:
        # The member is "schema" in requests but "data" in responses; Pulsar answers 500 to the wrong one.
        body = json.dumps({"type": kind, "schema": text, "properties": dict(properties)}).encode()
        return self._call("POST", topic, leaf, operation, right, body=body)

    def _call(self, method: str, topic: str | TopicName, leaf: str, operation: str, right: str, **more: Any) -> Call:
        name = topic if isinstance(topic, TopicName) else TopicName.parse(topic, self._tenant, self._namespace)
        urls = tuple(f"{reachable(base)}{API}{name.path}/{leaf}" for base in self._urls)
        return Call(method, urls, operation, right, name.given, **more)

    def _ask(self, call: Call, meaning: Callable[[Any], _T]) -> _T:
        return self._understood(call, self._send(call), meaning)

    def _send(self, call: Call) -> Reply:
        try:
            return self._retrier.run(call, lambda deadline: self._transport.attempt(call, deadline))
        except SchemaRegistryError as error:
            error.at(topic=call.topic, version=call.version)
            raise

    def _understood(self, call: Call, reply: Reply, meaning: Callable[[Any], _T]) -> _T:
        """Parse a successful response by ``meaning``, which raises ValueError with what it expected."""
        if reply.status not in (200, 202):
            raise refusal(call, reply, sign_in_hint=self._transport.sign_in_hint)
        if reply.repeats(reply.body.decode("utf-8", "replace")):  # schemas appear in errors and logs
            raise SchemaRegistryError(
                f"cannot {call.operation}: the response contains our credentials, so it is discarded",
                url=reply.url,
                topic=call.topic,
                version=call.version,
                hint="schema.registry.url is probably not a Pulsar registry; or a name in the schema contains the "
                "password",
            )
        try:
            return meaning(reply.json())
        except ValueError as expected:
            fault = str(expected)
        raise SchemaRegistryError(
            f"cannot {call.operation}: expected {fault}, got {quoted(reply.beginning())!r}",
            status=reply.status,
            url=reply.url,
            topic=call.topic,
            version=call.version,
            hint=strangers.hint(call, reply) or "is schema.registry.url Pulsar's HTTP address?",
        )
