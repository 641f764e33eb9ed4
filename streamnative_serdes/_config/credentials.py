"""Options for credentials (five ways to sign in to the registry) and TLS, and the checks for contradictions.

Source of the names: Confluent's clients for ``basic.auth.*``, ``bearer.auth.*`` and ``schema.registry.ssl.*``; Pulsar's
``issuerUrl``, ``privateKey`` and ``audience`` for what Confluent has no name for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

from . import checks
from .option import Option

_BASIC, _BEARER, _TLS = "basic.auth", "bearer.auth", "schema.registry.ssl"

CREDENTIAL_OPTIONS = (
    Option(
        f"{_BASIC}.credentials.source",
        None,
        checks.one_of("USER_INFO", "SASL_INHERIT"),
        f"Where to find user and password: `USER_INFO`, in `{_BASIC}.user.info`; or `SASL_INHERIT`, in the Kafka "
        "client's `sasl.username` and `sasl.password`. Only `SASL_INHERIT` has to be set.",
    ),
    Option(
        f"{_BASIC}.user.info",
        None,
        checks.user_info,
        "`USER:PASSWORD`. A password of the form `token:TEXT` is sent as a JSON web token (Bearer).",
        secret=True,
    ),
    Option(
        f"{_BEARER}.credentials.source",
        None,
        checks.one_of("STATIC_TOKEN", "OAUTHBEARER", "SASL_INHERIT"),
        f"Where to find the token: `STATIC_TOKEN`, in `{_BEARER}.token`; `OAUTHBEARER`, at an OAuth 2 issuer; or "
        "`SASL_INHERIT`, in the Kafka client's `sasl.password`, as `token:TEXT`. Only `SASL_INHERIT` has to be set.",
    ),
    Option(
        f"{_BEARER}.token",
        None,
        checks.text_or_function,
        "JSON web token: the text itself, `token:TEXT`, `file:///PATH`, or a function without arguments that returns "
        "the text. The file is read, or the function called, for each request, and once more if Pulsar rejects the "
        "token.",
        secret=True,
    ),
    Option(
        f"{_BEARER}.issuer.url",
        None,
        checks.http_url,
        "OAuth 2 issuer (Pulsar's `issuerUrl`). Its `/.well-known/openid-configuration` names the token endpoint.",
        secret=True,  # a malformed address may contain a password
    ),
    Option(
        f"{_BEARER}.issuer.endpoint.url",
        None,
        checks.http_endpoint,
        "URL of the OAuth 2 token endpoint, as in Confluent's clients.",
        secret=True,
    ),
    Option(f"{_BEARER}.client.id", None, checks.text, "OAuth 2 client ID."),
    Option(f"{_BEARER}.client.secret", None, checks.text, "OAuth 2 client secret.", secret=True),
    Option(
        f"{_BEARER}.private.key",
        None,
        checks.text,
        "OAuth 2 key file with client ID, secret and optionally the issuer (Pulsar's `privateKey`, StreamNative's "
        "service accounts): a path, `file:///PATH` or a `data:` URL. It is read each time a token is requested.",
        secret=True,
    ),
    Option(f"{_BEARER}.audience", None, checks.text, "OAuth 2 audience of the token, if the issuer requires it."),
    Option(f"{_BEARER}.scope", None, checks.text, "OAuth 2 scopes, separated by blanks."),
    Option(
        f"{_BEARER}.ssl.ca.location",
        None,
        checks.text,
        "CAs to trust for the OAuth 2 issuer instead of the public ones: a PEM file or a folder.",
    ),
    Option(
        "sasl.username",
        None,
        checks.text,
        "Option of the Kafka client. With `SASL_INHERIT` it is also used for the registry. Without, only its tenant is "
        "compared with `pulsar.tenant`. The client keeps it in any case.",
        shared=True,
    ),
    Option(
        "sasl.password",
        None,
        checks.text,
        "Option of the Kafka client. With `SASL_INHERIT` it is also used for the registry. The client keeps it in any "
        "case.",
        secret=True,
        shared=True,
    ),
)

TLS_OPTIONS = (
    Option(
        f"{_TLS}.ca.location",
        None,
        checks.text,
        "CAs to trust for the registry's certificate, and no others: a PEM file or a folder. Default: "
        "`REQUESTS_CA_BUNDLE` in the environment, else the public CAs.",
    ),
    Option(f"{_TLS}.certificate.location", None, checks.text, "Client certificate with its chain: a PEM file."),
    Option(
        f"{_TLS}.key.location",
        None,
        checks.text,
        "Private key of the client certificate: a PEM file. Default: the file of the certificate.",
    ),
    Option(f"{_TLS}.key.password", None, checks.text, "Password of the private key.", secret=True),
)

OAUTH_KEYS: Final = tuple(
    f"{_BEARER}.{name}"
    for name in (
        "issuer.url",
        "issuer.endpoint.url",
        "client.id",
        "client.secret",
        "private.key",
        "audience",
        "scope",
        "ssl.ca.location",
    )
)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to sign in: selected by its name as the ``source``, or by any of its ``keys``."""

    kind: str
    name: str
    keys: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return f"{self.kind}.credentials.source"

    def asked_by(self, conf: Mapping[str, Any]) -> str:
        """Return the option in ``conf`` that selects this way, for errors; empty if none does."""
        given = [key for key in self.keys if conf.get(key) is not None]
        named = [f"{self.source}={self.name}"] if conf.get(self.source) == self.name else []
        return next(iter(given + named), "")


