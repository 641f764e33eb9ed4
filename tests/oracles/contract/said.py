"""Normalized responses: removes timestamps, stack traces, ports, servlet ids and parser messages."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from email.message import Message
from typing import Any, Final

HEADERS: Final = ("Content-Type", "Cache-Control", "WWW-Authenticate", "Location", "Retry-After", "Allow")
_TRACE = re.compile(r"(Stacktrace:\n\n.*?)\n\t(?:at |\.\.\. |Suppressed: ).*", re.DOTALL)
_SERVLET = re.compile(r"org\.glassfish\.jersey\.servlet\.ServletContainer-[0-9a-f]+")
_JACKSON = re.compile(r"\A.* at \[Source: REDACTED.*", re.DOTALL)  # the body of a 400
_GSON = re.compile(r"(?:com\.google\.gson\.stream\.\w+|java\.io\.EOFException): [^\n]* path [^\n]*")
_JETTY = re.compile(r"Powered by Jetty:// [\w.]+")
_PORT = re.compile(r"127\.0\.0\.1:\d+")


@dataclass(frozen=True, slots=True)
class Said:
    """A normalized response; ``body`` is parsed if it is JSON, and None if there is no body."""

    status: int
    phrase: str
    headers: tuple[tuple[str, str], ...]
    body: Any

    @classmethod
    def of(cls, status: int, phrase: str, headers: Message, body: bytes) -> Said:
        kept = tuple((name, _timeless(_in_order(name, headers[name]))) for name in HEADERS if name in headers)
        return cls(status, _timeless(phrase), kept, _normal(body, headers.get("Content-Type", "")))

    @property
    def content_type(self) -> str | None:
        return dict(self.headers).get("Content-Type")


def _in_order(name: str, value: str) -> str:
    """Sort the methods, because Java returns them as an unordered set."""
    return ",".join(sorted(value.split(","))) if name == "Allow" else value


def words(said: Said) -> str:
    """Return the error text of the server: the reason without its stack trace, or the message of Jetty's page."""
    if isinstance(said.body, dict) and "reason" in said.body:
        found = re.search(r"^Message: (.*)\n\nStacktrace:", said.body["reason"], re.DOTALL | re.MULTILINE)
        return found[1] if found else str(said.body["reason"])
    if isinstance(said.body, dict) and "message" in said.body:
        return html.unescape(str(said.body["message"]))
    return said.body if isinstance(said.body, str) else said.phrase


def _normal(body: bytes, content_type: str) -> Any:
    if not body:
        return None
    if content_type.startswith("application/json"):
        return _plain(json.loads(body, strict=False))
    return _timeless(body.decode("iso-8859-1" if "8859" in content_type else "utf-8"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _time(item) if key == "timestamp" else _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _timeless(value) if isinstance(value, str) else value


def _time(value: Any) -> str:
    """Return a constant for a time in milliseconds since 1970; a text that differs if it is not one."""
    return "a time" if type(value) is int and 10**12 < value < 4 * 10**12 else f"no time: {value!r}"


def _timeless(text: str) -> str:
    for pattern, replacement in _FORMS:
        text = pattern.sub(replacement, text)
    return text


_FORMS: Final = (
    (_TRACE, r"\1"),
    (_SERVLET, "SERVLET"),
    (_JETTY, "Powered by Jetty"),
    (_JACKSON, "what Jackson says"),
    (_GSON, "what Gson says"),
    (_PORT, "127.0.0.1:PORT"),
)
