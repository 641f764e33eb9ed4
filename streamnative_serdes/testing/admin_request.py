"""One request as an endpoint of the admin API sees it: the topic or namespace of its path, and its JSON body.

Source: Pulsar's JAX-RS resources and the Jackson mapper in front of them, as seen live on 4.0.8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, unquote, unquote_plus

from .exchange import Request
from .schema_data import BrokerError, SchemaData, from_post
from .store import base_topic

_PAYLOAD: Final = "org.apache.pulsar.common.protocol.schema.PostSchemaPayload"


class UnsupportedMediaError(Exception):
    """415: the body is not announced as JSON."""


class BadRequestError(Exception):
    """400 in plain text: Jackson cannot read the body."""


class BadNameError(Exception):
    """412: the topic's name is empty."""


class UndecodableNameError(Exception):
    """500 without a reason: the topic's name cannot be decoded."""


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """``parts`` are the variable segments of the path, still encoded: tenant, namespace, topic, version."""

    request: Request
    parts: Sequence[str]

    @property
    def tenant(self) -> str:
        return unquote(self.parts[0])

    @property
    def namespace(self) -> str:
        """``tenant/namespace``."""
        return f"{self.tenant}/{unquote(self.parts[1])}"

    @property
    def topic(self) -> str:
        """``tenant/namespace/topic``; the broker decodes a topic's name twice.

        Raises:
            BadNameError, UndecodableNameError: as above.
        """
        name = unquote(self.parts[2])
        if re.search(r"%(?![0-9A-Fa-f]{2})", name):
            raise UndecodableNameError("Request failed.")
        name = unquote_plus(name)
        if not name.strip():
            raise BadNameError("Topic name is not valid")
        return f"{self.namespace}/{base_topic(name)}"

    def version(self) -> int:
        """The version in the path, as Java's Long.parseLong takes it.

        Raises:
            BrokerError: it is no int64.
        """
        text = self.parts[3]
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", text) or not -(2**63) <= int(text) < 2**63:
            raise BrokerError(f'For input string: "{text}"')
        return int(text)

    def flag(self, name: str) -> bool:
        """Whether the query has ``name=true``."""
        return parse_qs(self.request.target.partition("?")[2]).get(name) == ["true"]

    def json(self) -> Any:
        """The body, parsed; None when it is empty, as in the broker.

        Raises:
            UnsupportedMediaError, BadRequestError: as above.
        """
        if self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            raise UnsupportedMediaError
        if not self.request.body.strip():
            return None
        try:
            return json.loads(self.request.body)
        except ValueError as error:
            raise BadRequestError(f"{error}\n at [Source: REDACTED]") from None

    def payload(self) -> Payload | None:
        """The body as Jackson makes a PostSchemaPayload of it: unknown keys are ignored, scalars become text.

        Raises:
            UnsupportedMediaError, BadRequestError: as above.
        """
        body = self.json()
        if body is None:
            return None
        if not isinstance(body, dict):
            raise BadRequestError(f"Cannot deserialize value of type `{_PAYLOAD}`")
        properties = body.get("properties")
        if not isinstance(properties, dict | None):
            raise BadRequestError("Cannot deserialize value of type `java.util.LinkedHashMap`")
        texts = {key: _text(value) for key, value in (properties or {}).items()}
        return Payload(_text(body.get("type")), _text(body.get("schema")), texts)


@dataclass(frozen=True, slots=True)
class Payload:
    type: str | None
    schema: str | None
    properties: dict[str, str | None]


def schema_data(payload: Payload | None) -> SchemaData:
    """What the payload asks to register.

    Raises:
        BrokerError: something is missing or unknown.
    """
    if payload is None:
        raise BrokerError(f'Cannot invoke "{_PAYLOAD}.getType()" because "payload" is null')
    if payload.schema is None:
        raise BrokerError(
            'Cannot invoke "String.getBytes(java.nio.charset.Charset)" because the return value of '
            f'"{_PAYLOAD}.getSchema()" is null'
        )
    return from_post(payload.type, payload.schema, payload.properties)


def _text(value: Any) -> str | None:
    if isinstance(value, dict | list):
        token = "OBJECT" if isinstance(value, dict) else "ARRAY"
        raise BadRequestError(f"Cannot deserialize value of type `java.lang.String` (token `JsonToken.START_{token}`)")
    return value if isinstance(value, str | None) else json.dumps(value)
