"""One HTTP response: status, headers, body, the broker's error message, and a wrong server at the address.

An unexpected server at an address is inferred from how a request fails. Source: Apache Kafka 4 and Pulsar 4.0 on all
of their ports, as observed.

Pulsar sends an error message in four forms: JSON with ``reason``; Jetty's error page, JSON with an HTML-escaped
``message``, in which Jetty 12 (Pulsar 4.2) writes line breaks as they are; plain text with a ``Message:`` before a
Java stack trace; or, if the page would be large, an empty body, and from Jetty 9 the text in the HTTP reason phrase,
cut at 1,024 characters. Anything else is text: a proxy's page, or JSON that is damaged or has other members.
"""

from __future__ import annotations

import html
import http.client
import json
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, quote_plus, urlsplit

_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
_RECORDS: Final = ("\x15\x03", "\x16\x03")  # the first bytes of a TLS alert and of a TLS handshake


@dataclass(frozen=True, slots=True)
class Expected:
    """The server that should listen at an address.

    Args:
        closing: completes "is this ...?": other ports near the server that close HTTP connections.
        ports: completes "use ...": the server's ports, with examples.
        https: the server's port for https.
    """

    closing: str
    ports: str
    https: str


class Diagnosis(Enum):
    """The finding about the address of a failed request, which may be wrong unless it has answered before."""

    REFUSED = "the connection was refused, or the host is unknown"
    CLOSED = "the connection was closed without a response"
    SPEAKS_TLS = "the address is http, but the server speaks TLS"
    NO_TLS = "the address is https, but the server does not speak TLS"
    NOT_HTTP = "the server does not speak HTTP"

    def hint(self, url: str, expected: Expected) -> str | None:
        """The hint that names the address to use instead of ``url``, where ``expected`` should listen."""
        host = urlsplit(url).netloc
        if self is Diagnosis.CLOSED:
            return f"is this {expected.closing}? These close HTTP connections; use {expected.ports}"
        if self is Diagnosis.SPEAKS_TLS:
            return f"the port speaks TLS: use https://{host}"
        if self is Diagnosis.NO_TLS:
            return f"the port does not speak TLS: use http://{host}, or {expected.https}"
        if self is Diagnosis.NOT_HTTP:
            return f"use {expected.ports}"
        return None


