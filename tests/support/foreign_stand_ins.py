"""Stand-ins for the registries of Apicurio (API v2 and v3), Azure and AWS Glue, as far as readers ask them.

Source: Apicurio 2.6.13, which `tests/integration` asks the same questions, and the OpenAPI document of 3.1; Azure's
REST reference and AWS's API reference.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from scripted_registry import Answer, Asked, ScriptedRegistry

MISSING = Answer(404, {"error_code": 404, "message": "No artifact was found.", "name": "ArtifactNotFoundException"})
NO_PATH = Answer(404, {"error_code": 404, "message": "Could not find resource", "name": "NotFoundException"})


class ForeignStandIn(ScriptedRegistry):
    """``with ForeignStandIn() as registry``: Apicurio below ``/apis/registry/v2`` and ``v3``, Azure at the root.

    ``schemas`` are texts by path, ``references`` lists by path. ``faults`` are answered first, one each.
    """

    def __init__(self) -> None:
        super().__init__(Answer())
        self.schemas: dict[str, str] = {}
        self.references: dict[str, list[dict[str, Any]]] = {}
        self.faults: list[Answer] = []

    @property
    def apicurio(self) -> str:
        return f"{self.url}/apis/registry/v2"

    @property
    def calls(self) -> list[str]:
        return [unquote(asked.path) for asked in self.asked]

    def add(self, path: str, schema: Any, references: list[dict[str, Any]] | None = None) -> None:
        """Keep a schema at a path such as ``/ids/globalIds/1``, or ``/$schemaGroups/$schemas/ID``."""
        self.schemas[path], self.references[path] = json.dumps(schema), references or []

    def _next(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if self.faults:
                return self.faults.pop(0)
        parts = urlsplit(asked.path)
        path = unquote(re.sub("^/apis/registry/v[23]", "", parts.path))
        if path.startswith("/$schemaGroups") and not parts.query.startswith("api-version="):
            return Answer(400, {"error": {"code": "MissingApiVersionParameter"}})
        of = path.removesuffix("/references")
        if of != path:
            return Answer(body=self.references[of]) if of in self.references else MISSING
        if "/v3/groups/" in asked.path:
            path = path.removesuffix("/content") if path.endswith("/content") else "none"
        return Answer(body=self.schemas[path].encode()) if path in self.schemas else MISSING


class NoSuchVersionError(Exception):
    """As boto3's EntityNotFoundException."""

    def __init__(self, code: str = "EntityNotFoundException") -> None:
        super().__init__(f"An error occurred ({code}) when calling the GetSchemaVersion operation")
        self.response = {"Error": {"Code": code, "Message": "Schema version is not found."}}


class GlueStandIn:
    """As boto3's client of Glue, with schemas by the UUID of their version."""

    def __init__(self) -> None:
        self.schemas: dict[str, str] = {}
        self.kind = "AVRO"
        self.asked: list[str] = []
        self.fault: Exception | None = None

    def get_schema_version(self, *, SchemaVersionId: str) -> dict[str, Any]:
        self.asked.append(SchemaVersionId)
        if self.fault is not None:
            raise self.fault
        if SchemaVersionId not in self.schemas:
            raise NoSuchVersionError
        return {"SchemaDefinition": self.schemas[SchemaVersionId], "DataFormat": self.kind, "Status": "AVAILABLE"}
