"""Pulsar's responses: its JSON as schemas and versions; the failures to retry, and the typed errors of others.

Source: Pulsar 3.1 and 4.0 as observed, SchemasResourceBase, GetSchemaResponse, PostSchemaResponse,
LongSchemaVersionResponse, IsCompatibilityResponse; reply.py finds the broker's message in a response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from streamnative_serdes._config import named
from streamnative_serdes._http.api_request import ApiRequest
from streamnative_serdes._http.reply import Diagnosis, Expected, Reply, quoted
from streamnative_serdes.errors import (
    AuthenticationError,
    AuthorizationError,
    ConfigError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    MissingEndpointError,
    SchemaNotFoundError,
    SchemaRegistryError,
)

from .rest import Api, member

SCHEMAS_API: Final = "/admin/v2/schemas/"
MAX_VERSION: Final = 2**63 - 1
UNSET: Final = "UNDEFINED"  # the strategy of a topic or a namespace that has none of its own
_TYPE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,39}")  # bounded, since errors show it


def require_version(version: object, topic: object) -> None:
    """Raises ConfigError if ``version`` is not an int: None, True and 1.0 would cause later errors, or none."""
    if type(version) is not int:
        raise ConfigError(
            f"expected a schema version as int, got {type(version).__name__} {version!r:.80}", topic=str(topic)
        )


@dataclass(frozen=True, slots=True)
class SchemaInfo:
    """A registered schema.

    Args:
        version: counts from 0 within its topic; deletions leave gaps.
        type: Pulsar's SchemaType, such as ``AVRO``, ``JSON``, ``KEY_VALUE``.
        text: the schema as registered; empty for primitive types.
        timestamp: time of registration, in milliseconds since 1970 UTC; 0 if the broker does not know it.
        properties: custom properties.
    """

    version: int
    type: str
    text: str
    timestamp: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Whether a topic accepts a schema, the strategy, and the reason of a refusal; None if the broker does not tell."""

    compatible: bool
    strategy: str | None = None
    reason: str | None = None


# Parsers of responses: each raises ValueError with the expected form


def schema_info(tree: Any) -> SchemaInfo:
    """``{"version": 0, "type": "AVRO", "timestamp": 1, "data": "...", "properties": {}}``."""
    kind, text = member(tree, "type"), tree.get("data")
    if not isinstance(kind, str) or not isinstance(text, str):
        raise ValueError('text in "type" and "data"')
    if not _TYPE.fullmatch(kind):
        raise ValueError('a schema type such as "AVRO" in "type"')
    when = tree.get("timestamp") or 0
    if not isinstance(when, int) or isinstance(when, bool) or not -MAX_VERSION <= when <= MAX_VERSION:
        raise ValueError('a number in "timestamp"')
    return SchemaInfo(registered_version(tree), kind, text, when, _properties(tree.get("properties")))


def schema_infos(tree: Any) -> list[SchemaInfo]:
    """``{"getSchemaResponses": [...]}``, oldest first."""
    entries = member(tree, "getSchemaResponses")
    if not isinstance(entries, list):
        raise ValueError('a list in "getSchemaResponses"')
    return sorted(map(schema_info, entries), key=lambda info: info.version)


def version(tree: Any) -> int | None:
    """``{"version": {"version": 0}}``, ``{"version": 0}`` or ``0``; None for -1, which means "no version"."""
    value = tree
    while isinstance(value, dict):
        value = value.get("version")
    if not isinstance(value, int) or isinstance(value, bool) or not -1 <= value <= MAX_VERSION:
        raise ValueError('a schema version in "version"')
    return None if value == -1 else value


def registered_version(tree: Any) -> int:
    """As :func:`version`, but -1 is an error."""
    number = version(tree)
    if number is None:
        raise ValueError("a schema version from 0 on")
    return number


def compatibility(tree: Any) -> Compatibility:
    """``{"compatibility": true, "schemaCompatibilityStrategy": "FULL"}``."""
    strategy = member(tree, "schemaCompatibilityStrategy")
    verdict = tree.get("compatibility", tree.get("isCompatibility"))
    if not isinstance(verdict, bool):
        raise ValueError('true or false in "compatibility"')
    return Compatibility(verdict, strategy if isinstance(strategy, str) else None)


def strategy(tree: Any) -> str | None:
    """``"FULL"``; None for "UNDEFINED" and null."""
    if tree is not None and not (isinstance(tree, str) and _TYPE.fullmatch(tree)):
        raise ValueError('a compatibility strategy such as "FULL"')
    return None if tree == UNSET else tree


