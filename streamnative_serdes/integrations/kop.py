"""KoP (Kafka on Pulsar): SASL settings for confluent-kafka clients, derived from the registry's options.

::

    PLAIN        username TENANT/NAMESPACE, password token:TEXT    one token for the client's lifetime
    OAUTHBEARER  oauth_cb -> token, expiry, principal, {"username": TENANT}    called again before the token expires

The broker alone decides where a short topic name belongs: to the tenant of the user (or the broker's ``kafkaTenant``
without authentication), and always to the broker's ``kafkaNamespace``. So ``pulsar.tenant`` and ``pulsar.namespace``
must match the broker. Topics elsewhere need their full name, ``persistent://TENANT/NAMESPACE/TOPIC``.

Source: KoP's SaslAuthenticator and KopOAuthBearerSaslServer, and observations with KoP 3.1.1.1.
"""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

from streamnative_serdes import _config as config
from streamnative_serdes._auth.credentials import Bearer, OAuth, credentials
from streamnative_serdes._auth.tokens import PREFIX, Token
from streamnative_serdes._http.api_request import ApiRequest, Retrier
from streamnative_serdes.errors import AuthenticationError, ConfigError, SerdesError

__all__ = ["Mechanism", "TokenCallback", "sasl_settings"]

logger = logging.getLogger(__name__)

Mechanism = Literal["PLAIN", "OAUTHBEARER"]

_PATIENCE_MS: Final = 8_000.0  # librdkafka gives a new client's callback 10 s
_UNKNOWN_LIFETIME: Final = 300.0  # seconds, for a token without expiry: librdkafka requires one

_LONGEST_LIFETIME: Final = 365 * 86_400.0  # seconds; JSON allows numbers that librdkafka cannot take


def sasl_settings(conf: Mapping[str, Any], mechanism: Mechanism | None = None, *, tls: bool = True) -> dict[str, Any]:
    """SASL settings for the configuration of a confluent-kafka client.

    Args:
        conf: the options of a SerDes. Only ``pulsar.tenant``, ``pulsar.namespace`` and the token's options are used.
            KoP uses the tenant in the result; the namespace only completes the user name ``TENANT/NAMESPACE``.
        mechanism: None means PLAIN for a token given as text, else OAUTHBEARER, since PLAIN cannot renew a token.
        tls: whether clients connect to the brokers over TLS.

    Raises:
        ConfigError: ``conf`` has no token, or an OAuth token with PLAIN; its user's tenant is not ``pulsar.tenant``; or
            the mechanism is another.
        AuthenticationError: the token's file, function or issuer does not return a token, or one that has expired.
        RegistryUnavailableError: the token's issuer does not answer.
    """
    if mechanism not in (None, *get_args(Mechanism)):
        raise ConfigError(f"mechanism: expected PLAIN or OAUTHBEARER, got {mechanism!r:.80}")
    values = config.parse(config.REGISTRY_OPTIONS, conf, strict=False)
    user, _, password = (values["basic.auth.user.info"] or "").partition(":")
    config.refuse_other_tenant({"sasl.username": user, "sasl.password": password}, values)
    bearer = _bearer(values)
    if mechanism is None:
        mechanism = "OAUTHBEARER" if bearer.renewable else "PLAIN"
    if mechanism == "PLAIN":
        own = _plain(values, bearer)
    else:
        callback = TokenCallback(values)
        callback.answer()  # once now, since the client would hide or delay the error
        own = {"oauth_cb": callback}
    return {"security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT", "sasl.mechanism": mechanism, **own}


def _plain(conf: Mapping[str, Any], bearer: Bearer) -> dict[str, Any]:
    if isinstance(bearer, OAuth):
        raise ConfigError("PLAIN cannot renew a token, and OAuth tokens expire", hint="use OAUTHBEARER")
    token = _ask(conf, bearer)
    _end(token, _claims(token.text))  # raises if it has expired, which the client would only log
    return {
        "sasl.username": f"{conf['pulsar.tenant']}/{conf['pulsar.namespace']}",
        "sasl.password": f"{PREFIX}{token.text}",
    }


class TokenCallback:
    """Value of the property ``oauth_cb``. It can be pickled, without its current token."""

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self._conf = dict(conf)
        self._bearer = _bearer(conf)

    def __reduce__(self) -> tuple[Callable[..., TokenCallback], tuple[dict[str, Any]]]:
        return TokenCallback, (self._conf,)

    def __repr__(self) -> str:
        return f"TokenCallback({self._bearer!r})"

    def __call__(self, _config: object = None) -> tuple[str, float, str, dict[str, str]]:
        """As :meth:`answer`; after an error, librdkafka asks again 10 s later."""
        try:
            return self.answer()
        except SerdesError as error:
            logger.error("cannot get a token for Kafka: %s", error)  # the client does not report the exception
            raise

    def answer(self) -> tuple[str, float, str, dict[str, str]]:
        """Token, expiry in seconds since 1970, principal, extensions.

        Raises:
            SerdesError: the token cannot be obtained.
        """
        token = _ask(self._conf, self._bearer)
        claims = _claims(token.text)
        principal = claims.get("sub")
        # KoP treats `username` like PLAIN's user name; without it, messages go to the broker's default tenant. KoP
        # accepts an extension `tenant` but ignores it, and no known successor of KoP reads one.
        extensions = {"username": self._conf["pulsar.tenant"]}
        return token.text, _end(token, claims), principal if isinstance(principal, str) else "", extensions


def _bearer(conf: Mapping[str, Any]) -> Bearer:
    found = credentials(conf, time.monotonic)
    if not isinstance(found, Bearer):
        raise ConfigError(
            "KoP requires a token, and the options contain none",
            hint="set bearer.auth.token, or basic.auth.user.info as USER:token:TEXT, or the OAuth options",
        )
    return found


def _ask(conf: Mapping[str, Any], bearer: Bearer) -> Token:
    patience = {**conf, "retries.total.ms": min(conf["retries.total.ms"], _PATIENCE_MS)}
    where = conf["bearer.auth.issuer.url"] or conf["bearer.auth.issuer.endpoint.url"] or "the OAuth issuer"
    request = ApiRequest("POST", (where,), "get a token for Kafka", "", "")
    retrier = Retrier(patience, clock=time.monotonic, sleep=time.sleep)
    return retrier.run(request, lambda _, deadline: bearer.token(deadline))


def _end(token: Token, claims: Mapping[str, Any]) -> float:
    """The token's expiry, in seconds since 1970."""
    now, told = time.time(), claims.get("exp")
    if token.until is not None:
        return min(now + token.until - time.monotonic(), token.ends)
    if not isinstance(told, int | float) or told != told:  # JSON's NaN
        return now + _UNKNOWN_LIFETIME
    if told <= now:
        raise AuthenticationError("the token for Kafka has expired")
    return float(min(told, now + _LONGEST_LIFETIME))


def _claims(token: str) -> dict[str, Any]:
    """The claims of a JSON web token, unverified; empty for another kind of token."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}
