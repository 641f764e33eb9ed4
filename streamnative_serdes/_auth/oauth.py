"""OAuth 2: the client credentials flow, and the key files that hold the client's id and secret.

Source: Pulsar's ``privateKey`` (a path, ``file:`` or ``data:`` URL) and StreamNative's key files. The JSON has
``client_id`` and ``client_secret``, often ``issuer_url``; ``type`` and ``client_email`` are not needed.

::

    GET  ISSUER/.well-known/openid-configuration        -> token_endpoint
    POST token_endpoint  grant_type=client_credentials  -> access_token, expires_in

Source: RFC 6749, section 4.4; OpenID Connect Discovery 1.0; Pulsar's ClientCredentialsFlow, which posts the secret in
the form. We do the same unless the issuer's metadata says otherwise. authlib builds the request.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote_plus, unquote_to_bytes, urlsplit

from streamnative_serdes._config import named
from streamnative_serdes._config.checks import encodable, http_endpoint, http_url
from streamnative_serdes._http.api_request import TransientFailure, origin, transient
from streamnative_serdes._http.exchange import Exchange
from streamnative_serdes._http.reply import Diagnosis, Expected, Failure, Reply, quoted
from streamnative_serdes._http.tls import Tls
from streamnative_serdes.errors import AuthenticationError, ConfigError, SchemaRegistryError, SerdesError

from .tokens import Token, is_token, path_of, read_file

_HINT = 'expected JSON: {"client_id": "...", "client_secret": "...", "issuer_url": "https://..."}'


@dataclass(frozen=True, slots=True)
class ClientKey:
    """Credentials of an OAuth client; ``issuer`` is the issuer's address, or None if the key does not name it."""

    id: str
    secret: str = field(repr=False)
    issuer: str | None = None


def key_source(value: str, option: str) -> Callable[[], ClientKey]:
    """A function that returns the key. A file is read for each token, so it can be replaced; a ``data:`` URL once, now.

    Args:
        value: of the option ``bearer.auth.private.key``.
        option: its name in errors.

    Raises:
        ConfigError: ``value`` is neither a path nor a valid URL.
    """
    scheme, colon, rest = value.partition(":")
    if scheme.lower() in ("data", "file"):
        value = scheme.lower() + colon + rest
    if value.startswith("data:"):
        key = _parsed(_data(value, option), ConfigError, f"the key in {option}")
        return lambda: key
    if not value.startswith("file:") and ("://" in value or _is_content(value)):
        raise ConfigError(f"{option}: expected a path, file:///PATH or a data: URL")
    path = path_of(value, option) if value.startswith("file:") else value
    return lambda: _parsed(read_file(path, "key file"), AuthenticationError, f"the key file {path}")


def _is_content(value: str) -> bool:
    """Whether ``value`` is the key itself, plain or in base64, which errors would show if it were taken for a path."""
    try:
        return "{" in value or base64.b64decode(value, validate=True).lstrip().startswith(b"{")
    except ValueError:
        return False


def _data(url: str, option: str) -> bytes:
    head, comma, content = url.removeprefix("data:").partition(",")
    data = unquote_to_bytes(content)
    try:
        if comma:
            return base64.b64decode(data, validate=True) if head.lower().endswith(";base64") else data
    except binascii.Error:
        pass
    raise ConfigError(f"{option} is not a valid data: URL", hint="such as data:application/json;base64,...")


def _parsed(content: bytes, error: type[SerdesError], what: str) -> ClientKey:
    """Raises ``error`` if a member is missing; the message does not show the content."""
    found = {name: text for name, text in _json(content).items() if isinstance(text, str) and text and encodable(text)}
    missing = [name for name in ("client_id", "client_secret") if name not in found]
    if missing:
        raise error(f"{what} has no {' and no '.join(missing)}", hint=_HINT)
    return ClientKey(found["client_id"], found["client_secret"], found.get("issuer_url"))