def names(tree: Any) -> list[str]:
    """``["standalone", ...]``."""
    if not isinstance(tree, list) or not all(isinstance(name, str) for name in tree):
        raise ValueError("a JSON list of names")
    return tree


def retention(tree: Any) -> tuple[int, int]:
    """``{"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}``."""
    found = (member(tree, "retentionTimeInMinutes"), member(tree, "retentionSizeInMB"))
    if not all(isinstance(limit, int) for limit in found):
        raise ValueError("a retention in minutes and MB")
    return found


def _properties(tree: Any) -> dict[str, str]:
    if not tree and isinstance(tree, dict | None):
        return {}
    if not isinstance(tree, dict):
        raise ValueError('a JSON object in "properties"')
    # Java maps may contain null, which means the same as a missing property.
    properties = {key: value for key, value in tree.items() if value is not None}
    if not all(isinstance(value, str) for value in properties.values()):
        raise ValueError('text values in "properties"')
    return properties


# Refusals

_PORTS: Final = Expected(
    "a port for Kafka clients or for Pulsar's binary protocol (pulsar://)",
    "Pulsar's HTTP port, such as http://HOST:8080 or https://HOST:8443",
    "the https port, such as 8443",
)
_BY_STATUS: Final[dict[int, type[SchemaRegistryError]]] = {
    403: AuthorizationError,
    404: SchemaNotFoundError,
    409: IncompatibleSchemaError,
    422: InvalidSchemaError,
}
REGISTERED_OUTSIDE: Final = (
    "the topic's schemas are in a registry outside of Pulsar (PIP-420): with framing=confluent they are registered "
    "there, and the id is in front of the value (docs/schema-types.md)"
)
_OTHER_TYPE: Final = re.compile(r"exists schema type (\w+), new schema type (\w+)")
_BY_TYPE: Final = {"AVRO": "KafkaAvroSerializer with an Avro schema", "KEY_VALUE": "a KeyValueSchema"}
_STRATEGY: Final = "the topic's compatibility strategy refuses this new schema; registered schemas still serialize"

# 429 and 503 ask for a retry; a proxy sends 502 and 504 while its broker is down, as during a failover.
_PASSING_STATUS: Final = frozenset({429, 502, 503, 504})
_STORAGE_TROUBLE = re.compile(
    r"metadata[ _-]?(store|service)|bookkeeper|\bbookie|zookeeper|KeeperErrorCode|KeeperException|BKException"
    r"|ManagedLedgerException|\bledger=",
    re.IGNORECASE,
)
# The first two contain schema text, and a field may be called "metadata_store"; a lost ledger does not come back.
_LASTING = re.compile(r"Incompatible|SchemaValidationException|No such ledger")
_STARTING = re.compile(r"Topic policies cache have not init")
_STARTING_OR_MISSING: Final = (
    "has the broker just started? Pulsar 3.1 answers this for a namespace that does not exist, too: check "
    "pulsar.tenant and pulsar.namespace"
)
_ELSEWHERE: Final = "this response is not Pulsar's: check schema.registry.url, and the proxy at this address, if any"
# The broker collects the topic at this moment, with the ledger of its schemas; the next request creates both.
_COLLECTED = re.compile(r"No such ledger exists")
_POLICIES_OFF = re.compile(r"Topic level policies is disabled", re.IGNORECASE)
_INCOMPATIBLE = re.compile(r"IncompatibleSchema|SchemaValidationException|Incompatible schema")


def pulsar_api(conf: Mapping[str, Any]) -> Api:
    """Pulsar's registry, for errors about these options."""
    option = named(conf, "schema.registry.url")
    return Api(
        kind="a Pulsar registry",
        option=option,
        address="the HTTP address of Pulsar, such as http://localhost:8080",
        away=f"is {option} Pulsar's HTTP address, and is Pulsar running?",
        expected=_PORTS,
        successes=frozenset({200, 202}),
        passes=passes,
        doubt=_doubt,
        elsewhere=elsewhere,
        agreed=lambda reply: bool(_LASTING.search(reply.words())),
        bad_credentials=bad_credentials,
        refusal=refusal,
        odd=lambda request, reply: hint_for(request, reply) or f"is {option} Pulsar's HTTP address?",
        token_passwords=True,
        mock=True,
    )


def passes(request: ApiRequest, reply: Reply) -> bool:
    """Whether the failure is transient: the same request may succeed shortly."""
    if reply.status == 412:
        return "find owner" in reply.words()  # the topic is moving to another broker
    if reply.status == 500:
        words = reply.words()
        if _STARTING.search(words) or (request.method == "POST" and _COLLECTED.search(words)):
            return True
        return bool(_STORAGE_TROUBLE.search(words)) and not _LASTING.search(words)
    return reply.status in _PASSING_STATUS


