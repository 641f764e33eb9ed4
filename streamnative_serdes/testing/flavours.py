"""Pulsar releases: the differences between the responses of other releases and of 4.0.8.

Source: SchemasResourceBase of Pulsar 2.8 to 2.10; Pulsar 4.2.4 as observed: its web server is Jetty 12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from .http_messages import Answer, Request, as_page, as_reason

Flavour: TypeAlias = Callable[[str, Request, Answer], Answer]


def _as_4_2(kind: str, _request: Request, answer: Answer) -> Answer:
    """Reason phrases are the usual ones; in the JSON of an error page, line breaks are inside the texts."""
    if kind == "GET version of Pulsar":
        return replace(answer, body=b"4.2.4")
    page = answer.body.startswith(b'{\n"servlet":')
    body = _LINE_BREAK.sub(rb"\1\n", answer.body) if page else answer.body
    return replace(answer, body=body, phrase=_PHRASES.get(answer.status))


def _as_2_8(kind: str, request: Request, answer: Answer) -> Answer:
    """Register and lookup return 202; a 404 has no reason; a missing permission is a 404 too."""
    if kind == "GET version of Pulsar":
        return replace(answer, body=b"2.8.4")
    if not request.path.startswith("/admin/v2/schemas/"):
        return answer
    if answer.status == 200 and kind in ("POST schema", "POST version"):
        return replace(answer, status=202)
    reason = _reason(answer)
    if answer.status == 404 and reason == "Schema not found":
        return as_page(404, "Not Found", request)
    if answer.status == 404 and reason == "Namespace does not exist" and kind == "POST schema":
        return as_page(404, f"org.apache.pulsar.broker.web.RestException: {reason}", request)
    if answer.status == 401 and reason:  # bad or missing credentials are Jetty's page, and stay 401
        return as_reason(404, "Not Found")
    return answer


def _reason(answer: Answer) -> str:
    tree: Any = json.loads(answer.body) if answer.content_type == "application/json" and answer.body else None
    return str(tree.get("reason", "")) if isinstance(tree, dict) else ""


_PHRASES: Final = {422: "Unprocessable Entity", 500: "Server Error"}  # other than Python's, or than those of a release
_LINE_BREAK: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\n")
FLAVOURS: Final[Mapping[str, Flavour]] = {"4.0": lambda _kind, _request, answer: answer, "4.2": _as_4_2, "2.8": _as_2_8}
