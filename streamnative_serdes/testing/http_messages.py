"""HTTP messages of Pulsar's web server: requests, and responses as JSON, Jetty's error page or plain text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from typing import Any, Final

PHRASE_LIMIT: Final = 1024  # characters of a reason phrase
PAGE_LIMIT: Final = 32_768  # bytes of an error page; Jetty sends an empty body instead of a larger one
_JETTY: Final = "9.4.58.v20250814"
_UNCACHED: Final = (("Cache-Control", "must-revalidate,no-cache,no-store"),)
_LABELS: Final = {"URI": "url", "STATUS": "status", "MESSAGE": "message", "SERVLET": "servlet"}
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x9f]")  # except those that Java counts as white space
_SERVLET: Final = "org.glassfish.jersey.servlet.ServletContainer-10c47c79"


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request; ``target`` is path and query as sent."""

    method: str
    target: str
    headers: Message
    body: bytes = b""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def accepts(self, media_type: str) -> bool:
        """Whether ``Accept`` admits this media type; an empty header counts as missing."""
        main, _, sub = media_type.partition("/")
        kinds = [kind.lower().partition("/") for kind in self.acceptable() or ["*/*"]]
        return any(one in ("*", main) and other in ("*", sub) for one, _, other in kinds)

    def acceptable(self) -> list[str]:
        """The media types of ``Accept``, by descending quality."""
        parts = [part.strip() for part in self.headers.get("Accept", "").split(",")]
        kinds = [(part.partition(";")[0].strip(), _quality(part)) for part in parts if part]
        return [kind for kind, quality in sorted(kinds, key=lambda pair: -pair[1]) if quality > 0]


def _quality(part: str) -> float:
    found = re.search(r";\s*q=([0-9.]+)", part)
    try:
        return float(found[1]) if found else 1.0
    except ValueError:
        return 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response; ``phrase`` is the reason phrase, None for the standard one of ``status``."""

    status: int
    body: bytes = b""
    content_type: str | None = None
    phrase: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def status_text(self) -> str:
        """The reason phrase as sent: ISO 8859-1 in one line, cut at ``PHRASE_LIMIT`` UTF-16 units as in Java."""
        phrase = usual_phrase(self.status) if self.phrase is None else self.phrase
        units = phrase.encode("utf-16-le", "surrogatepass")[: 2 * PHRASE_LIMIT]
        line = units.decode("utf-16-le", "replace").encode("iso-8859-1", "replace").decode("iso-8859-1")
        return line.replace("\r", "?").replace("\n", "?")


def usual_phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "Unknown"


def as_json(value: Any, status: int = 200, phrase: str | None = None) -> Answer:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status, body, "application/json", phrase)


def as_reason(status: int, reason: str) -> Answer:
    """``{"reason": ...}``, the format of the admin API's RestException."""
    return as_json({"reason": reason}, status, reason)


def as_broker_error(message: str, exception: str = "java.lang.RuntimeException") -> Answer:
    """500 with a stack trace as the reason; an empty message is Java's null."""
    first = f"{exception}: {message}" if message else exception
    reason = (
        "\n --- An unexpected error occurred in the server ---\n\n"
        f"Message: {message or 'null'}\n\nStacktrace:\n\n{first}\n"
        "\tat org.apache.pulsar.broker.admin.impl.SchemasResourceBase(SchemasResourceBase.java)\n"
    )
    return as_json({"reason": reason}, 500, message or "Server Error")


def as_text(status: int, text: str) -> Answer:
    return Answer(status, text.encode(), "text/plain")


def as_bad_message() -> Answer:
    """Jetty's response to a request that it cannot parse."""
    return Answer(400, b"<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>", "text/html;charset=iso-8859-1")


def as_page(status: int, message: str, request: Request) -> Answer:
    """Jetty's error page in a format that the client accepts; empty for PUT and DELETE, and if it would be too large.

    The reason phrase contains the message too, except for a failure inside Jetty.
    """
    phrase = "Server Error" if status == 500 else message
    if request.method not in ("GET", "POST"):
        return Answer(status, phrase=phrase)
    body, content_type = _page(status, message, request)
    if len(body) > PAGE_LIMIT:
        return Answer(status, phrase=phrase)
    if not body:
        return Answer(status, phrase=phrase, headers=_UNCACHED)
    return Answer(status, body, content_type, phrase, _UNCACHED)


def _page(status: int, message: str, request: Request) -> tuple[bytes, str]:
    """The page in the first accepted type that Jetty can write; empty if there is no such type."""
    rows = {"url": request.path, "status": str(status), "message": message, "servlet": _SERVLET}
    for kind in request.acceptable() if "Accept" in request.headers else ["*/*"]:
        if kind in ("text/html", "text/*", "*/*"):
            return _html(rows).encode("iso-8859-1", "replace"), "text/html;charset=iso-8859-1"
        if kind in ("application/json", "text/json"):
            return _json(rows), kind
        if kind == "text/plain":
            return _plain(rows).encode("iso-8859-1", "replace"), "text/plain;charset=iso-8859-1"
    return b"", ""


def _json(rows: Mapping[str, str]) -> bytes:
    order = ("servlet", "message", "url", "status")
    parts = (f'"{key}":{json.dumps(_escape(rows[key]), ensure_ascii=False)}' for key in order)
    return ("{\n" + ",\n".join(parts) + "\n}").encode()


def _plain(rows: Mapping[str, str]) -> str:
    labels = "".join(f"{label}: {rows[key]}\n" for label, key in _LABELS.items())
    return f"HTTP ERROR {rows['status']} {rows['message']}\n{labels}"


def _html(rows: Mapping[str, str]) -> str:
    title = _escape(f"{rows['status']} {rows['message']}")
    table = "\n".join(f"<tr><th>{label}:</th><td>{_escape(rows[key])}</td></tr>" for label, key in _LABELS.items())
    return (
        '<html>\n<head>\n<meta http-equiv="Content-Type" content="text/html;charset=ISO-8859-1"/>\n'
        f"<title>Error {title}</title>\n</head>\n<body><h2>HTTP ERROR {title}</h2>\n<table>\n{table}\n</table>\n"
        f'<hr/><a href="https://jetty.org/">Powered by Jetty:// {_JETTY}</a><hr/>\n\n'
        "</body>\n</html>\n"
    )


def _escape(text: str) -> str:
    """Jetty escapes for XML, also inside JSON."""
    text = _CONTROLS.sub("?", text)
    return html.escape(text, quote=False).replace('"', "&quot;").replace("'", "&apos;")
