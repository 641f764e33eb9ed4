"""Pulsar's admin REST API on top of a store: maps a request to a response, without sockets.

Source: Pulsar's SchemasResource, Namespaces, Tenants and PersistentTopics (/admin/v2), as observed on 4.0.8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from streamnative_serdes._broker_rules.compatibility import STRATEGIES
from streamnative_serdes._broker_rules.refusals import BrokerError, IncompatibleError, InvalidDataError
from streamnative_serdes._broker_rules.store import ConflictError, Entry, NotFoundError, PreconditionError, Store
from streamnative_serdes.errors import ConfigError

from .admin_request import (
    AdminRequest,
    BadRequestError,
    UndecodableNameError,
    UnsupportedMediaError,
    schema_data,
)
from .http_messages import Answer, Request, as_bad_message, as_broker_error, as_json, as_page, as_reason, as_text

_JAVA: Final = "org.apache.pulsar.broker.service.schema.exceptions"


class AdminApi:
    """Handles requests to ``/admin/v2``; ``kind`` classifies a request, such as ``POST schema``."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def kind(self, request: Request) -> str:
        """``METHOD leaf``, such as ``GET schema``; a GET by version is ``GET version``."""
        for pattern, leaf, _ in _ROUTES:
            if pattern.fullmatch(request.path):
                return f"{request.method} {leaf}"
        return f"{request.method} unknown"

    def answer(self, request: Request) -> Answer:
        if _UNREADABLE.search(request.path):
            return as_bad_message()
        for pattern, _, methods in _ROUTES:
            found = pattern.fullmatch(request.path)
            if found:
                action = methods.get(request.method)
                if action is None:
                    allowed = ("Allow", ",".join((*methods, "OPTIONS")))
                    page = as_page(405, "Method Not Allowed", request)
                    return replace(page, headers=(*page.headers, allowed))
                return self._run(action, request, found.groups())
        return as_page(404, "Not Found", request)

    def _run(self, action: _Action, request: Request, parts: tuple[str, ...]) -> Answer:
        if not request.accepts("application/json"):
            return as_page(406, "Not Acceptable", request)
        try:
            return action(self, AdminRequest(request, parts))
        except UnsupportedMediaError:
            return as_page(415, "Unsupported Media Type", request)
        except BadRequestError as error:
            return as_text(400, f"{error}\n at [Source: REDACTED]")
        except (NotFoundError, ConflictError, PreconditionError) as error:
            return as_reason(_REASON_STATUS[type(error)], str(error))
        except (IncompatibleError, InvalidDataError, UndecodableNameError) as error:
            return as_page(_PAGE_STATUS[type(error)], str(error), request)
        except BrokerError as error:
            return as_broker_error(str(error), error.kind)
        except ConfigError as error:  # the library protobuf is not installed
            return as_broker_error(str(error))
        except RecursionError:
            return as_broker_error("", "java.lang.StackOverflowError")

    # Schemas

    def get_versions(self, asked: AdminRequest) -> Answer:
        return as_json({"getSchemaResponses": [_shown(entry) for entry in self.store.versions(asked.topic)]})

    def post_schema(self, asked: AdminRequest) -> Answer:
        payload, topic = asked.payload(), asked.topic
        self.store.need_namespace(asked.namespace)
        return as_json({"version": {"version": self.store.register(topic, schema_data(payload))}})

    def post_compatibility(self, asked: AdminRequest) -> Answer:
        payload, topic = asked.payload(), asked.topic
        self.store.need_tenant(asked.tenant)
        self.store.need_namespace(asked.namespace)
        try:
            strategy = self.store.check(topic, schema_data(payload))
        except IncompatibleError as error:
            return as_broker_error(str(error), f"{_JAVA}.IncompatibleSchemaException")
        except InvalidDataError as error:
            return as_broker_error(str(error), f"{_JAVA}.InvalidSchemaDataException")
        return as_json({"schemaCompatibilityStrategy": strategy, "compatibility": True}, 202)

    def post_version(self, asked: AdminRequest) -> Answer:
        payload = asked.payload()
        return as_json({"version": self.store.find_exact(asked.topic, schema_data(payload))})

    def delete_schema(self, asked: AdminRequest) -> Answer:
        self.store.need_tenant(asked.tenant)
        if asked.flag("force"):
            self.store.delete_forever(asked.topic)
            return as_json({"version": -1})
        return as_json({"version": self.store.delete(asked.topic)})

    # Tenants, namespaces, topics

    def get_release(self, _asked: AdminRequest) -> Answer:
        return Answer(200, b"4.0.8", "application/json")  # no JSON, as by Pulsar

    def put_tenant(self, asked: AdminRequest) -> Answer:
        info = asked.json()
        tenant = asked.named("Tenant", asked.tenant)
        if info is None:
            raise PreconditionError("TenantInfo is null")
        clusters = info.get("allowedClusters") if isinstance(info, dict) else None
        if clusters is None:
            raise PreconditionError("Clusters cannot be null")
        if not clusters or not all(clusters):
            raise PreconditionError("Clusters cannot be empty or blank")
        if set(clusters) != {"standalone"}:
            raise PreconditionError("Clusters do not exist")
        self.store.add_tenant(tenant)
        return Answer(204)

    def put_namespace(self, asked: AdminRequest) -> Answer:
        tenant, _, name = asked.namespace.partition("/")
        self.store.add_namespace(tenant, name)
        return Answer(204)

    def delete_namespace(self, asked: AdminRequest) -> Answer:
        self.store.need_namespace(asked.namespace, f"Namespace {asked.namespace} does not exist.")
        if asked.flag("force"):
            return as_reason(405, "Broker doesn't allow forced deletion of namespaces")
        self.store.delete_namespace(asked.namespace)
        return Answer(204)

    def get_topics(self, asked: AdminRequest) -> Answer:
        self.store.need_namespace(asked.namespace)
        return as_json(self.store.topics(asked.namespace))

    def get_partitioned_topics(self, asked: AdminRequest) -> Answer:
        self.store.need_namespace(asked.namespace)
        return as_json(self.store.partitioned_topics(asked.namespace))

    def put_topic(self, asked: AdminRequest) -> Answer:
        name, marked, number = asked.local().partition("-partition-")
        if marked and re.fullmatch(r"[0-9]+", number):
            self.store.add_partition(f"{asked.namespace}/{name}", number)
        else:
            self.store.add_topic(f"{asked.namespace}/{asked.local()}")
        return Answer(204)

    def delete_topic(self, asked: AdminRequest) -> Answer:
        if asked.partition is None:
            self.store.delete_topic(asked.topic)
        else:
            self.store.delete_partition(asked.topic, asked.partition)
        return Answer(204)

    def put_partitions(self, asked: AdminRequest) -> Answer:
        topic, count = _whole(asked), asked.json()
        if count is None:
            raise BrokerError('Cannot read field "partitions" because "metadata" is null', "NullPointerException")
        if type(count) is not int or count < 1:
            return as_reason(406, "Number of partitions should be more than 0")
        self.store.add_topic(topic, count)
        return Answer(204)

    def delete_partitions(self, asked: AdminRequest) -> Answer:
        self.store.delete_partitioned_topic(_whole(asked))
        return Answer(204)

    # Strategies

    def get_namespace_strategy(self, asked: AdminRequest) -> Answer:
        self.store.need_namespace(asked.namespace)
        return as_json(self.store.strategy(asked.namespace) or "UNDEFINED")

    def put_namespace_strategy(self, asked: AdminRequest) -> Answer:
        strategy = asked.json()
        self.store.need_namespace(asked.namespace)
        self.store.set_strategy(asked.namespace, _strategy(strategy))
        return Answer(204)

    def get_topic_strategy(self, asked: AdminRequest) -> Answer:
        self.store.need_topic(asked.topic)
        strategy = (self.store.strategy_in_force if asked.flag("applied") else self.store.strategy)(asked.topic)
        return as_json(strategy) if strategy else Answer(200)

    def put_topic_strategy(self, asked: AdminRequest) -> Answer:
        strategy = _strategy(asked.json())
        self.store.need_topic(asked.topic)
        self.store.set_strategy(asked.topic, strategy)
        return Answer(204)

    def delete_topic_strategy(self, asked: AdminRequest) -> Answer:
        self.store.need_topic(asked.topic)
        self.store.set_strategy(asked.topic, None)
        return Answer(204)


