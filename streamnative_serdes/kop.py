"""KoP: the settings with which confluent-kafka's clients sign in to Kafka on Pulsar, made of the registry's options.

::

    PLAIN        username TENANT/NAMESPACE, password token:TEXT    one token, for as long as the client lives
    OAUTHBEARER  oauth_cb -> token, its end, principal, {"username": TENANT}    asked for again ahead of its end

Where KoP puts a topic given by a short name, no client can change: into the tenant of the user, or the broker's
``kafkaTenant`` where nobody signs in, and always into the broker's ``kafkaNamespace``. So ``pulsar.tenant`` and
``pulsar.namespace`` have to say what the broker does. A topic of any other place goes by its full name,
``persistent://TENANT/NAMESPACE/TOPIC``.

Source: KoP's SaslAuthenticator and KopOAuthBearerSaslServer, and what was seen live (KoP 3.1.1.1).
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

_LONGEST_LIFETIME: Final = 365 * 86_400.0  # seconds; JSON knows numbers that librdkafka cannot be told

_log = logging.getLogger("streamnative_serdes")


def sasl_settings(conf: Mapping[str, Any], mechanism: Mechanism | None = None, *, tls: bool = True) -> dict[str, Any]:
    """Settings for the dict of a confluent-kafka client.

    Args:
        conf: the options of a SerDes, of which ``pulsar.tenant``, ``pulsar.namespace`` and those of the token count;
            others are ignored. KoP takes the tenant from what is returned; the namespace only completes the form
            ``TENANT/NAMESPACE`` of the user's name.
        mechanism: None is PLAIN for a token that is given as text, else OAUTHBEARER: PLAIN is one password for ever.
        tls: whether the brokers are spoken to over TLS.

    Raises:
        ConfigError: ``conf`` asks for no token, or for one that runs out with PLAIN; or the user that it names is of
            another tenant than ``pulsar.tenant``.
        AuthenticationError: PLAIN, and the file or function for the token gives none.
    """
    values = config.parse(config.REGISTRY_OPTIONS, conf, strict=False)
    user, _, password = (values["basic.auth.user.info"] or "").partition(":")
    config.refuse_other_tenant({"sasl.username": user, "sasl.password": password}, values)
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
            return token.text, _end(token, claims), _principal(claims), self._extensions()
        except SerdesError as error:
            _log.error("no token for Kafka: %s", error)  # the client does not show what it is told
            raise

    def _extensions(self) -> dict[str, str]:
        # KoP reads `username`, as it reads the user's name of PLAIN; without it, messages go to the broker's own
        # tenant. An extension `tenant` it takes and ignores, and no successor of KoP is known to read one.
        return {"username": self._conf["pulsar.tenant"]}


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
    if not isinstance(told, int | float) or told != told:  # JSON's NaN
        return now + _UNKNOWN_LIFETIME
    if told <= now:
        raise AuthenticationError("the token for Kafka has run out")
    return float(min(told, now + _LONGEST_LIFETIME))


def _principal(claims: Mapping[str, Any]) -> str:
    name = claims.get("sub")
    return name if isinstance(name, str) else ""


def _claims(token: str) -> dict[str, Any]:
    """What a JSON web token says of itself, unchecked; nothing, if it is another kind of token."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}