def elsewhere(request: ApiRequest, reply: Reply) -> bool:
    """Whether a 404 is another server's page or text; Pulsar's own is JSON, or empty if it would be large.

    Only for schemas: a proxy may never let other paths through.
    """
    return reply.status == 404 and reply.body != b"" and not reply.is_json and request.path.startswith(SCHEMAS_API)


def _doubt(reply: Reply) -> str | None:
    if reply.status == 404:
        return _ELSEWHERE
    return _STARTING_OR_MISSING if _STARTING.search(reply.words()) else None


def incompatible(reply: Reply) -> bool:
    """Whether ``/compatibility`` refuses the schema: 409, or 500 with the exception in its text."""
    return reply.status == 409 or (reply.status == 500 and bool(_INCOMPATIBLE.search(reply.words())))


def bad_credentials(reply: Reply) -> bool:
    """Whether authentication failed: this 401 has no ``reason``, unlike Pulsar's 401 for a missing permission."""
    return reply.status == 401 and not reply.reason


def refusal(request: ApiRequest, reply: Reply, sign_in_hint: str) -> SchemaRegistryError:
    """The typed error for an error response; ``sign_in_hint`` is used for bad credentials."""
    words, reason = reply.words(), reply.reason
    kind = _BY_STATUS.get(reply.status, SchemaRegistryError)
    hint = None
    if reply.status == 409:
        hint = _hint_of_conflict(words)
    if reply.status == 401:
        kind = AuthenticationError if bad_credentials(reply) else AuthorizationError
        hint = sign_in_hint
    if _POLICIES_OFF.search(words):
        kind, hint = MissingEndpointError, "the broker has topicLevelPoliciesEnabled=false"
    if kind is AuthorizationError:
        hint = f"the role needs {request.right}"
    if reply.status == 404 and reason == "Not Found":
        hint = "Pulsar 2.8 to 2.10 also answers this for a missing permission: they require an admin of the tenant"
    elif reply.status in (400, 404, 405) and not reason and (elsewhere(request, reply) or hint_for(request, reply)):
        hint = hint_for(request, reply) or _ELSEWHERE
        if reply.status == 404 and not _is_of_pulsar(request, reply):
            kind = MissingEndpointError  # else each message would be bad by itself, and be skipped
    elif reply.status == 404 and request.method == "POST":
        hint = "check pulsar.tenant and pulsar.namespace; Pulsar does not create them automatically"
    elif reply.status == 404 and not reason:
        hint = "Pulsar 2.8 to 2.10 answers this for a missing schema; with a later release, check schema.registry.url"
    return kind(  # as refused() does, without reading the words again: a version that is not there takes this way
        f"cannot {request.operation}: {quoted(words)} (HTTP {reply.status})",
        status=reply.status,
        reason=words,
        url=reply.url,
        topic=request.topic,
        version=request.version,
        hint=hint,
    )


def _hint_of_conflict(words: str) -> str:
    types = _OTHER_TYPE.search(words)
    if types is None:
        return "the topic's keys or values have another type" if "are different schema type" in words else _STRATEGY
    there, new = types.groups()
    if there == "EXTERNAL":
        return REGISTERED_OUTSIDE
    use = _BY_TYPE.get(there, "KafkaPulsarSerializer with a schema of this type, or with none")
    return f"the topic's schema is of type {there}, and the new one of type {new}: use {use}"


def _is_of_pulsar(request: ApiRequest, reply: Reply) -> bool:
    """Whether Pulsar 2.8 to 2.10 has sent this page: it names the path without the part that a proxy adds."""
    return reply.text("url") == request.path.partition("?")[0]


def hint_for(request: ApiRequest, reply: Reply) -> str | None:
    """A hint for a response that Pulsar would not send."""
    if reply.status == 400 and "https" in reply.words().lower():
        return Diagnosis.SPEAKS_TLS.hint(request.url, _PORTS)
    if reply.has("error_code"):
        return "this is a Confluent-style registry: use Pulsar's HTTP address, such as http://localhost:8080"
    if request.prefix:
        parts = urlsplit(request.url)
        return (
            f"schema.registry.url has the path {request.prefix}, but Pulsar's own address has none: use "
            f"{parts.scheme}://{parts.netloc} unless a proxy in front of Pulsar needs that path"
        )
    return None