USER_INFO: Final = Way(_BASIC, "USER_INFO", (f"{_BASIC}.user.info",), (f"{_BASIC}.user.info",))
SASL_USER: Final = Way(_BASIC, "SASL_INHERIT", (), ("sasl.username", "sasl.password"))
TOKEN: Final = Way(_BEARER, "STATIC_TOKEN", (f"{_BEARER}.token",), (f"{_BEARER}.token",))
OAUTH: Final = Way(_BEARER, "OAUTHBEARER", OAUTH_KEYS)
SASL_TOKEN: Final = Way(_BEARER, "SASL_INHERIT", (), ("sasl.password",))
_WAYS: Final = (USER_INFO, SASL_USER, TOKEN, OAUTH, SASL_TOKEN)


def way_of(conf: Mapping[str, Any]) -> Way | None:
    """Return the way that ``conf`` signs in, or None.

    Raises:
        ConfigError: ``conf`` selects two ways, or lacks an option that its way needs.
    """
    asked = [way for way in _WAYS if way.asked_by(conf)]
    if len(asked) > 1:
        first, second = (way.asked_by(conf) for way in asked[:2])
        raise ConfigError(f"{first} and {second} are two ways to sign in", hint="give one of them")
    if not asked:
        return None
    missing = [key for key in asked[0].needs if conf.get(key) is None]
    if missing:
        raise ConfigError(f"{asked[0].asked_by(conf)} needs {' and '.join(missing)}")
    return asked[0]


def inherits(conf: Mapping[str, Any]) -> bool:
    """Whether the Kafka client's own ``sasl.*`` options are to be used."""
    return any(conf.get(way.source) == way.name for way in (SASL_USER, SASL_TOKEN))


def refuse_contradictions(conf: Mapping[str, Any]) -> None:
    """Raise ConfigError if validated options contradict each other, or one lacks another that it needs."""
    if way_of(conf) is OAUTH:
        _check_oauth(conf)
    _check_tls(conf)


def _check_oauth(conf: Mapping[str, Any]) -> None:
    issuer, endpoint, client, secret, key_file = (conf[key] for key in OAUTH_KEYS[:5])
    if issuer and endpoint:
        raise ConfigError(f"{OAUTH_KEYS[0]} and {OAUTH_KEYS[1]} are two ways to the token endpoint", hint="give one")
    if key_file and (client or secret):
        given = OAUTH_KEYS[2] if client else OAUTH_KEYS[3]
        raise ConfigError(f"{OAUTH_KEYS[4]} and {given} both say who the client is", hint="give one")
    if not key_file and not (client and secret):
        raise ConfigError(
            f"OAuth needs {OAUTH_KEYS[2]} and {OAUTH_KEYS[3]}, or {OAUTH_KEYS[4]}", hint="docs/auth.md shows how"
        )
    if not (key_file or issuer or endpoint):
        raise ConfigError(f"OAuth needs {OAUTH_KEYS[0]} or {OAUTH_KEYS[1]}", hint="docs/auth.md shows how")


def _check_tls(conf: Mapping[str, Any]) -> None:
    given = [option.key for option in TLS_OPTIONS if conf[option.key] is not None]
    ours = f"{_TLS}.certificate.location"
    if given and conf[ours] is None and given != [f"{_TLS}.ca.location"]:
        raise ConfigError(f"{given[-1]} needs {ours}")
    if given and all(url.strip().lower().startswith("http:") for url in conf["schema.registry.url"].split(",")):
        raise ConfigError(f"{given[0]} has no effect: schema.registry.url is not an https address")
