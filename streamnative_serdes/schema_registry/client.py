"""SchemaRegistryClient: one method for each endpoint of Pulsar's admin REST API that schemas need."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from streamnative_serdes._http.api_request import ApiRequest
from streamnative_serdes.errors import SchemaNotFoundError, SchemaRegistryError

from . import pulsar_api as answers
from .pulsar_api import MAX_VERSION, SCHEMAS_API, Compatibility, SchemaInfo, require_version
from .rest import Rest, RestClient
from .topic_name import TopicName, namespace_path, topic_names

_T = TypeVar("_T")
_TOPICS_API: Final = "/admin/v2/persistent/"
_NAMESPACES_API: Final = "/admin/v2/namespaces/"
_CLUSTERS_API: Final = "/admin/v2/clusters"
_SUCCESSES: Final = (200, 204)  # of policies
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_READ, _WRITE, _ADMIN = "the right to produce or consume", "the right to produce", "to be an admin of the tenant"
_LIST = "the right to list the topics of the namespace, which an admin of the tenant has"
_POLICY = "the right to change policies, which an admin of the tenant has"
_STRATEGY: Final = "schemaCompatibilityStrategy"


class SchemaRegistryClient(RestClient):
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
        self.rest = Rest(conf, answers.pulsar_api(conf), clock=clock, sleep=sleep)
        self._tenant, self._namespace = conf["pulsar.tenant"], conf["pulsar.namespace"]
        TopicName.parse("checked", self._tenant, self._namespace)

    def __repr__(self) -> str:
        return f"SchemaRegistryClient({','.join(self.rest.urls)})"

    def latest(self, topic: str | TopicName, *, patience: float | None = None) -> SchemaInfo:
        """The topic's latest schema; ``patience`` limits all attempts, in seconds, below ``retries.total.ms``."""
        request = self._request("GET", topic, "schema", "read the latest schema", _READ, patience=patience)
        return self.rest.ask(request, answers.schema_info)

    def by_version(self, topic: str | TopicName, version: int, *, patience: float | None = None) -> SchemaInfo:
        """The schema with this version; ``patience`` as in :meth:`latest`. Raises ConfigError unless it is an int."""
        require_version(version, topic)
        request = self._request(
            "GET", topic, f"schema/{version}", "read the schema", _READ, version=version, patience=patience
        )
        if not 0 <= version <= MAX_VERSION:
            raise SchemaNotFoundError(
                f"expected a version from 0 to {MAX_VERSION}", topic=request.topic, version=version, url=request.url
            )
        found = self.rest.ask(request, answers.schema_info)
        if found.version != version:
            raise SchemaRegistryError(
                f"asked the registry for its version {version}, got version {found.version}",
                topic=request.topic,
                version=version,
                url=request.url,
            )
        return found

    def all_versions(self, topic: str | TopicName) -> list[SchemaInfo]:
        """All schemas that are not deleted, oldest first; an empty list if there are none."""
        return self.rest.ask(self._request("GET", topic, "schemas", "list the schemas", _READ), answers.schema_infos)

    def register(
        self,
        topic: str | TopicName,
        text: str,
        *,
        type: str = "AVRO",  # noqa: A002 - Pulsar's word for it
        properties: Mapping[str, str] = _NONE,
    ) -> int:
        """Register a schema and return its version, new or existing. The POST is idempotent, so retries are safe.

        Raises:
            IncompatibleSchemaError: the schema is new, and the topic's compatibility strategy refuses it.
            InvalidSchemaError: Pulsar refuses this text or type.
        """
        request = self._post(topic, "schema", "register a schema", _WRITE, text, type, properties)
        return self.rest.ask(request, answers.registered_version)

    def compatibility(
        self,
        topic: str | TopicName,
        text: str,
        *,
        type: str = "AVRO",  # noqa: A002
        properties: Mapping[str, str] = _NONE,
    ) -> Compatibility:
        """Whether the topic would accept this schema. Pulsar requires a tenant admin for this request."""
        request = self._post(topic, "compatibility", "check a schema's compatibility", _ADMIN, text, type, properties)
        reply = self.rest.send(request)
        if answers.incompatible(reply):
            return Compatibility(False, None, reply.words())
        return self.rest.understood(request, reply, answers.compatibility)

    def delete(self, topic: str | TopicName, *, force: bool = False) -> int | None:
        """Delete all schemas of the topic. A retry after a lost response deletes again, which is harmless.

        Returns:
            The version number that the deletion used up: the next schema gets a higher one. None with ``force``, after
            which versions start at 0 again.
        """
        leaf = "schema?force=true" if force else "schema"
        return self.rest.ask(self._request("DELETE", topic, leaf, "delete the schemas", _ADMIN), answers.version)

    def topics(self, namespace: str) -> list[TopicName]:
        """All persistent topics of ``tenant/namespace``, in order of their names; partitions are one topic.

        Raises:
            SerdesError: ``namespace`` is not ``tenant/namespace``.
            SchemaNotFoundError: the namespace does not exist.
        """
        path = namespace_path(namespace)
        # The first answer has the topics without partitions and all partitions; the second, the partitioned topics.
        requests = [self._list(path), self._list(f"{path}/partitioned")]
        names = {str(name): name for request in requests for name in self.rest.ask(request, topic_names)}
        return [names[name] for name in sorted(names)]

    def delete_topic(self, topic: str | TopicName) -> None:
        """Delete a partitioned topic with its messages and schemas; a missing topic is not an error."""
        name = self._name(topic)
        path = f"{_TOPICS_API}{name.path}/partitions?force=true"
        self._done(self.rest.request("DELETE", path, "delete the topic", _ADMIN, name.given), 404)

    def clusters(self) -> list[str]:
        """The names of Pulsar's clusters; the name of a KoP's cluster is the cluster id for Kafka's clients."""
        request = self.rest.request("GET", _CLUSTERS_API, "list the clusters", "to be a user of the cluster")
        return self.rest.ask(request, answers.names)

    def retention(self, namespace: str) -> tuple[int, int] | None:
        """How long, in minutes, and up to which size, in MB, a namespace keeps messages that no subscription needs.

        -1 is no limit. None if ``tenant/namespace`` has no such policy: then the broker's applies, by default 0 and 0.
        """
        operation = "read the retention"
        return self._policy_of(self._of_namespace("GET", namespace, operation, "retention"), answers.retention)

    # Compatibility strategies: a topic's own precedes its namespace's, and that the broker's

    def topic_strategy(self, topic: str | TopicName) -> str | None:
        """The topic's own compatibility strategy; None if unset.

        Raises:
            SchemaNotFoundError: the topic does not exist, though it may have schemas.
            MissingEndpointError: the broker has topic policies switched off.
        """
        return self._strategy(self._policy("GET", topic, "read the compatibility strategy"))

    def set_topic_strategy(self, topic: str | TopicName, strategy: str | None) -> None:
        """Set the topic's own strategy, None to unset it. Another broker may take a moment to see it.

        Raises:
            SchemaNotFoundError, MissingEndpointError: as for :meth:`topic_strategy`.
        """
        body = None if strategy is None else json.dumps(strategy).encode()
        method, operation = ("DELETE" if body is None else "PUT"), "set the compatibility strategy"
        self._done(self._policy(method, topic, operation, body=body))

    def namespace_strategy(self, namespace: str) -> str | None:
        """The strategy of ``tenant/namespace``, None if unset: then the broker's applies.

        Raises:
            SchemaNotFoundError: the namespace does not exist.
        """
        return self._strategy(self._of_namespace("GET", namespace, "read the compatibility strategy"))

    def set_namespace_strategy(self, namespace: str, strategy: str | None) -> None:
        """Set the strategy of ``tenant/namespace``, None to unset it; for all its topics without one of their own.

        Raises:
            SchemaNotFoundError: the namespace does not exist.
        """
        body = json.dumps(strategy or answers.UNSET).encode()
        self._done(self._of_namespace("PUT", namespace, "set the compatibility strategy", body=body))

    def _strategy(self, request: ApiRequest) -> str | None:
        return self._policy_of(request, answers.strategy)

    def _policy_of(self, request: ApiRequest, meaning: Callable[[Any], _T]) -> _T | None:
        reply = self.rest.send(request)
        if reply.status in _SUCCESSES and not reply.body:  # Java's null
            return None
        return self.rest.understood(request, reply, meaning)

    def _done(self, request: ApiRequest, *also: int) -> None:
        reply = self.rest.send(request)
        if reply.status not in (*_SUCCESSES, *also):
            self.rest.understood(request, reply, lambda _: None)  # raises

    def _policy(self, method: str, topic: str | TopicName, operation: str, **more: Any) -> ApiRequest:
        name = self._name(topic)
        path = f"{_TOPICS_API}{name.path}/{_STRATEGY}"
        return self.rest.request(method, path, f"{operation} of the topic", _POLICY, name.given, **more)

    def _of_namespace(
        self, method: str, namespace: str, operation: str, policy: str = _STRATEGY, **more: Any
    ) -> ApiRequest:
        path = f"{_NAMESPACES_API}{namespace_path(namespace)}/{policy}"
        return self.rest.request(method, path, f"{operation} of namespace {namespace}", _POLICY, **more)

    def _list(self, path: str) -> ApiRequest:
        return self.rest.request("GET", f"{_TOPICS_API}{path}", "list the topics", _LIST)

    def _post(
        self,
        topic: str | TopicName,
        leaf: str,
        operation: str,
        right: str,
        text: str,
        kind: str,
        properties: Mapping[str, str],
    ) -> ApiRequest:
        # The member is "schema" in requests but "data" in responses; Pulsar answers 500 to the wrong one.
        body = json.dumps({"type": kind, "schema": text, "properties": dict(properties)}).encode()
        return self._request("POST", topic, leaf, operation, right, body=body)

    def _request(
        self, method: str, topic: str | TopicName, leaf: str, operation: str, right: str, **more: Any
    ) -> ApiRequest:
        name = topic if isinstance(topic, TopicName) else self._name(topic)  # a miss makes no further call
        return self.rest.request(
            method, f"{SCHEMAS_API}{name.schema_path}/{leaf}", operation, right, name.given, **more
        )

    def _name(self, topic: str | TopicName) -> TopicName:
        return topic if isinstance(topic, TopicName) else TopicName.parse(topic, self._tenant, self._namespace)