def diagnose(fault: BaseException) -> Diagnosis | None:
    """Diagnose a failed request by its root cause."""
    if isinstance(fault, ConnectionRefusedError | socket.gaierror):
        return Diagnosis.REFUSED
    # http.client.RemoteDisconnected is a ConnectionError and a BadStatusLine.
    if isinstance(fault, ConnectionError | ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Diagnosis.CLOSED
    if isinstance(fault, http.client.BadStatusLine):
        return Diagnosis.SPEAKS_TLS if str(fault).startswith(_RECORDS) else Diagnosis.NOT_HTTP
    if isinstance(fault, ssl.SSLError) and fault.reason in _NO_TLS:
        return Diagnosis.NO_TLS
    return None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no response.

    ``lasting``: a retry would fail as well. ``late``: the deadline had passed. ``diagnosis``: what probably listens at
    the address, if not a registry.
    """

    text: str
    lasting: bool
    hint: str | None = None
    late: bool = False
    diagnosis: Diagnosis | None = None


MAX_QUOTE: Final = 1_000  # characters of a response in an error message; a 409 contains two whole schemas
MAX_WORDS: Final = 64 * 1024  # characters of the broker's message kept on an error
_LEAST_SECRET: Final = 12  # characters of credentials; shorter ones occur in schemas by chance
_WORDS: Final = re.compile(r"[^\W\d]+(?:[.-][^\W\d]+)*")  # so do names such as "streamnative", however long
_HIDDEN: Final = "[hidden]"
_NO_JSON: Final = object()

# Reason phrases that say no more than the status: the standard's of now and before (RFC 9110, 2616), and Jetty 12's.
_USUAL: Final = {one.value: (one.phrase.lower(),) for one in HTTPStatus} | {
    413: ("request entity too large", "content too large"),
    414: ("request-uri too long", "uri too long"),
    416: ("requested range not satisfiable", "range not satisfiable"),
    422: ("unprocessable entity", "unprocessable content"),
    500: ("internal server error", "server error"),
}
_LATIN_1: Final = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}  # of what surrogateescape makes of bytes
_TAGS: Final = re.compile(r"<[^<>]*>")
_MESSAGE = re.compile(r"^Message: ?(.*?)(?=^Stacktrace:|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Reply:
    """An HTTP response. ``phrase`` is the reason phrase; ``headers`` ignore case; ``url`` is the last URL requested.

    ``secrets`` are the credentials that were sent: the server may echo them, and they must not be shown. The repr omits
    the body too, since an issuer's body is the token.
    """

    status: int
    phrase: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    url: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def json(self) -> Any:
        """The body, parsed.

        Raises:
            ValueError: the body is not JSON.
        """
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):  # ValueError also for integers with more digits than Python converts
            pass
        raise ValueError("JSON")  # not chained to json's error, which contains the body and perhaps our credentials

    def hide(self, text: str) -> str:
        """The server's ``text`` with our credentials masked."""
        return hidden(text, self.secrets) if any(self.secrets) else text

    def repeats(self, text: str) -> bool:
        """Whether the server's ``text`` contains our credentials, ignoring case, and not by chance."""
        if not any(self.secrets):
            return False
        folded = text.casefold()
        sure = (secret for secret in self.secrets if len(secret) >= _LEAST_SECRET and not _WORDS.fullmatch(secret))
        return any(form.casefold() in folded for form in forms(sure))

    def beginning(self) -> str:
        """The beginning of the body, for an error about an unexpected response."""
        return self._shown(_decoded(self.body[:MAX_WORDS]), cut=len(self.body) > MAX_WORDS)

    @cached_property
    def reason(self) -> str:
        """The JSON member ``reason``, which Pulsar itself sets; "" if a proxy in front of it answered."""
        return self.text("reason")

    def text(self, member: str) -> str:
        """The body's member, if the body is a JSON object and the member text; "" otherwise."""
        value = self._tree.get(member) if isinstance(self._tree, dict) else None
        return value if isinstance(value, str) else ""

    def has(self, member: str) -> bool:
        """Whether the body is a JSON object with this member."""
        return isinstance(self._tree, dict) and member in self._tree

    def number(self, member: str) -> int | None:
        """The body's member, if the body is a JSON object and the member a whole number."""
        value = self._tree.get(member) if isinstance(self._tree, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def words(self) -> str:
        """The broker's error message, at most ``MAX_WORDS`` characters."""
        return (
            self._shown(self.reason, _message_line)
            or self._shown(self.text("message"), _unescaped)
            or self._shown(self._text(plain=True), _message_line)
            or self._phrase_and_text()
            or f"HTTP {self.status}"
        )

    def _shown(self, text: str, meaning: Callable[[str], str] = str, *, cut: bool = False) -> str:
        """``text`` with credentials masked. It is cut before the search: megabytes take seconds."""
        found = self.hide(meaning(text[:MAX_WORDS]).strip())
        if cut or len(text) > MAX_WORDS:  # the cut may have split a secret, which the search then misses
            found = found[: max(0, len(found) - max(map(len, forms(self.secrets)), default=0))]
        return found[:MAX_WORDS]

    @cached_property
    def _tree(self) -> Any:
        """The parsed body; unlike in :meth:`json`, line breaks and other control characters may be in its texts."""
        try:
            return json.loads(self.body, strict=False)
        except (ValueError, RecursionError):
            return _NO_JSON

    def _text(self, plain: bool) -> str:
        """The body as text, if it is text/plain (with ``plain``) or not (without); "" otherwise and for empty JSON."""
        if self.headers.get("Content-Type", "").lower().startswith("text/plain") != plain:
            return ""
        return "" if self._tree in ({}, [], None, "") else _decoded(self.body)

    @cached_property
    def is_json(self) -> bool:
        """Whether the body is JSON."""
        return self._tree is not _NO_JSON

    @property
    def is_page(self) -> bool:
        """Whether the body is HTML."""
        kind, start = self.headers.get("Content-Type", ""), self.body[:100].lstrip().lower()
        return "html" in kind.lower() or start.startswith((b"<!doctype html", b"<html"))

    def _phrase_and_text(self) -> str:
        """The reason phrase, or the body's text after it if the phrase is only the usual phrase of the status."""
        text = self._shown(self._text(plain=False), _words_of_page if self.is_page else str)
        usual = self.phrase.lower() in _USUAL.get(self.status, ())
        if not text or (self.phrase and not usual):
            return self._shown(_decoded(self.phrase.encode("latin-1", "replace")))  # how http.client has read it
        return f"{self.phrase}: {text}"[:MAX_WORDS] if self.phrase else text


def _decoded(text: bytes) -> str:
    """``text`` in UTF-8; other bytes are read as ISO 8859-1, so that credentials are found in either."""
    return text.decode("utf-8", "surrogateescape").translate(_LATIN_1)


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a character reference with more digits than Python converts
        return text


def forms(secrets: Iterable[str]) -> list[str]:
    """The secrets, as they are and percent-encoded as in forms and URLs, longest first."""
    found = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""), quote_plus(secret))}
    return sorted(found, key=len, reverse=True)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """``text`` with the secrets masked."""
    for form in forms(secrets):  # longest first: one may be a prefix of another
        text = text.replace(form, _HIDDEN)
    return text


def quoted(text: str) -> str:
    """``text`` for an error message: on one line, printable, at most ``MAX_QUOTE`` characters."""
    line = " ".join(text[: 2 * MAX_QUOTE].split())
    if not line.isprintable():
        line = "".join(char if char.isprintable() else "?" for char in line)
    return line if len(line) <= MAX_QUOTE else f"{line[:MAX_QUOTE]}..."


def _words_of_page(text: str) -> str:
    return _unescaped(" ".join(_TAGS.sub(" ", text).split()))


def _message_line(text: str) -> str:
    """The text between ``Message:`` and the stack trace; the whole text if there is no ``Message:``."""
    found = _MESSAGE.search(text)
    return (found[1] if found else text).strip()
