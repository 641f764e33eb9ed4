"""Pulsar's admin REST API over a store: a request in, an answer out; no sockets.

Source: Pulsar's SchemasResource, Namespaces, Tenants and PersistentTopics (/admin/v2), as seen live on 4.0.8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, unquote, unquote_plus

from .compatibility import STRATEGIES, IncompatibleError, UnresolvableError
from .exchange import Answer, Request, as_broker_error, as_json, as_page, as_reason, as_text
from .schema_data import BrokerError, InvalidDataError, SchemaData, from_post
from .store import ConflictError, Entry, NotFoundError, Store, base_topic, namespace_of

_JAVA: Final = "org.apache.pulsar.broker.service.schema.exceptions"
_PAYLOAD: Final = "org.apache.pulsar.common.protocol.schema.PostSchemaPayload"


class _BadRequestError(Exception):
    """400 in plain text: Jackson cannot read the body."""


class _UnsupportedMediaError(Exception):
    """415: the body is not announced as JSON."""


class _BadNameError(Exception):
    """A topic name that cannot be decoded, or is empty."""


def topic_name(tenant: str, namespace: str, local: str) -> str:
    """``tenant/namespace/topic`` of three path segments, decoded twice, as the broker does it."""
    name = unquote(local)
    if re.search(r"%(?![0-9A-Fa-f]{2})", name):
        raise _BadNameError("Request failed.")
    name = unquote_plus(name)
    if not name.strip():
        raise _BadNameError("Topic name is not valid")
    return f"{unquote(tenant)}/{unquote(namespace)}/{base_topic(name)}"


class AdminApi:
    """Answers requests to ``/admin/v2``; ``kind`` names what a request asks for, such as ``POST schema``."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def kind(self, request: Request) -> str:
        """``METHOD leaf``; GET by version is ``GET version``."""
        for pattern, leaf, _ in _ROUTES:
            if pattern.fullmatch(request.path):
                return f"{request.method} {leaf}"
        return f"{request.method} unknown"

    def answer(self, request: Request) -> Answer:
        for pattern, _, methods in _ROUTES:
            found = pattern.fullmatch(request.path)
            if found:
                action = methods.get(request.method)
                if action is None:
                    return as_page(405, "Method Not Allowed", request)
                return self._run(action, request, [part or "" for part in found.groups()])
        return as_page(404, "Not Found", request)

    def _run(self, action: _Action, request: Request, parts: list[str]) -> Answer:
        if not request.accepts("application/json"):
            return as_page(406, "Not Acceptable", request)
        try:
            return action(self, request, *parts)
        except _UnsupportedMediaError:
            return as_page(415, "Unsupported Media Type", request)
        except _BadRequestError as error:
            return as_text(400, str(error))
        except _BadNameError as error:
            text = str(error)
            return as_page(500, text, request) if text == "Request failed." else as_reason(412, text)
        except NotFoundError as error:
            return as_reason(404, str(error))
        except ConflictError as error:
            return as_reason(409, str(error))
        except IncompatibleError as error:
            return as_page(409, str(error), request)
        except InvalidDataError as error:
            return as_page(422, str(error), request)
        except (BrokerError, UnresolvableError) as error:
            return as_broker_error(str(error))
        except RecursionError:
            return as_broker_error("", "java.lang.StackOverflowError")

    # Schemas

    def get_schema(self, request: Request, *name: str) -> Answer:
        return as_json(_shown(self.store.get(topic_name(*name))))

    def get_version(self, request: Request, tenant: str, namespace: str, local: str, version: str) -> Answer:
        if not re.fullmatch(r"[+-]?\d{1,19}", version) or not -(2**63) <= int(version) < 2**63:
            raise BrokerError(f'For input string: "{version}"')
        return as_json(_shown(self.store.get(topic_name(tenant, namespace, local), int(version))))

    def get_versions(self, request: Request, *name: str) -> Answer:
        return as_json({"getSchemaResponses": [_shown(entry) for entry in self.store.versions(topic_name(*name))]})

    def post_schema(self, request: Request, *name: str) -> Answer:
        payload, topic = _payload(request), topic_name(*name)
        self.store.need_namespace(namespace_of(topic))
        return as_json({"version": {"version": self.store.register(topic, _posted(payload))}})

    def post_compatibility(self, request: Request, *name: str) -> Answer:
        payload, topic = _payload(request), topic_name(*name)
        self.store.need_namespace(namespace_of(topic))
        try:
            strategy = self.store.check(topic, _posted(payload))
        except IncompatibleError as error:
            return as_broker_error(str(error), f"{_JAVA}.IncompatibleSchemaException")
        except InvalidDataError as error:
            return as_broker_error(str(error), f"{_JAVA}.InvalidSchemaDataException")
        return as_json({"schemaCompatibilityStrategy": strategy, "compatibility": True}, 202)

    def post_version(self, request: Request, *name: str) -> Answer:
        payload = _payload(request)
        return as_json({"version": self.store.find_exact(topic_name(*name), _posted(payload))})

    def delete_schema(self, request: Request, *name: str) -> Answer:
        topic = topic_name(*name)
        if parse_qs(request.target.partition("?")[2]).get("force") == ["true"]:
            self.store.delete_forever(topic)
            return as_json({"version": -1})
        return as_json({"version": self.store.delete(topic)})

    # Tenants, namespaces, topics

    def get_clusters(self, request: Request) -> Answer:
        return as_json(["standalone"])

    def get_tenants(self, request: Request) -> Answer:
        return as_json(self.store.tenants())

    def put_tenant(self, request: Request, tenant: str) -> Answer:
        self.store.add_tenant(unquote(tenant))
        return Answer(204)

    def get_namespaces(self, request: Request, tenant: str) -> Answer:
        return as_json(self.store.namespaces(unquote(tenant)))

    def put_namespace(self, request: Request, tenant: str, namespace: str) -> Answer:
        self.store.add_namespace(unquote(tenant), unquote(namespace))
        return Answer(204)

    def delete_namespace(self, request: Request, tenant: str, namespace: str) -> Answer:
        self.store.delete_namespace(f"{unquote(tenant)}/{unquote(namespace)}")
        return Answer(204)

    def put_topic(self, request: Request, *name: str) -> Answer:
        self.store.add_topic(topic_name(*name))
        return Answer(204)

    def delete_topic(self, request: Request, *name: str) -> Answer:
        self.store.delete_topic(topic_name(*name))
        return Answer(204)

    def put_partitions(self, request: Request, *name: str) -> Answer:
        count = _json_body(request)
        if type(count) is not int or count < 1:
            return as_reason(406, "Number of partitions should be more than 0")
        self.store.add_topic(topic_name(*name), count)
        return Answer(204)

    def delete_partitions(self, request: Request, *name: str) -> Answer:
        self.store.delete_partitioned_topic(topic_name(*name))
        return Answer(204)

    # Strategies

    def get_namespace_strategy(self, request: Request, tenant: str, namespace: str) -> Answer:
        name = f"{unquote(tenant)}/{unquote(namespace)}"
        self.store.need_namespace(name)
        return as_json(self.store.strategy(name) or "UNDEFINED")

    def put_namespace_strategy(self, request: Request, tenant: str, namespace: str) -> Answer:
        name = f"{unquote(tenant)}/{unquote(namespace)}"
        strategy = _json_body(request)
        self.store.need_namespace(name)
        self.store.set_strategy(name, _strategy(strategy))
        return Answer(204)

    def get_topic_strategy(self, request: Request, *name: str) -> Answer:
        strategy = self.store.strategy(topic_name(*name))
        return as_json(strategy) if strategy else Answer(204)

    def put_topic_strategy(self, request: Request, *name: str) -> Answer:
        self.store.set_strategy(topic_name(*name), _strategy(_json_body(request)))
        return Answer(204)

    def delete_topic_strategy(self, request: Request, *name: str) -> Answer:
        self.store.set_strategy(topic_name(*name), None)
        return Answer(204)


