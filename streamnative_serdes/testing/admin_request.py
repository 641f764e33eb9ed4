"""Admin API request parsing: the topic or namespace in the path, and the JSON body.

Source: Pulsar's JAX-RS resources and the Jackson mapper in front of them, as observed on 4.0.8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, unquote, unquote_plus

from streamnative_serdes._broker_rules.refusals import BrokerError
from streamnative_serdes._broker_rules.schema_data import SchemaData, from_post
from streamnative_serdes._broker_rules.store import PreconditionError, split_partition

from .http_messages import Request

_PAYLOAD: Final = "org.apache.pulsar.common.protocol.schema.PostSchemaPayload"


_NAME: Final = re.compile(r"[-=:.\w]*", re.ASCII)


class UnsupportedMediaError(Exception):
    """415: the Content-Type is not JSON."""


class BadRequestError(Exception):
    """400 in plain text: Jackson cannot parse the body. Its real message differs, and has line and column."""


class UndecodableNameError(Exception):
    """500 without a reason: the topic name cannot be decoded."""


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """A request with the variable segments of its path, still encoded: tenant, namespace, topic, version."""

    request: Request
    parts: Sequence[str]

    @property
    def tenant(self) -> str:
        return unquote(self.parts[0])

    @property
    def namespace(self) -> str:
        """``tenant/namespace``.

        Raises:
            PreconditionError: the name is not valid.
        """
        tenant, name = self.named("Namespace", self.tenant), self.named("Namespace", unquote(self.parts[1]))
        return f"{tenant}/{name}"

    def named(self, kind: str, name: str) -> str:
        """``name``, if it is valid for a tenant or namespace; the error names ``kind``, or "Topic" for topics."""
        if not _NAME.fullmatch(name):
            raise PreconditionError(f"{'Topic' if len(self.parts) > 2 else kind} name is not valid")
        return name

    @property
    def topic(self) -> str:
        """``tenant/namespace/topic``, without a partition's number.

        Raises:
            PreconditionError: its name is empty.
            UndecodableNameError: as above.
        """
        return f"{self.namespace}/{split_partition(self.local())[0]}"

    @property
    def partition(self) -> int | None:
        """The partition's number, if the path names a partition."""
        return split_partition(self.local())[1]

    def local(self) -> str:
        """The topic's local name; the broker decodes it twice if it is asked for schemas.

        Raises:
            PreconditionError: it is empty.
            UndecodableNameError: as above.
        """
        name = self.parts[2]
        if self.request.path.startswith("/admin/v2/schemas/"):
            name = unquote(name)
        if re.search(r"%(?![0-9A-Fa-f]{2})", name):
            raise UndecodableNameError("Request failed.")
        name = unquote_plus(name)
        if not name.strip():
            raise PreconditionError("Topic name is not valid")
        return name

    def version(self) -> int:
        """The version in the path, parsed as by Java's Long.parseLong.

        Raises:
            BrokerError: it is not an int64.
        """
        text = self.parts[3]
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", text) or not -(2**63) <= int(text) < 2**63:
            raise BrokerError(f'For input string: "{text}"', "NumberFormatException")
        return int(text)

    def flag(self, name: str) -> bool:
        """Whether the query has ``name=true``, ignoring case."""
        values = parse_qs(self.request.target.partition("?")[2]).get(name, [""])
        return values[0].lower() == "true"

    def json(self) -> Any:
        """The body, parsed; None when it is empty, as in the broker.

        Raises:
            UnsupportedMediaError, BadRequestError: as above.
        """
        announced = self.request.headers.get("Content-Type")
        if announced is None and not self.request.body:
            return None
        if (announced or "").partition(";")[0].strip().lower() != "application/json":
            raise UnsupportedMediaError
        if not self.request.body.strip():
            return None
        try:
            return json.loads(self.request.body)
        except ValueError as error:
            raise BadRequestError(str(error)) from None

    def payload(self) -> Payload | None:
        """The body as Jackson converts it to PostSchemaPayload: unknown keys are ignored, scalars become text.

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
    """The schema in the payload.

    Raises:
        BrokerError: a member is missing, or the type is unknown.
    """
    if payload is None:
        raise BrokerError(f'Cannot invoke "{_PAYLOAD}.getType()" because "payload" is null', "NullPointerException")
    if payload.schema is None:
        raise BrokerError(
            'Cannot invoke "String.getBytes(java.nio.charset.Charset)" because the return value of '
            f'"{_PAYLOAD}.getSchema()" is null',
            "NullPointerException",
        )
    return from_post(payload.type, payload.schema, payload.properties)


def _text(value: Any) -> str | None:
    if isinstance(value, dict | list):
        token = "OBJECT" if isinstance(value, dict) else "ARRAY"
        raise BadRequestError(f"Cannot deserialize value of type `java.lang.String` (token `JsonToken.START_{token}`)")
    return value if isinstance(value, str | None) else json.dumps(value)
