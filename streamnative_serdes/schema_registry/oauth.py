"""OAuth 2 client credentials: who we are -> a token of the issuer.

::

    GET  ISSUER/.well-known/openid-configuration        -> token_endpoint
    POST token_endpoint  grant_type=client_credentials  -> access_token, expires_in

Source: RFC 6749, section 4.4; OpenID Connect Discovery 1.0; Pulsar's ClientCredentialsFlow, which posts the client's
secret in the form, as we do where the issuer does not say otherwise. authlib makes that request.
"""

from __future__ import annotations

import base64
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote_plus, urlsplit

from streamnative_serdes.config.checks import http_endpoint, http_url
from streamnative_serdes.errors import AuthenticationError, ConfigError, SchemaRegistryError

from .address import origin
from .exchange import Exchange, Failure
from .key_file import ClientKey, key_source
from .reply import Reply, quoted
from .retry import Trouble, trouble
from .strangers import Stranger
from .tls import Tls
from .tokens import Token, is_token

_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_POST, _BASIC = "client_secret_post", "client_secret_basic"
_UNKNOWN_LIFETIME: Final = 300.0  # seconds, where the issuer does not tell
_LONGEST_LIFETIME: Final = 365 * 86_400.0  # seconds; JSON's 1e999 is no time that librdkafka could be told
_PASSING_STATUS: Final = frozenset({429, 500, 502, 503, 504})
_HINTS: Final[Mapping[str, str]] = {
    "invalid_client": "client or secret are wrong: bearer.auth.client.id and .client.secret, or the key file",
    "unauthorized_client": "the issuer does not let this client use client credentials",
    "access_denied": "is bearer.auth.audience what the issuer knows the cluster by?",
    "invalid_scope": "bearer.auth.scope names what the issuer does not give this client",
    "invalid_target": "bearer.auth.audience names what the issuer does not know",
}


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """Where tokens are, and whether the secret goes there as Basic, not in the form."""

    url: str
    basic: bool = False


