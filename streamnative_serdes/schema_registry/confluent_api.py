"""Confluent's responses: the failures to retry, the typed errors of all other failures, and hints.

Source: Confluent's API reference and its error codes (HTTP status and two digits); Apicurio 2.6, as observed; KoP's
schema registry, which answers 404 with the request in its message to an unknown id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamnative_serdes._config import named
from streamnative_serdes._http.api_request import ApiRequest
from streamnative_serdes._http.reply import Diagnosis, Expected, Reply
from streamnative_serdes.errors import (
    AuthenticationError,
    AuthorizationError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    MissingEndpointError,
    SchemaNotFoundError,
    SchemaRegistryError,
)

from .rest import Api, refused

_PORTS: Final = Expected(
    "a port for Kafka clients", "the registry's HTTP port, such as http://HOST:8081", "the registry's https port"
)
_PASSING_STATUS: Final = frozenset({408, 429, 502, 503, 504})
# Of a 500: no code, a general error, the store failed or timed out, the leader is unreachable or not elected yet.
_PASSING_CODES: Final = frozenset({None, 500, 50001, 50002, 50003, 50004})
_NOT_FOUND: Final = range(40401, 40500)
_BAD_SCHEMA: Final = frozenset({None, 422, 42201, 42209, 42210})  # other codes of 422 do not concern the schema
_LEVEL: Final = "the subject's compatibility level refuses this new schema"


def confluent_api(conf: Mapping[str, Any]) -> Api:
    """A registry with Confluent's API, for errors about these options."""
    option = named(conf, "schema.registry.url")
    address = (
        f"is {option} the address of a registry with Confluent's API, with all of its path? Apicurio's is "
        "http://HOST:8080/apis/ccompat/v7, and that beside Pulsar's is the cluster's HTTP address with /kafka"
    )

    def odd(request: ApiRequest, reply: Reply) -> str:
        if reply.status == 400 and "https" in reply.words().lower():
            return Diagnosis.SPEAKS_TLS.hint(request.url, _PORTS) or address
        if reply.has("reason") or reply.has("servlet"):
            return f"this looks like Pulsar's own HTTP address, whose registry has another API; {address}"
        return address

    def refusal(request: ApiRequest, reply: Reply, sign_in_hint: str) -> SchemaRegistryError:
        kind = _kind(request, reply)
        hints = {
            AuthenticationError: sign_in_hint,
            AuthorizationError: f"the user needs {request.right}",
            IncompatibleSchemaError: _LEVEL,
            MissingEndpointError: odd(request, reply),
            SchemaRegistryError: odd(request, reply) if reply.number("error_code") is None else None,
        }
        return refused(kind, request, reply, hints.get(kind), reply.number("error_code"))

    return Api(
        kind="a registry with Confluent's API",
        option=option,
        address="the HTTP address of the registry, such as http://localhost:8081",
        away=f"is {option} the address of the registry, and is it running?",
        expected=_PORTS,
        passes=passes,
        refusal=refusal,
        odd=odd,
        token_passwords=False,  # KoP's registry takes them as they are
    )


def passes(_: ApiRequest, reply: Reply) -> bool:
    """Whether the failure is transient: the same request may succeed shortly."""
    return reply.status in _PASSING_STATUS or (reply.status == 500 and reply.number("error_code") in _PASSING_CODES)


def _kind(request: ApiRequest, reply: Reply) -> type[SchemaRegistryError]:
    code = reply.number("error_code")
    if reply.status == 404:
        # Anything else, Apicurio's code 0 included, is a server's answer to a path that it does not know.
        known = code in _NOT_FOUND or reply.words().endswith(f"{request.path} Not found")
        return SchemaNotFoundError if known else MissingEndpointError
    if reply.status == 422:
        return InvalidSchemaError if code in _BAD_SCHEMA else SchemaRegistryError
    by_status: dict[int, type[SchemaRegistryError]] = {
        401: AuthenticationError,
        403: AuthorizationError,
        409: IncompatibleSchemaError,
    }
    return by_status.get(reply.status, SchemaRegistryError)
