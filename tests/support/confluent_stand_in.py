"""A stand-in for a registry with Confluent's REST API, over HTTP: ids, GUIDs, references, subjects and user names.

Source: Confluent's API reference and error codes, and Apicurio 2.6, which `tests/integration` asks the same questions.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from scripted_registry import Answer, Asked, ScriptedRegistry

from streamnative_serdes import _config as config

Found = Callable[..., Answer]


def conf_of(url: str, **options: Any) -> dict[str, Any]:
    """The checked options of a registry at this address, which stands beside Pulsar's."""
    given = {"schema.registry.url": "http://pulsar:1", "confluent.schema.registry.url": url, **options}
    conf = config.confluent_conf(config.parse(config.DESERIALIZER_OPTIONS, given, strict=True))
    assert conf is not None
    return conf


@dataclass(frozen=True)
class Stored:
    """A schema: ``body`` is what a client posts, without the default type. Equal ones have one id and one GUID."""

    id: int
    body: dict[str, Any] = field(hash=False)

    @property
    def guid(self) -> UUID:
        return UUID(bytes=hashlib.md5(json.dumps(self.body, sort_keys=True).encode()).digest())

    def answer(self, **more: Any) -> dict[str, Any]:
        return {**self.body, **more}


def refusal(code: int, message: str) -> Answer:
    return Answer(code if code < 1_000 else code // 100, {"error_code": code, "message": message})


def _without_nothing(asked: Asked) -> dict[str, Any]:
    """What a client posts, without members that say nothing, such as no references: they make no other schema."""
    return {name: value for name, value in json.loads(asked.body).items() if value}


class ConfluentStandIn(ScriptedRegistry):
    """``with ConfluentStandIn() as registry``.

    Args:
        guids: without them, the registry is one that does not know that endpoint.
        user_info: ``USER:PASSWORD`` that it asks for.

    ``faults`` are answered first, one each. ``incompatible`` are texts that it refuses to register. ``deleted`` are
    pairs of subject and version that are only told with ``?deleted=true``.
    """

    def __init__(self, *, guids: bool = True, user_info: str | None = None) -> None:
        super().__init__(Answer())
        self.faults: list[Answer] = []
        self.incompatible: set[str] = set()
        self.deleted: set[tuple[str, int]] = set()
        self.subjects: dict[str, list[Stored]] = {}
        self.level: str | None = "BACKWARD"  # None: it is not told
        self._guids, self._user_info = guids, user_info
        self._by_id: dict[int, Stored] = {}

    @property
    def calls(self) -> Counter[str]:
        """Requests so far, such as ``GET /schemas/ids/1``."""
        return Counter(f"{asked.method} {unquote(asked.path)}" for asked in self.asked)

    def register(
        self, subject: str, schema: Any, kind: str = "AVRO", references: tuple[Any, ...] = (), **more: Any
    ) -> int:
        """Register a tree or a text, as another client would, and return its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        body = {"schema": text, "schemaType": kind, "references": list(references), **more}
        return int(self._register(subject, {name: value for name, value in body.items() if value}).body["id"])

    def alias(self, id: int, of: int) -> None:
        """Let another id stand for the same schema."""
        self._by_id[id] = self._by_id[of]

    def guid(self, id: int) -> bytes:
        return self._by_id[id].guid.bytes

    def _next(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if self.faults:
                return self.faults.pop(0)
            expected = base64.b64encode((self._user_info or "").encode()).decode()
            if self._user_info is not None and asked.headers["Authorization"] != f"Basic {expected}":
                return refusal(40101, "Unauthorized")
            return self._answer(asked)

    def _answer(self, asked: Asked) -> Answer:
        routes: dict[str, Found] = {
            r"GET /schemas/ids/(\d+)": self._schema,
            r"GET /schemas/ids/(\d+)/versions": self._used,
            r"GET /subjects": lambda: Answer(body=list(self.subjects)),
            r"GET /subjects/([^/]+)/versions": self._versions,
            r"GET /subjects/([^/]+)/versions/(\d+|latest)(\?deleted=true)?": self._version,
            r"POST /subjects/([^/]+)": lambda subject: self._look_up(subject, _without_nothing(asked)),
            r"POST /subjects/([^/]+)/versions": lambda subject: self._register(subject, _without_nothing(asked)),
            r"GET /config(?:/[^/]+\?defaultToGlobal=true)?": lambda: self._config,
        }
        if self._guids:
            routes[r"GET /schemas/guids/([0-9a-f-]{36})"] = self._by_guid
        for route, make in routes.items():
            # What Confluent's client adds (normalize=, subject=, ...) changes nothing here.
            found = re.fullmatch(rf"{route}(?:\?[^/]*)?", f"{asked.method} {asked.path}")
            if found:
                return make(*map(unquote, found.groups("")))
        return refusal(404, "HTTP 404 Not Found")

    @property
    def _config(self) -> Answer:
        return Answer(body={"compatibilityLevel": self.level}) if self.level else refusal(40301, "Forbidden")

    def _schema(self, id: str) -> Answer:
        stored = self._by_id.get(int(id))
        return Answer(body=stored.answer()) if stored else refusal(40403, f"Schema {id} not found")

    def _by_guid(self, guid: str) -> Answer:
        found = [stored for stored in self._by_id.values() if str(stored.guid) == guid]
        return Answer(body=found[0].answer(guid=guid)) if found else refusal(40403, f"Schema {guid} not found")

    def _used(self, id: str) -> Answer:
        if int(id) not in self._by_id:
            return refusal(40403, f"Schema {id} not found")
        used = [
            {"subject": subject, "version": number}
            for subject, versions in self.subjects.items()
            for number, stored in enumerate(versions, 1)
            if stored.id == int(id)
        ]
        return Answer(body=used)

    def _versions(self, subject: str) -> Answer:
        if subject not in self.subjects:
            return refusal(40401, f"Subject '{subject}' not found.")
        return Answer(body=list(range(1, len(self.subjects[subject]) + 1)))

    def _version(self, subject: str, version: str, deleted: str) -> Answer:
        if subject not in self.subjects:
            return refusal(40401, f"Subject '{subject}' not found.")
        versions = self.subjects[subject]
        number = len(versions) if version == "latest" else int(version)
        if not 1 <= number <= len(versions) or ((subject, number) in self.deleted and not deleted):
            return refusal(40402, f"Version {version} not found.")
        stored = versions[number - 1]
        guid = {"guid": str(stored.guid)} if self._guids else {}
        return Answer(body=stored.answer(id=stored.id, subject=subject, version=number, **guid))

    def _look_up(self, subject: str, body: dict[str, Any]) -> Answer:
        if subject not in self.subjects:
            return refusal(40401, f"Subject '{subject}' not found.")
        for number, stored in enumerate(self.subjects[subject], 1):
            if stored.body == body:
                return Answer(body=stored.answer(id=stored.id, subject=subject, version=number))
        return refusal(40403, "Schema not found")

    def _register(self, subject: str, body: dict[str, Any]) -> Answer:
        body = {name: value for name, value in body.items() if (name, value) != ("schemaType", "AVRO")}
        if body["schema"] in self.incompatible:
            return refusal(409, "Schema being registered is incompatible with an earlier schema")
        if not body["schema"].startswith(("{", "[", '"', "syntax")):
            return refusal(42201, "Invalid schema")
        same = [stored for stored in self._by_id.values() if stored.body == body]
        stored = same[0] if same else Stored(len(self._by_id) + 1, body)
        self._by_id[stored.id] = stored
        versions = self.subjects.setdefault(subject, [])
        if stored not in versions:
            versions.append(stored)
        return Answer(body={"id": stored.id, **({"guid": str(stored.guid)} if self._guids else {})})
