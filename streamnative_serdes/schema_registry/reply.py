"""One answer of the registry: status, headers, body, and the broker's own words found in them.

Pulsar words a refusal in four ways: JSON with ``reason``; Jetty's error page, JSON with an HTML-escaped
``message``; plain text with a ``Message:`` before a Java stack trace; or, when the page would be large, an empty
body and the text in the HTTP reason phrase, cut at 1,024 characters.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, quote_plus

MAX_QUOTE: Final = 1_000  # characters of foreign text in an error message; a 409 holds two whole schemas
MAX_WORDS: Final = 64 * 1024  # characters of a broker's words kept on an error
_LEAST_SECRET: Final = 12  # characters of credentials; shorter ones stand in schemas by chance
_WORDS: Final = re.compile(r"[^\W\d]+(?:[.-][^\W\d]+)*")  # as do "streamnative" and other names, however long
_HIDDEN: Final = "[hidden]"
_NO_JSON: Final = object()

_MESSAGE = re.compile(r"^Message: ?(.*?)(?=^Stacktrace:|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reply:
    """``phrase`` is the HTTP reason phrase; ``headers`` are found in any case; ``url`` is the last address asked.

    ``secrets`` are what was sent and must not be shown, though a server may repeat it. The body is not shown either: an
    issuer's is the token.
    """

    status: int
    phrase: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    url: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def json(self) -> Any:
        """The body's JSON.

        Raises:
            ValueError: the body is none.
        """
        tree = _tree(self.body)
        if tree is _NO_JSON:  # raised out here: json's own error holds the body, which may repeat our credentials
            raise ValueError("JSON")
        return tree

    def hide(self, text: str) -> str:
        """``text`` of the server's without what it repeats of our credentials."""
        return hidden(text, self.secrets)

    def repeats(self, text: str) -> bool:
        """Whether a text of the server's has credentials of ours, in any case, that cannot be there by chance."""
        folded = text.casefold()
        sure = (secret for secret in self.secrets if len(secret) >= _LEAST_SECRET and not _WORDS.fullmatch(secret))
        return any(form.casefold() in folded for form in forms(sure))

    def beginning(self) -> str:
        """Of a body that nobody understands, to be shown."""
        return self._shown(self.body[:MAX_WORDS].decode("utf-8", "replace"), cut=len(self.body) > MAX_WORDS)

    @property
    def reason(self) -> str:
        """JSON ``reason`` as Pulsar itself gives it, or "" where something in front of it answered."""
        return self._member("reason")

    def has(self, member: str) -> bool:
        """Whether the body is a JSON object with this member."""
        tree = _tree(self.body)
        return isinstance(tree, dict) and member in tree

    def words(self) -> str:
        """Why the request was refused, in the broker's words, at most ``MAX_WORDS`` characters."""
        return (
            self._shown(self.reason, _message_line)
            or self._shown(self._member("message"), _unescaped)
            or self._shown(self._plain_text(), _message_line)
            or self._shown(self.phrase)
            or f"HTTP {self.status}"
        )

    def _shown(self, text: str, meaning: Callable[[str], str] = str, *, cut: bool = False) -> str:
        """What is looked at is bounded: megabytes take seconds."""
        found = self.hide(meaning(text[:MAX_WORDS]).strip())
        if cut or len(text) > MAX_WORDS:  # a secret that was cut in two is not found
            found = found[: max(0, len(found) - max(map(len, forms(self.secrets)), default=0))]
        return found[:MAX_WORDS]

    def _member(self, name: str) -> str:
        tree = _tree(self.body)
        value = tree.get(name) if isinstance(tree, dict) else None
        return value if isinstance(value, str) else ""

    def _plain_text(self) -> str:
        if not self.headers.get("Content-Type", "").lower().startswith("text/plain"):
            return ""
        return self.body.decode("utf-8", "replace")


def _tree(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # also a number of more digits than Python reads
        return _NO_JSON


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a character's number of more digits than Python reads
        return text


def forms(secrets: Iterable[str]) -> list[str]:
    """The secrets, plain or as they stand in a form or an address, the longest first."""
    found = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""), quote_plus(secret))}
    return sorted(found, key=len, reverse=True)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """``text`` without the secrets."""
    for form in forms(secrets):  # one may be the beginning of another
        text = text.replace(form, _HIDDEN)
    return text


def quoted(text: str) -> str:
    """``text`` for an error message: on one line, printable, at most ``MAX_QUOTE`` characters."""
    line = " ".join(text[: 2 * MAX_QUOTE].split())
    line = "".join(char if char.isprintable() else "?" for char in line)
    return line if len(line) <= MAX_QUOTE else f"{line[:MAX_QUOTE]}..."


def _message_line(text: str) -> str:
    """What stands between ``Message:`` and the stack trace; the whole text where there is neither."""
    found = _MESSAGE.search(text)
    return (found[1] if found else text).strip()
