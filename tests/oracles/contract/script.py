"""Contract scripts: the requests to send, and the required responses.

``{case}`` in paths, bodies and expectations stands for the name of the case, which is also the name of its topic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from .said import Said, words

JSON: Final[Mapping[str, str]] = {"Accept": "application/json"}
ANYTHING: Final = object()


@dataclass(frozen=True)
class Ask:
    """One request, and the expected response; by default, success."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)
    status: Any = None
    expected: Any = ANYTHING
    refusal: str | None = None
    content_type: Any = ANYTHING

    def gives(self, body: Any, status: int = 200) -> Self:
        """Expect exactly this JSON or text."""
        return replace(self, status=status, expected=body)

    def registers(self, version: int) -> Self:
        return self.gives({"version": {"version": version}})

    def finds(self, version: int) -> Self:
        """Expect this version, in the format of lookups and deletions."""
        return self.gives({"version": version})

    def done(self, status: int = 204) -> Self:
        """Expect success without a body."""
        return self.gives(None, status)

    def anyway(self) -> Self:
        """Expect nothing but that both servers respond alike."""
        return replace(self, status=ANYTHING)

    def refused(self, status: int, begins: str = "") -> Self:
        """Expect an error whose text begins like this, in any of the error formats."""
        return replace(self, status=status, refusal=begins)

    def as_a(self, content_type: str | None) -> Self:
        return replace(self, content_type=content_type)

    def accepting(self, accept: str | None) -> Self:
        return self.with_headers(Accept=accept)

    def with_headers(self, **headers: str | None) -> Self:
        """Send other headers; ``_`` stands for a hyphen, and None removes a header."""
        merged = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return replace(self, headers={name: value for name, value in merged.items() if value is not None})

    def complaints(self, case: str, said: Said) -> list[str]:
        """Return what is wrong with this response."""
        wanted: list[tuple[str, Any, Any]] = []
        if self.status is None:
            wanted.append(("a success", True, 200 <= said.status < 300))
        elif self.status is not ANYTHING:
            wanted.append(("status", self.status, said.status))
        if self.expected is not ANYTHING:
            wanted.append(("body", _named(self.expected, case), said.body))
        if self.content_type is not ANYTHING:
            wanted.append(("content type", self.content_type, said.content_type))
        found = [f"{what}: expected {right!r}, got {got!r}" for what, right, got in wanted if right != got]
        if self.refusal is not None and not words(said).startswith(_named(self.refusal, case)):
            found.append(f"words: expected {self.refusal!r}..., got {words(said)!r}")
        return [f"{self.method} {self.path}: {complaint} in {said}" for complaint in found]


@dataclass(frozen=True)
class Case:
    """A script, named after what it promises."""

    promise: str
    asks: tuple[Ask, ...]

    def __init__(self, promise: str, *asks: Ask) -> None:
        object.__setattr__(self, "promise", promise)
        object.__setattr__(self, "asks", asks)

    @property
    def name(self) -> str:
        """The name of its topic, its tenant, or its other resources."""
        return "".join(char if char.isascii() and char.isalnum() else "_" for char in self.promise)

    def complaints(self, transcript: tuple[Said, ...]) -> list[str]:
        return [
            complaint
            for ask, said in zip(self.asks, transcript, strict=True)
            for complaint in ask.complaints(self.name, said)
        ]


def schema_path(leaf: str = "schema", at: str = "", namespace: str = "public/default") -> str:
    """Return the path of the topic's schema; ``at`` is appended to the topic's name unchanged."""
    return f"/admin/v2/schemas/{namespace}/{{case}}{at}/{leaf}"


def register(schema: Any, kind: str = "AVRO", *, leaf: str = "schema", **more: Any) -> Ask:
    """POST ``schema``, which is text or a JSON value; ``more``: at, namespace, and properties."""
    where = {key: more.pop(key) for key in ("at", "namespace") if key in more}
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return send({"type": kind, "schema": text, "properties": more.pop("properties", {})}, leaf, **where, **more)


def lookup(schema: Any, kind: str = "AVRO", **more: Any) -> Ask:
    return register(schema, kind, leaf="version", **more)


def would_take(schema: Any, kind: str = "AVRO", **more: Any) -> Ask:
    return register(schema, kind, leaf="compatibility", **more)


def send(payload: Any, leaf: str = "schema", **where: str) -> Ask:
    """POST any payload to the topic; bytes are sent unchanged."""
    return post(schema_path(leaf, **where), payload)


def post(path: str, body: Any) -> Ask:
    return _with_body("POST", path, body)


def put(path: str, body: Any = None) -> Ask:
    return _with_body("PUT", path, body)


def get(leaf: str = "schema", **where: str) -> Ask:
    """GET a sub-path of the topic's schemas, or any path."""
    return Ask("GET", leaf if leaf.startswith("/") else schema_path(leaf, **where))


def delete(leaf: str = "schema", **where: str) -> Ask:
    return Ask("DELETE", leaf if leaf.startswith("/") else schema_path(leaf, **where))


def make_tenant() -> Ask:
    """Create a tenant that only this case uses."""
    return put("/admin/v2/tenants/{case}", {"adminRoles": [], "allowedClusters": ["standalone"]}).done()


def _with_body(method: str, path: str, body: Any) -> Ask:
    if body is None:
        return Ask(method, path)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Ask(method, path, data, {**JSON, "Content-Type": "application/json"})


def _named(value: Any, case: str) -> Any:
    if isinstance(value, str):
        return value.replace("{case}", case)
    if isinstance(value, dict):
        return {key: _named(item, case) for key, item in value.items()}
    return [_named(item, case) for item in value] if isinstance(value, list) else value