def _json(content: bytes) -> dict[str, Any]:
    """The JSON object, or {}: an error of json would contain the text, with the secret."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_POST, _BASIC = "client_secret_post", "client_secret_basic"
_UNKNOWN_LIFETIME: Final = 300.0  # seconds, if the issuer sends no expires_in
_LONGEST_LIFETIME: Final = 365 * 86_400.0  # seconds; librdkafka cannot take JSON's 1e999
_PASSING_STATUS: Final = frozenset({429, 500, 502, 503, 504})
_HINTS: Final[Mapping[str, str]] = {  # {0} is "bearer.auth", as the user writes it
    "invalid_client": "check {0}.client.id and {0}.client.secret, or the key file",
    "unauthorized_client": "the issuer does not allow this client the client_credentials grant",
    "access_denied": "does {0}.audience match the cluster's audience at the issuer?",
    "invalid_scope": "the issuer does not grant this client the scope in {0}.scope",
    "invalid_target": "the issuer does not know the audience in {0}.audience",
}
_PORTS: Final = Expected("another server's port", "the issuer's HTTP port", "its https port")


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The token endpoint; ``basic``: the secret is sent as HTTP Basic instead of in the form."""

    url: str
    basic: bool = False


class ClientCredentials:
    """Fetches tokens from the issuer, for one thread at a time: the single flight of its :class:`Renewed` guards it.

    Args:
        conf: validated options.
        clock: monotonic time in seconds.
        answered: the origins (:func:`address.origin`) that have ever answered.

    Raises:
        ConfigError: authlib is not installed, or a ``data:`` URL does not contain a valid key.
    """

    def __init__(self, conf: Mapping[str, Any], clock: Callable[[], float], answered: set[str]) -> None:
        if importlib.util.find_spec("authlib") is None:
            raise ConfigError("OAuth needs authlib", hint="pip install authlib")
        given = ClientKey(conf["bearer.auth.client.id"] or "", conf["bearer.auth.client.secret"] or "")
        key_file, self._options = conf["bearer.auth.private.key"], named(conf, "bearer.auth")
        self._key = key_source(key_file, f"{self._options}.private.key") if key_file else lambda: given
        self._issuer: str | None = conf["bearer.auth.issuer.url"]
        endpoint = conf["bearer.auth.issuer.endpoint.url"]
        self._given = _Endpoint(endpoint) if endpoint else None
        self._found: tuple[str, _Endpoint] | None = None  # of which issuer
        names = ("audience", "scope")
        self._asked = {name: conf[f"bearer.auth.{name}"] for name in names if conf[f"bearer.auth.{name}"]}
        tls = Tls(f"{self._options}.ssl.ca.location", conf["bearer.auth.ssl.ca.location"])
        self._exchange = Exchange(conf, tls, clock=clock)
        self._clock, self._answered = clock, answered

    def close(self) -> None:
        self._exchange.close()

    def fetch(self, deadline: float) -> Token | TransientFailure:
        """Fetch a new token until ``deadline`` on the clock.

        Raises:
            AuthenticationError: the issuer refuses, or the key file is invalid.
            SchemaRegistryError: the response is not that of an OAuth issuer.
        """
        key, began = self._key(), self._clock()
        endpoint = self._given or self._discovered(key, deadline)
        if isinstance(endpoint, TransientFailure):
            return endpoint
        # The discovered endpoint is kept only after a success: after a failure it may have moved.
        found, self._found = self._found, None
        reply = self._post(endpoint, key, deadline)
        if isinstance(reply, TransientFailure):
            return reply
        token = _token(reply, began, self._options)
        self._found = found
        return token

    def _discovered(self, key: ClientKey, deadline: float) -> _Endpoint | TransientFailure:
        issuer = self._issuer or key.issuer
        if issuer is None:
            raise AuthenticationError("the key file has no issuer_url", hint=f"set {self._options}.issuer.url")
        found = self._found
        if found is None or found[0] != issuer:
            url = _checked(http_url, issuer, "the key file's issuer_url").rstrip("/") + _WELL_KNOWN
            reply = self._ask("GET", url, deadline, key, {})
            if isinstance(reply, TransientFailure):
                return reply
            self._found = found = issuer, _endpoint(reply, issuer, self._options)
        return found[1]

    def _post(self, endpoint: _Endpoint, key: ClientKey, deadline: float) -> Reply | TransientFailure:
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
    ) -> Reply | TransientFailure:
        secrets = (key.secret, _basic(key.id, key.secret))
        outcome = self._exchange.ask(method, url, deadline, headers, body, secrets=secrets)
        if isinstance(outcome, Failure):
            text = f"the OAuth issuer at {url}: {outcome.text}"
            if outcome.lasting:
                hint = outcome.hint or (outcome.diagnosis and outcome.diagnosis.hint(url, _PORTS))
                raise SchemaRegistryError(text, url=url, hint=hint)
            unreached = outcome.diagnosis is Diagnosis.REFUSED and origin(url) not in self._answered
            hint = f"is {self._options}.issuer.url correct, and is the issuer running?"
            return TransientFailure(text, hint=hint, late=outcome.late, unreached=unreached)
        self._answered.add(origin(url))
        if 300 <= outcome.status < 400:
            raise SchemaRegistryError(
                f"the OAuth issuer at {url} redirects; secrets are not sent to another address",
                status=outcome.status,
                url=url,
            )
        return transient(outcome, f"the OAuth issuer at {url}: ") if outcome.status in _PASSING_STATUS else outcome