class ClientCredentials:
    """Asks the issuer for tokens.

    Args:
        conf: checked options.
        clock: monotonic time in seconds.
        answered: addresses that ever did, as address.origin has them.

    Raises:
        ConfigError: authlib is not installed, or a ``data:`` URL holds no key.
    """

    def __init__(self, conf: Mapping[str, Any], clock: Callable[[], float], answered: set[str]) -> None:
        if importlib.util.find_spec("authlib") is None:
            raise ConfigError("OAuth needs authlib", hint="pip install authlib")
        given = ClientKey(conf["bearer.auth.client.id"] or "", conf["bearer.auth.client.secret"] or "")
        key_file = conf["bearer.auth.private.key"]
        self._key = key_source(key_file) if key_file else lambda: given
        self._issuer: str | None = conf["bearer.auth.issuer.url"]
        endpoint = conf["bearer.auth.issuer.endpoint.url"]
        self._given = _Endpoint(endpoint) if endpoint else None
        self._found: tuple[str, _Endpoint] | None = None  # of which issuer
        names = ("audience", "scope")
        self._asked = {name: conf[f"bearer.auth.{name}"] for name in names if conf[f"bearer.auth.{name}"]}
        key = "bearer.auth.ssl.ca.location"
        self._exchange = Exchange(conf, Tls(key, conf[key]), clock=clock)
        self._clock, self._answered = clock, answered

    def close(self) -> None:
        self._exchange.close()

    def fetch(self, deadline: float) -> Token | Trouble:
        """A new token, if the issuer answers until ``deadline`` on the clock.

        Raises:
            AuthenticationError: the issuer refuses, or the key file is bad.
            SchemaRegistryError: what answers is no issuer.
        """
        key, began = self._key(), self._clock()
        endpoint = self._given or self._discovered(key, deadline)
        if isinstance(endpoint, Trouble):
            return endpoint
        # Kept only if there is a token: otherwise it may have moved.
        found, self._found = self._found, None
        reply = self._post(endpoint, key, deadline)
        if isinstance(reply, Trouble):
            return reply
        token = _token(reply, began)
        self._found = found
        return token

    def _discovered(self, key: ClientKey, deadline: float) -> _Endpoint | Trouble:
        issuer = self._issuer or key.issuer
        if issuer is None:
            raise AuthenticationError("the key file names no issuer_url", hint="give bearer.auth.issuer.url")
        if self._found is None or self._found[0] != issuer:
            url = _checked(http_url, issuer, "the key file's issuer_url").rstrip("/") + _WELL_KNOWN
            reply = self._ask("GET", url, deadline, key, {})
            if isinstance(reply, Trouble):
                return reply
            self._found = issuer, _endpoint(reply, issuer)
        return self._found[1]

    def _post(self, endpoint: _Endpoint, key: ClientKey, deadline: float) -> Reply | Trouble:
        from authlib.oauth2.auth import ClientAuth
        from authlib.oauth2.rfc6749.parameters import prepare_token_request

        form = prepare_token_request("client_credentials", **self._asked)
        signed = ClientAuth(key.id, key.secret, auth_method=_as_basic if endpoint.basic else "client_secret_post")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        _, headers, form = signed.prepare("POST", endpoint.url, headers, form)
        return self._ask("POST", endpoint.url, deadline, key, headers, form.encode())

    def _ask(
        self,
        method: str,
        url: str,
        deadline: float,
        key: ClientKey,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Reply | Trouble:
        secrets = (key.secret, _basic(key.id, key.secret))
        outcome = self._exchange.ask(method, url, deadline, headers, body, secrets=secrets)
        if isinstance(outcome, Failure):
            text = f"the OAuth issuer at {url}: {outcome.text}"
            if outcome.lasting:
                hint = outcome.hint or (outcome.stranger and outcome.stranger.hint(url))
                raise SchemaRegistryError(text, url=url, hint=hint)
            unmet = outcome.stranger is Stranger.NOBODY and origin(url) not in self._answered
            hint = "is bearer.auth.issuer.url right, and the issuer up?"
            return Trouble(text, hint=hint, late=outcome.late, unmet=unmet)
        self._answered.add(origin(url))
        if 300 <= outcome.status < 400:
            raise SchemaRegistryError(
                f"the OAuth issuer at {url} redirects, where no secret is sent", status=outcome.status, url=url
            )
        return trouble(outcome, f"the OAuth issuer at {url}: ") if outcome.status in _PASSING_STATUS else outcome


def _endpoint(reply: Reply, issuer: str) -> _Endpoint:
    """Where the issuer's metadata says that tokens are. Raises SchemaRegistryError."""
    metadata = _members(reply)
    found = metadata.get("token_endpoint")
    if reply.status != 200 or not isinstance(found, str):
        raise SchemaRegistryError(
            f"{reply.url} names no token_endpoint (HTTP {reply.status})",
            status=reply.status,
            url=reply.url,
            hint="is bearer.auth.issuer.url the issuer's? A token endpoint goes as bearer.auth.issuer.endpoint.url",
        )
    if reply.repeats(found):
        raise SchemaRegistryError(f"the token_endpoint of {issuer} has our credentials in it")
    url = _checked(http_endpoint, found, f"the token_endpoint of {issuer}")
    if issuer.startswith("https:") and urlsplit(url).scheme != "https":
        raise SchemaRegistryError(f"{issuer} is https, its token_endpoint is not: the secret would go unencrypted")
    methods = metadata.get("token_endpoint_auth_methods_supported")
    return _Endpoint(url, isinstance(methods, list) and _BASIC in methods and _POST not in methods)


def _token(reply: Reply, began: float) -> Token:
    """The token that the issuer gave. Raises AuthenticationError: it refused; SchemaRegistryError: it gave none."""
    members = _members(reply)
    if isinstance(members.get("error"), str) or reply.status in (400, 401, 403):
        raise _refused(reply, members)
    text, kind = members.get("access_token"), members.get("token_type", "Bearer")
    if reply.status != 200 or not isinstance(text, str) or not is_token(text) or not _is_bearer(kind):
        raise SchemaRegistryError(
            f"expected a bearer token of the OAuth issuer at {reply.url}, got none (HTTP {reply.status})",
            status=reply.status,
            url=reply.url,
            hint="is bearer.auth.issuer.endpoint.url its token endpoint?",
        )
    return Token(text, began + _lifetime(members.get("expires_in")))


def _is_bearer(kind: Any) -> bool:
    return isinstance(kind, str) and kind.lower() == "bearer"


def _lifetime(seconds: Any) -> float:
    try:
        return min(max(0.0, float(seconds)), _LONGEST_LIFETIME)
    except (TypeError, ValueError, OverflowError):  # some issuers give it as text, some not at all
        return _UNKNOWN_LIFETIME


def _refused(reply: Reply, members: Mapping[str, Any]) -> AuthenticationError:
    error = members.get("error")
    code = error if isinstance(error, str) else f"HTTP {reply.status}"
    described = members.get("error_description")
    words = quoted(reply.hide(f"{code}: {described}" if isinstance(described, str) else code))
    return AuthenticationError(
        f"the OAuth issuer at {reply.url} refused: {words}",
        status=reply.status,
        reason=words,
        url=reply.url,
        hint=_HINTS.get(code),
    )


def _members(reply: Reply) -> dict[str, Any]:
    try:
        tree = reply.json()
    except ValueError:
        return {}
    return tree if isinstance(tree, dict) else {}


def _checked(check: Callable[[object], str], url: str, what: str) -> str:
    try:
        return check(url)
    except ValueError as expected:
        fault = str(expected)
    raise SchemaRegistryError(f"{what} is not {fault}")


def _as_basic(
    client: Any, _method: str, url: str, headers: dict[str, str], form: str
) -> tuple[str, dict[str, str], str]:
    """As RFC 6749 has it; authlib's own encodes both halves before it joins them in some of its versions only."""
    return url, {**headers, "Authorization": f"Basic {_basic(client.client_id, client.client_secret)}"}, form


def _basic(name: str, secret: str) -> str:
    return base64.b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode()).decode()
