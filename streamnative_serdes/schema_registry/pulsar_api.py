"""Pulsar's responses: the failures to retry, the typed errors of all other failures, and hints.

Source: Pulsar 3.1 and 4.0 as observed, SchemasResourceBase; reply.py finds the broker's message in a response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from streamnative_serdes._config import named
from streamnative_serdes._http.address import ApiRequest
from streamnative_serdes._http.reply import Diagnosis, Expected, Reply, quoted
from streamnative_serdes.errors import (
    AuthenticationError,
    AuthorizationError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    MissingEndpointError,
    SchemaNotFoundError,
    SchemaRegistryError,
)

from .api import Api

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
# What a reason says about types -> hint.
_OTHER_TYPE: Final = {
    "exists schema type": "the topic's schema is of another type: use KafkaPulsarSerializer, or a KeyValueSchema",
    "are different schema type": "the topic's keys or values have another type",
}
_STRATEGY = "the topic's compatibility strategy refuses this new schema; registered schemas still serialize"

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
        doubt=lambda reply: _STARTING_OR_MISSING if _STARTING.search(reply.words()) else None,
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


def incompatible(reply: Reply) -> bool:
    """Whether ``/compatibility`` refuses the schema: 409, or 500 with the exception in its text."""
    return reply.status == 409 or (reply.status == 500 and bool(_INCOMPATIBLE.search(reply.words())))


def bad_credentials(reply: Reply) -> bool:
    """Whether authentication failed: this 401 has no ``reason``, unlike Pulsar's 401 for a missing permission."""
    return reply.status == 401 and not reply.reason


def refusal(request: ApiRequest, reply: Reply, sign_in_hint: str) -> SchemaRegistryError:
    """The typed error for an error response; ``sign_in_hint`` is used for bad credentials."""
    words = reply.words()
    kind = _BY_STATUS.get(reply.status, SchemaRegistryError)
    hint = None
    if reply.status == 409:
        hint = next((hint for sign, hint in _OTHER_TYPE.items() if sign in words), _STRATEGY)
    if reply.status == 401:
        kind = AuthenticationError if bad_credentials(reply) else AuthorizationError
        hint = sign_in_hint
    if _POLICIES_OFF.search(words):
        kind, hint = MissingEndpointError, "the broker has topicLevelPoliciesEnabled=false"
    if kind is AuthorizationError:
        hint = f"the role needs {request.right}"
    if reply.status == 404 and reply.reason == "Not Found":
        hint = "Pulsar 2.8 to 2.10 also answers this for a missing permission: they require an admin of the tenant"
    elif reply.status in (400, 404, 405) and not reply.reason and hint_for(request, reply):
        hint = hint_for(request, reply)
    elif reply.status == 404 and request.method == "POST":
        hint = "check pulsar.tenant and pulsar.namespace; Pulsar does not create them automatically"
    elif reply.status == 404 and not reply.reason:
        hint = "Pulsar 2.8 to 2.10 answers this for a missing schema; with a later release, check schema.registry.url"
    return kind(
        f"cannot {request.operation}: {quoted(words)} (HTTP {reply.status})",
        status=reply.status,
        reason=words,
        url=reply.url,
        topic=request.topic,
        version=request.version,
        hint=hint,
    )


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
