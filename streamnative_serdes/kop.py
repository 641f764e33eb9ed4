"""KoP: the settings with which confluent-kafka's clients sign in to Kafka on Pulsar, made of the registry's options.

::

    PLAIN        username TENANT/NAMESPACE, password token:TEXT    one token, for as long as the client lives
    OAUTHBEARER  oauth_cb -> token, its end, principal, {"tenant": TENANT}      asked for anew ahead of its end

Source: KoP's SaslAuthenticator, as seen live: the tenant decides where short names of topics are; the namespace is the
broker's own matter, but the form wants one.
"""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from . import config
from .errors import AuthenticationError, ConfigError, SerdesError
from .schema_registry.auth import Bearer, OAuth, credentials
from .schema_registry.call import Call
from .schema_registry.retry import Retrier
from .schema_registry.tokens import PREFIX, Token

Mechanism = Literal["PLAIN", "OAUTHBEARER"]

_PATIENCE_MS: Final = 8_000.0  # librdkafka gives a new client's callback 10 s
_UNKNOWN_LIFETIME: Final = 300.0  # seconds, for a token that does not tell; librdkafka must be told something

_log = logging.getLogger("streamnative_serdes")


def sasl_settings(conf: Mapping[str, Any], mechanism: Mechanism | None = None, *, tls: bool = True) -> dict[str, Any]:
    """Settings for the dict of a confluent-kafka client.

    Args:
        conf: the options of a SerDes, of which ``pulsar.tenant``, ``pulsar.namespace`` and those of the token count;
            others are ignored.
        mechanism: None is PLAIN for a token that is given as text, else OAUTHBEARER: PLAIN is one password for ever.
        tls: whether the brokers are spoken to over TLS.

    Raises:
        ConfigError: ``conf`` asks for no token, or for one that runs out with PLAIN.
        AuthenticationError: PLAIN, and the file or function for the token gives none.
    """
    values = config.parse(config.REGISTRY_OPTIONS, conf, strict=False)
    bearer = _bearer(values)
    if mechanism is None:
        mechanism = "OAUTHBEARER" if bearer.renewable else "PLAIN"
    own = _plain(values, bearer) if mechanism == "PLAIN" else {"oauth_cb": TokenCallback(values)}
    return {"security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT", "sasl.mechanism": mechanism, **own}


def _plain(conf: Mapping[str, Any], bearer: Bearer) -> dict[str, Any]:
    if isinstance(bearer, OAuth):
        raise ConfigError("PLAIN is one password for ever, and OAuth's tokens run out", hint="take OAUTHBEARER")
    token = _ask(conf, bearer)
    return {
        "sasl.username": f"{conf['pulsar.tenant']}/{conf['pulsar.namespace']}",
        "sasl.password": f"{PREFIX}{token.text}",
    }


class TokenCallback:
    """For the property ``oauth_cb``. It pickles, without the token that it holds."""

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self._conf = dict(conf)
        self._bearer = _bearer(conf)

    def __reduce__(self) -> tuple[Callable[..., TokenCallback], tuple[dict[str, Any]]]:
        return TokenCallback, (self._conf,)

    def __repr__(self) -> str:
        return f"TokenCallback({self._bearer!r})"

    def __call__(self, _config: object = None) -> tuple[str, float, str, dict[str, str]]:
        """Token, its end in seconds since 1970, principal, extensions.

        Raises:
            SerdesError: there is none. librdkafka asks again in 10 s.
        """
        try:
            token = _ask(self._conf, self._bearer)
            claims = _claims(token.text)
            return token.text, _end(token, claims), str(claims.get("sub", "")), {"tenant": self._conf["pulsar.tenant"]}
        except SerdesError as error:
            _log.error("no token for Kafka: %s", error)  # the client does not show what it is told
            raise


def _bearer(conf: Mapping[str, Any]) -> Bearer:
    found = credentials(conf, time.monotonic)
    if not isinstance(found, Bearer):
        raise ConfigError(
            "KoP takes tokens, and the options ask for none",
            hint="give bearer.auth.token, or basic.auth.user.info as USER:token:TEXT, or OAuth's options",
        )
    return found


def _ask(conf: Mapping[str, Any], bearer: Bearer) -> Token:
    patience = {**conf, "retries.total.ms": min(conf["retries.total.ms"], _PATIENCE_MS)}
    where = conf["bearer.auth.issuer.url"] or conf["bearer.auth.issuer.endpoint.url"] or "the OAuth issuer"
    call = Call("POST", (where,), "get a token for Kafka", "", "")
    return Retrier(patience, clock=time.monotonic, sleep=time.sleep).run(call, bearer.token)


def _end(token: Token, claims: Mapping[str, Any]) -> float:
    """In seconds since 1970."""
    now, told = time.time(), claims.get("exp")
    if token.until is not None:
        return now + token.until - time.monotonic()
    if not isinstance(told, int | float):
        return now + _UNKNOWN_LIFETIME
    if told <= now:
        raise AuthenticationError("the token for Kafka has run out")
    return float(told)


def _claims(token: str) -> dict[str, Any]:
    """What a JSON web token says of itself, unchecked; nothing, if it is another kind of token."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}