_REASON_STATUS: Final[Mapping[type[Exception], int]] = {NotFoundError: 404, ConflictError: 409, PreconditionError: 412}
_PAGE_STATUS: Final[Mapping[type[Exception], int]] = {
    IncompatibleError: 409,
    InvalidDataError: 422,
    UndecodableNameError: 500,
}
_Action: TypeAlias = Callable[[AdminApi, AdminRequest], Answer]
_UNREADABLE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
_TOPIC = r"([^/]+)/([^/]+)/([^/]+)"


def _route(path: str, leaf: str, **methods: _Action) -> tuple[re.Pattern[str], str, Mapping[str, _Action]]:
    return re.compile(f"/admin/v2/{path}/?"), leaf, methods


_ROUTES: Final = (
    _route(
        f"schemas/{_TOPIC}/schema",
        "schema",
        GET=lambda api, asked: as_json(_shown(api.store.get(asked.topic))),
        POST=AdminApi.post_schema,
        DELETE=AdminApi.delete_schema,
    ),
    _route(
        f"schemas/{_TOPIC}/schema/([^/]+)",
        "version",
        GET=lambda api, asked: as_json(_shown(api.store.get(asked.topic, asked.version()))),
    ),
    _route(f"schemas/{_TOPIC}/schemas", "schemas", GET=AdminApi.get_versions),
    _route(f"schemas/{_TOPIC}/compatibility", "compatibility", POST=AdminApi.post_compatibility),
    _route(f"schemas/{_TOPIC}/version", "version", POST=AdminApi.post_version),
    _route("brokers/version", "version of Pulsar", GET=AdminApi.get_release),
    _route("clusters", "clusters", GET=lambda _api, _: as_json(["standalone"])),
    _route("tenants", "tenants", GET=lambda api, _: as_json(api.store.tenants())),
    _route("tenants/([^/]+)", "tenant", PUT=AdminApi.put_tenant),
    _route("namespaces/([^/]+)", "namespaces", GET=lambda api, asked: as_json(api.store.namespaces(asked.tenant))),
    _route("namespaces/([^/]+)/([^/]+)", "namespace", PUT=AdminApi.put_namespace, DELETE=AdminApi.delete_namespace),
    _route(
        "namespaces/([^/]+)/([^/]+)/schemaCompatibilityStrategy",
        "strategy",
        GET=AdminApi.get_namespace_strategy,
        PUT=AdminApi.put_namespace_strategy,
    ),
    _route("persistent/([^/]+)/([^/]+)", "topics", GET=AdminApi.get_topics),
    _route("persistent/([^/]+)/([^/]+)/partitioned", "partitioned topics", GET=AdminApi.get_partitioned_topics),
    _route(f"persistent/{_TOPIC}", "topic", PUT=AdminApi.put_topic, DELETE=AdminApi.delete_topic),
    _route(
        f"persistent/{_TOPIC}/partitions", "partitions", PUT=AdminApi.put_partitions, DELETE=AdminApi.delete_partitions
    ),
    _route(
        f"persistent/{_TOPIC}/schemaCompatibilityStrategy",
        "strategy",
        GET=AdminApi.get_topic_strategy,
        PUT=AdminApi.put_topic_strategy,
        DELETE=AdminApi.delete_topic_strategy,
    ),
)


def _shown(entry: Entry) -> dict[str, Any]:
    if entry.data is None:
        raise NotFoundError("Schema not found")
    return {
        "version": entry.version,
        "type": entry.data.type,
        "timestamp": entry.timestamp,
        "data": entry.data.shown(),
        "properties": dict(entry.data.properties),
    }


def _whole(asked: AdminRequest) -> str:
    """The topic, unless its name looks like that of a partition.

    Raises:
        PreconditionError: the name contains ``-partition-``.
    """
    if "-partition-" in asked.local():
        raise PreconditionError("Partitioned Topic Name should not contain '-partition-'")
    return asked.topic


def _strategy(value: Any) -> str | None:
    """Jackson accepts an enum's ordinal instead of its name; the broker reads unknown names as UNDEFINED.

    Raises:
        BadRequestError: Jackson cannot convert the value to an enum.
    """
    if isinstance(value, dict | list | bool | float):
        raise BadRequestError("Cannot deserialize value of type `SchemaCompatibilityStrategy`")
    if type(value) is int and 0 <= value < len(STRATEGIES):
        return STRATEGIES[value]
    return value if value in STRATEGIES else None
