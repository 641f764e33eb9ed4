"""Error responses: decides which ones are retried, and maps the others to typed errors.

Source: Pulsar 3.1 and 4.0 as observed, SchemasResourceBase; reply.py finds the broker's message in a response.
"""

from __future__ import annotations

import re
from typing import Final

from streamnative_serdes._http import strangers
from streamnative_serdes._http.call import Call
from streamnative_serdes._http.reply import Reply, quoted
from streamnative_serdes.errors import (
    AuthenticationError,
    AuthorizationError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
)

_BY_STATUS: Final[dict[int, type[SchemaRegistryError]]] = {
    403: AuthorizationError,
    404: SchemaNotFoundError,
    409: IncompatibleSchemaError,
    422: InvalidSchemaError,
}
_OTHER_TYPE = "the topic's schema is not of type AVRO, and only AVRO can be written here"
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
_INCOMPATIBLE = re.compile(r"IncompatibleSchema|SchemaValidationException|Incompatible schema")


def passes(reply: Reply) -> bool:
    """Whether the failure is transient: the same request may succeed shortly."""
    if reply.status == 412:
        return "find owner" in reply.words()  # the topic is moving to another broker
    if reply.status == 500:
        words = reply.words()
        return bool(_STORAGE_TROUBLE.search(words)) and not _LASTING.search(words)
    return reply.status in _PASSING_STATUS


def incompatible(reply: Reply) -> bool:
    """Whether ``/compatibility`` refuses the schema: 409, or 500 with the exception in its text."""
    return reply.status == 409 or (reply.status == 500 and bool(_INCOMPATIBLE.search(reply.words())))


def bad_credentials(reply: Reply) -> bool:
    """Whether authentication failed: Pulsar's 401 for a missing permission has a ``reason``, this one has none."""
    return reply.status == 401 and not reply.reason


def refusal(call: Call, reply: Reply, *, sign_in_hint: str) -> SchemaRegistryError:
    """The typed error for an error response; ``sign_in_hint`` is used for bad credentials."""
    words = reply.words()
    kind = _BY_STATUS.get(reply.status, SchemaRegistryError)
    hint = None
    if reply.status == 409:
        hint = _OTHER_TYPE if "exists schema type" in words else _STRATEGY
    if reply.status == 401:
        kind = AuthenticationError if bad_credentials(reply) else AuthorizationError
        hint = sign_in_hint
    if kind is AuthorizationError:
        hint = f"the role needs {call.right}"
    if reply.status == 404 and reply.reason == "Not Found":
        hint = "Pulsar 2.8 to 2.10 also answers this for a missing permission: they require an admin of the tenant"
    elif reply.status in (400, 404, 405) and not reply.reason and strangers.hint(call, reply):
        hint = strangers.hint(call, reply)
    elif reply.status == 404 and call.method == "POST":
        hint = "check pulsar.tenant and pulsar.namespace; Pulsar does not create them automatically"
    elif reply.status == 404 and not reply.reason:
        hint = "Pulsar 2.8 to 2.10 answers this for a missing schema; with a later release, check schema.registry.url"
    return kind(
        f"cannot {call.operation}: {quoted(words)} (HTTP {reply.status})",
        status=reply.status,
        reason=words,
        url=reply.url,
        topic=call.topic,
        version=call.version,
        hint=hint,
    )
