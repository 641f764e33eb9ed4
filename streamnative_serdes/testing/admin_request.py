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
from .refusals import BrokerError
from .schema_data import SchemaData, from_post
from .store import PreconditionError, split_partition

_PAYLOAD: Final = "org.apache.pulsar.common.protocol.schema.PostSchemaPayload"


_NAME: Final = re.compile(r"[-=:.\w]*", re.ASCII)


class UnsupportedMediaError(Exception):
    """415: the body is not announced as JSON."""


class BadRequestError(Exception):
    """400 in plain text: Jackson cannot read the body. Its own words differ, and name line and column."""


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
        """``tenant/namespace``.

        Raises:
            PreconditionError: there can be no such.
        """
        tenant, name = self.named("Namespace", self.tenant), self.named("Namespace", unquote(self.parts[1]))
        return f"{tenant}/{name}"

    def named(self, kind: str, name: str) -> str:
        """The name, if a tenant or a namespace may have it; an error is that of the ``kind`` that was asked for."""
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
        """The number of the partition that is named in place of a topic."""
        return split_partition(self.local())[1]

    def local(self) -> str:
        """The topic's own name; the broker decodes it twice.

        Raises:
            PreconditionError: it is empty.
            UndecodableNameError: as above.
        """
        name = unquote(self.parts[2])
        if re.search(r"%(?![0-9A-Fa-f]{2})", name):
            raise UndecodableNameError("Request failed.")
        name = unquote_plus(name)
        if not name.strip():
            raise PreconditionError("Topic name is not valid")
        return name

    def version(self) -> int:
        """The version in the path, as Java's Long.parseLong takes it.

        Raises:
            BrokerError: it is no int64.
        """
        text = self.parts[3]
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", text) or not -(2**63) <= int(text) < 2**63:
            raise BrokerError(f'For input string: "{text}"', "NumberFormatException")
        return int(text)

    def flag(self, name: str) -> bool:
        """Whether the query has ``name=true``, in any case."""
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