def _endpoint(reply: Reply, issuer: str, options: str) -> _Endpoint:
    """The token endpoint in the issuer's metadata. Raises SchemaRegistryError. ``options`` is for its hint."""
    metadata = _members(reply)
    found = metadata.get("token_endpoint")
    if reply.status != 200 or not isinstance(found, str):
        raise SchemaRegistryError(
            f"expected OpenID metadata with a token_endpoint at {reply.url}, got none (HTTP {reply.status})",
            status=reply.status,
            url=reply.url,
            hint=f"check {options}.issuer.url; for a token endpoint, set {options}.issuer.endpoint.url",
        )
    if reply.repeats(found):
        raise SchemaRegistryError(f"the token_endpoint of {issuer} contains our credentials")
    url = _checked(http_endpoint, found, f"the token_endpoint of {issuer}")
    if urlsplit(issuer).scheme == "https" and urlsplit(url).scheme != "https":
        raise SchemaRegistryError(
            f"expected an https token_endpoint, since {issuer} is https; got http, which would expose the secret"
        )
    methods = metadata.get("token_endpoint_auth_methods_supported")
    return _Endpoint(url, isinstance(methods, list) and _BASIC in methods and _POST not in methods)


def _token(reply: Reply, began: float, options: str) -> Token:
    """The issuer's token. Raises AuthenticationError: it refused; SchemaRegistryError: the response has no token."""
    members = _members(reply)
    if isinstance(members.get("error"), str) or reply.status in (400, 401, 403):
        raise _refused(reply, members, options)
    text, kind = members.get("access_token"), members.get("token_type", "Bearer")
    if reply.status != 200 or not isinstance(text, str) or not is_token(text) or not _is_bearer(kind):
        raise SchemaRegistryError(
            f"expected a bearer token from the OAuth issuer at {reply.url}, got none (HTTP {reply.status})",
            status=reply.status,
            url=reply.url,
            hint=f"check that {options}.issuer.endpoint.url is the issuer's token endpoint",
        )
    lifetime = _lifetime(members.get("expires_in"))
    return Token(text, began + lifetime, time.time() + lifetime)


def _is_bearer(kind: Any) -> bool:
    return isinstance(kind, str) and kind.lower() == "bearer"


def _lifetime(seconds: Any) -> float:
    try:
        return min(max(0.0, float(seconds)), _LONGEST_LIFETIME)
    except (TypeError, ValueError, OverflowError):  # some issuers send text, some nothing
        return _UNKNOWN_LIFETIME


def _refused(reply: Reply, members: Mapping[str, Any], options: str) -> AuthenticationError:
    error = members.get("error")
    code = error if isinstance(error, str) else f"HTTP {reply.status}"
    described = members.get("error_description")
    words = quoted(reply.hide(f"{code}: {described}" if isinstance(described, str) else code))
    return AuthenticationError(
        f"the OAuth issuer at {reply.url} refused: {words}",
        status=reply.status,
        reason=words,
        url=reply.url,
        hint=_HINTS.get(code, "").format(options) or None,
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
    """HTTP Basic as in RFC 6749, which percent-encodes both halves: not all authlib versions do."""
    return url, {**headers, "Authorization": f"Basic {_basic(client.client_id, client.client_secret)}"}, form


def _basic(name: str, secret: str) -> str:
    return base64.b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode()).decode()
