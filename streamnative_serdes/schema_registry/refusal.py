"""Refusals: which answers are worth another try, and which typed error the others are.

Source: Pulsar 3.1 and 4.0 as seen live, SchemasResourceBase; see reply.py for where the words stand.
"""

from __future__ import annotations

import re
from typing import Final

from streamnative_serdes.errors import (
    AuthenticationError,
    AuthorizationError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
)

from . import strangers
from .call import Call
from .reply import Reply, quoted

_BY_STATUS: Final[dict[int, type[SchemaRegistryError]]] = {
    403: AuthorizationError,
    404: SchemaNotFoundError,
    409: IncompatibleSchemaError,
    422: InvalidSchemaError,
}
_OTHER_TYPE = "the topic's schema is of another type than Avro's, which is the one that is written here"
_STRATEGY = "the topic's compatibility strategy refuses this new schema; schemas that it knows still serialise"

# 429 and 503 by their meaning; 502 and 504 are how a proxy says that its broker is away, as in a failover.
_PASSING_STATUS: Final = frozenset({429, 502, 503, 504})
_STORAGE_TROUBLE = re.compile(
    r"metadata[ _-]?(store|service)|bookkeeper|\bbookie|zookeeper|KeeperErrorCode|KeeperException|BKException"
    r"|ManagedLedgerException|\bledger=",
    re.IGNORECASE,
)
# These hold schema text, in which a field may well be called "metadata_store"; a lost ledger does not come back.
_LASTING = re.compile(r"Incompatible|SchemaValidationException|No such ledger")
_INCOMPATIBLE = re.compile(r"IncompatibleSchema|SchemaValidationException|Incompatible schema")


def passes(reply: Reply) -> bool:
    """Whether the same request may succeed in a moment."""
    if reply.status == 412:
        return "find owner" in reply.words()  # the topic moves between brokers
    if reply.status == 500:
        words = reply.words()
        return bool(_STORAGE_TROUBLE.search(words)) and not _LASTING.search(words)
    return reply.status in _PASSING_STATUS


def incompatible(reply: Reply) -> bool:
    """Whether ``/compatibility`` says no: 409, or 500 with the exception in its text."""
    return reply.status == 409 or (reply.status == 500 and bool(_INCOMPATIBLE.search(reply.words())))


def bad_credentials(reply: Reply) -> bool:
    """Whether nobody knows who is asking: Pulsar words a missing right itself, bad credentials are answered before."""
    return reply.status == 401 and not reply.reason


def refusal(call: Call, reply: Reply, *, sign_in_hint: str) -> SchemaRegistryError:
    """The error for an answer that is no success; the hint is for bad credentials."""
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
        hint = "Pulsar 2.8 to 2.10 says this where a right is missing: there it takes an admin of the tenant"
    elif reply.status in (400, 404, 405) and not reply.reason and strangers.hint(call, reply):
        hint = strangers.hint(call, reply)
    elif reply.status == 404 and call.method == "POST":
        hint = "check pulsar.tenant and pulsar.namespace; Pulsar does not make them itself"
    elif reply.status == 404 and not reply.reason:
        hint = "Pulsar 2.8 to 2.10 says no more of a missing schema; of a later one, check schema.registry.url"
    return kind(
        f"cannot {call.operation}: {quoted(words)} (HTTP {reply.status})",
        status=reply.status,
        reason=words,
        url=reply.url,
        topic=call.topic,
        version=call.version,
        hint=hint,
    )
