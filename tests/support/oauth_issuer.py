"""A small OAuth 2 issuer: discovery, token endpoint, clients with secrets, expiring tokens, and fault injection."""

from __future__ import annotations

import base64
import itertools
import json
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from scripted_registry import CONF, Answer, Asked, ScriptedRegistry

from streamnative_serdes import _config as config
from streamnative_serdes.schema_registry import SchemaRegistryClient

SECRET = "s3cr:t/\N{EURO SIGN} of the client"
CLIENT = "the client"
WELL_KNOWN = "/.well-known/openid-configuration"
FOUND = Answer(body={"getSchemaResponses": []})
UNKNOWN = Answer(401, {"servlet": "s", "message": "Authentication required", "url": "/", "status": "401"})

Make = Callable[[float], str]


class Issuer(ScriptedRegistry):
    """``lifetime`` of a token is in seconds; ``make`` creates one that expires at a time in seconds since 1970.

    Responses in ``faults`` are sent first, to any request; ``metadata`` is added to the issuer's metadata.
    """

    def __init__(
        self,
        *,
        lifetime: float = 3600.0,
        make: Make | None = None,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(Answer(404), tls=tls, host=host)
        self.lifetime = lifetime
        self.faults: list[Answer] = []
        self.metadata: dict[str, Any] = {}
        self.ahead = 0  # tokens requested while another one had a tenth of its lifetime left
        self._ends: dict[str, float] = {}  # expiry of each token, on the monotonic clock
        numbers = itertools.count()
        self._make = make or (lambda _: f"token-{next(numbers)}-of-the-issuer")

    @property
    def tokens(self) -> list[str]:
        """All issued tokens, in order."""
        return list(self._ends)

    @property
    def forms(self) -> list[dict[str, str]]:
        """The forms sent to the token endpoint."""
        return [form_of(asked) for asked in self.asked if asked.path == "/token"]

    def takes(self, header: str | None) -> bool:
        """Whether a server would accept these credentials now."""
        return self._ends.get((header or "").removeprefix("Bearer "), 0.0) > time.monotonic()

    def revoke(self) -> None:
        """Make all tokens invalid from now on."""
        self._ends = dict.fromkeys(self._ends, 0.0)

    def options(self, **more: str) -> dict[str, str]:
        """Return the options of a client that uses discovery; ``_`` stands for a dot in a key."""
        return {
            "bearer.auth.issuer.url": self.url,
            "bearer.auth.client.id": CLIENT,
            "bearer.auth.client.secret": SECRET,
            **{f"bearer.auth.{key.replace('_', '.')}": value for key, value in more.items()},
        }

    def _next(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if self.faults:
                return self.faults.pop(0)
            if asked.path == WELL_KNOWN:
                return Answer(body={"issuer": self.url, "token_endpoint": f"{self.url}/token", **self.metadata})
            return self._token(asked) if asked.path == "/token" else Answer(404)

    def _token(self, asked: Asked) -> Answer:
        form = form_of(asked)
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT, SECRET):
            return Answer(401, {"error": "invalid_client", "error_description": f"not {form.get('client_secret')}"})
        now = time.monotonic()
        # A client that renews at the expiry is a little early too, because it counts from before the response.
        self.ahead += any(end > now + self.lifetime / 10 for end in self._ends.values())
        token = self._make(time.time() + self.lifetime)
        self._ends[token] = now + self.lifetime
        return Answer(body={"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime})


class Guarded(ScriptedRegistry):
    """A registry that accepts only the issuer's tokens; ``refused`` counts requests with others."""

    def __init__(self, issuer: Issuer) -> None:
        super().__init__(FOUND)
        self._issuer = issuer
        self.refused = 0

    def _next(self, asked: Asked) -> Answer:
        if self._issuer.takes(asked.headers["Authorization"]):
            return super()._next(asked)
        with self._lock:
            self.refused += 1
        return UNKNOWN


def form_of(asked: Asked) -> dict[str, str]:
    """Return the form, with the client's ID and secret even if they were sent as Basic."""
    form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
    kind, _, words = (asked.headers["Authorization"] or "").partition(" ")
    if kind == "Basic":
        name, _, secret = base64.b64decode(words).decode().partition(":")
        form |= {"client_id": unquote_plus(name), "client_secret": unquote_plus(secret)}
    return form


def key_file(**more: str) -> str:
    """Write a key file in the format of StreamNative."""
    content: Mapping[str, str] = {
        "type": "sn_service_account",
        "client_id": CLIENT,
        "client_secret": SECRET,
        "client_email": "client@example.org",
    }
    return json.dumps({**content, **more})


PATIENCE = {"retries.total.ms": 10_000.0, "retries.wait.ms": 20.0}


def client(url: str, options: dict[str, str], **more: Any) -> SchemaRegistryClient:
    given = {**CONF, "schema.registry.url": url, **options, **more}
    return SchemaRegistryClient(config.parse(config.REGISTRY_OPTIONS, given, strict=True))


def ask(options: dict[str, str], issuer: Issuer, **more: Any) -> ScriptedRegistry:
    """Send a request to a registry that accepts only the issuer's tokens."""
    with Guarded(issuer) as registry:
        asking = client(registry.url, options, **PATIENCE, **more)
        try:
            assert asking.all_versions("t") == []
        finally:
            asking.close()
    return registry