_Action: TypeAlias = Callable[..., Answer]
_TOPIC = r"([^/]+)/([^/]+)/([^/]+)"


def _route(path: str, leaf: str, **methods: _Action) -> tuple[re.Pattern[str], str, Mapping[str, _Action]]:
    return re.compile(f"/admin/v2/{path}/?"), leaf, methods


_ROUTES: Final = (
    _route(
        f"schemas/{_TOPIC}/schema",
        "schema",
        GET=AdminApi.get_schema,
        POST=AdminApi.post_schema,
        DELETE=AdminApi.delete_schema,
    ),
    _route(f"schemas/{_TOPIC}/schema/([^/]+)", "version", GET=AdminApi.get_version),
    _route(f"schemas/{_TOPIC}/schemas", "schemas", GET=AdminApi.get_versions),
    _route(f"schemas/{_TOPIC}/compatibility", "compatibility", POST=AdminApi.post_compatibility),
    _route(f"schemas/{_TOPIC}/version", "version", POST=AdminApi.post_version),
    _route("clusters", "clusters", GET=AdminApi.get_clusters),
    _route("tenants", "tenants", GET=AdminApi.get_tenants),
    _route("tenants/([^/]+)", "tenant", PUT=AdminApi.put_tenant),
    _route("namespaces/([^/]+)", "namespaces", GET=AdminApi.get_namespaces),
    _route("namespaces/([^/]+)/([^/]+)", "namespace", PUT=AdminApi.put_namespace, DELETE=AdminApi.delete_namespace),
    _route(
        "namespaces/([^/]+)/([^/]+)/schemaCompatibilityStrategy",
        "strategy",
        GET=AdminApi.get_namespace_strategy,
        PUT=AdminApi.put_namespace_strategy,
    ),
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


def _strategy(value: Any) -> str | None:
    """The broker takes what it does not know for UNDEFINED."""
    return value if value in STRATEGIES else None


def _json_body(request: Request) -> Any:
    """The body, parsed; None when it is empty, as in the broker."""
    if request.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        raise _UnsupportedMediaError
    if not request.body.strip():
        return None
    try:
        return json.loads(request.body)
    except ValueError as error:
        raise _BadRequestError(f"{error}\n at [Source: REDACTED]") from None


def _payload(request: Request) -> dict[str, Any] | None:
    """A PostSchemaPayload as Jackson reads it: unknown keys are ignored, scalars become text."""
    body = _json_body(request)
    if body is None:
        return None
    if not isinstance(body, dict):
        raise _BadRequestError(f"Cannot deserialize value of type `{_PAYLOAD}`")
    properties = body.get("properties")
    if not isinstance(properties, dict | None):
        raise _BadRequestError("Cannot deserialize value of type `java.util.LinkedHashMap`")
    return {
        "type": _text(body.get("type")),
        "schema": _text(body.get("schema")),
        "properties": {key: _text(value) for key, value in (properties or {}).items()},
    }


def _text(value: Any) -> str | None:
    if isinstance(value, dict | list):
        token = "OBJECT" if isinstance(value, dict) else "ARRAY"
        raise _BadRequestError(f"Cannot deserialize value of type `java.lang.String` (token `JsonToken.START_{token}`)")
    return value if isinstance(value, str | None) else json.dumps(value)


def _posted(payload: dict[str, Any] | None) -> SchemaData:
    if payload is None:
        raise BrokerError(f'Cannot invoke "{_PAYLOAD}.getType()" because "payload" is null')
    if payload["schema"] is None:
        raise BrokerError(
            'Cannot invoke "String.getBytes(java.nio.charset.Charset)" because the return value of '
            f'"{_PAYLOAD}.getSchema()" is null'
        )
    return from_post(payload["type"], payload["schema"], payload["properties"])
