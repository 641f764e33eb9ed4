"""One request and one answer, in the shapes of Pulsar's web server: JSON, a reason, Jetty's error page, plain text."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from typing import Any, Final

PHRASE_LIMIT: Final = 1024  # characters of a reason phrase
PAGE_LIMIT: Final = 32_768  # bytes of an error page; Jetty sends none at all instead of a larger one
_SERVLET = "org.glassfish.jersey.servlet.ServletContainer-10c47c79"


@dataclass(frozen=True, slots=True)
class Request:
    """``target`` is path and query as sent."""

    method: str
    target: str
    headers: Message
    body: bytes = b""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def accepts(self, media_type: str) -> bool:
        kinds = [part.partition(";")[0].strip() for part in self.headers.get("Accept", "*/*").split(",")]
        return any(kind in ("*/*", media_type, media_type.partition("/")[0] + "/*") for kind in kinds)


@dataclass(frozen=True, slots=True)
class Answer:
    """``phrase`` is the HTTP reason phrase, None for the usual one of ``status``."""

    status: int
    body: bytes = b""
    content_type: str | None = None
    phrase: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def status_text(self) -> str:
        """The reason phrase as it is sent: ISO 8859-1 in one line, cut."""
        phrase = usual_phrase(self.status) if self.phrase is None else self.phrase
        line = "".join(char if char.isprintable() else "?" for char in phrase[:PHRASE_LIMIT])
        return line.encode("iso-8859-1", "replace").decode("iso-8859-1")


def usual_phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "Unknown"


def as_json(value: Any, status: int = 200, phrase: str | None = None) -> Answer:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status, body, "application/json", phrase)


def as_reason(status: int, reason: str) -> Answer:
    """``{"reason": ...}``, as the admin API's RestException has it."""
    return as_json({"reason": reason}, status, reason)


def as_broker_error(message: str, exception: str = "java.lang.RuntimeException") -> Answer:
    """500 with a stack trace as the reason; an empty message is Java's null."""
    reason = (
        "\n --- An unexpected error occurred in the server ---\n\n"
        f"Message: {message or 'null'}\n\nStacktrace:\n\n{exception}: {message or 'null'}\n"
        "\tat org.apache.pulsar.broker.admin.impl.SchemasResourceBase(SchemasResourceBase.java)\n"
    )
    return as_json({"reason": reason}, 500, message or "Server Error")


def as_text(status: int, text: str) -> Answer:
    return Answer(status, text.encode(), "text/plain")


def as_page(status: int, message: str, request: Request) -> Answer:
    """Jetty's error page in the form that the client accepts; none for PUT and DELETE, none when it gets too large.

    The message stands in the reason phrase too, except that of a failure inside Jetty.
    """
    phrase = "Server Error" if status == 500 else message
    headers = (("Cache-Control", "must-revalidate,no-cache,no-store"),)
    if request.method not in ("GET", "POST"):
        return Answer(status, phrase=phrase, headers=headers)
    body, content_type = _page(status, message, request)
    if len(body) > PAGE_LIMIT:
        return Answer(status, phrase=phrase, headers=headers)
    return Answer(status, body, content_type, phrase, headers)


def _page(status: int, message: str, request: Request) -> tuple[bytes, str]:
    rows = {"url": request.path, "status": str(status), "message": message, "servlet": _SERVLET}
    accept = request.headers.get("Accept", "*/*")
    if "json" in accept or "application/*" in accept:
        order = ("servlet", "message", "url", "status")
        parts = (f'"{key}":{json.dumps(_escape(rows[key]), ensure_ascii=False)}' for key in order)
        return ("{\n" + ",\n".join(parts) + "\n}").encode(), "application/json"
    if "text/plain" in accept:
        lines = f"URI: {request.path}\nSTATUS: {status}\nMESSAGE: {message}\nSERVLET: {_SERVLET}\n"
        text = f"HTTP ERROR {status} {message}\n{lines}"
        return text.encode("iso-8859-1", "replace"), "text/plain;charset=iso-8859-1"
    return _html(rows).encode("iso-8859-1", "replace"), "text/html;charset=iso-8859-1"


def _html(rows: Mapping[str, str]) -> str:
    title = _escape(f"{rows['status']} {rows['message']}")
    labels = {"URI": "url", "STATUS": "status", "MESSAGE": "message", "SERVLET": "servlet"}
    table = "\n".join(f"<tr><th>{label}:</th><td>{_escape(rows[key])}</td></tr>" for label, key in labels.items())
    return (
        '<html>\n<head>\n<meta http-equiv="Content-Type" content="text/html;charset=ISO-8859-1"/>\n'
        f"<title>Error {title}</title>\n</head>\n<body><h2>HTTP ERROR {title}</h2>\n<table>\n{table}\n</table>\n\n"
        "</body>\n</html>\n"
    )


def _escape(text: str) -> str:
    """Jetty escapes for XML, also inside JSON."""
    return html.escape(text, quote=False).replace('"', "&quot;").replace("'", "&apos;")
