"""One answer of the registry: status, headers, body, and the broker's own words found in them.

Pulsar words a refusal in four ways: JSON with ``reason``; Jetty's error page, JSON with an HTML-escaped
``message``; plain text with a ``Message:`` before a Java stack trace; or, when the page would be large, an empty
body and the text in the HTTP reason phrase, cut at 1,024 characters.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, quote_plus

MAX_QUOTE: Final = 1_000  # characters of foreign text in an error message; a 409 holds two whole schemas
MAX_WORDS: Final = 64 * 1024  # characters of a broker's words kept on an error
_HIDDEN: Final = "[hidden]"

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
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise ValueError("JSON") from None

    def hide(self, text: str) -> str:
        """``text`` of the server's without what it repeats of our credentials."""
        return hidden(text, self.secrets)

    @property
    def reason(self) -> str:
        """JSON ``reason`` as Pulsar itself gives it, or "" where something in front of it answered."""
        return self._member("reason")

    def words(self) -> str:
        """Why the request was refused, in the broker's words, at most ``MAX_WORDS`` characters."""
        text = (
            _message_line(self.reason)
            or html.unescape(self._member("message"))
            or self._plain_text()
            or self.phrase
            or f"HTTP {self.status}"
        )
        return self.hide(text.strip())[:MAX_WORDS]

    def _member(self, name: str) -> str:
        try:
            tree = self.json()
        except ValueError:
            return ""
        value = tree.get(name) if isinstance(tree, dict) else None
        return value if isinstance(value, str) else ""

    def _plain_text(self) -> str:
        if not self.headers.get("Content-Type", "").lower().startswith("text/plain"):
            return ""
        return _message_line(self.body.decode("utf-8", "replace"))


def hidden(text: str, secrets: Iterable[str]) -> str:
    """``text`` without the secrets, plain or as they stand in a form or an address."""
    forms = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""), quote_plus(secret))}
    for form in sorted(forms, key=len, reverse=True):  # one may be the beginning of another
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
