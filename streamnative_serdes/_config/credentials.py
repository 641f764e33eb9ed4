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
from .option import Option, named

_BASIC, _BEARER, _TLS = "basic.auth", "bearer.auth", "schema.registry.ssl"

CREDENTIAL_OPTIONS = (
    Option(
        f"{_BASIC}.credentials.source",
        None,
        checks.one_of("USER_INFO", "SASL_INHERIT"),
        "Source of user and password: `USER_INFO`, for `basic.auth.user.info`, or `SASL_INHERIT`, for the Kafka "
        "client's `sasl.username` and `sasl.password`. Only needed for `SASL_INHERIT`.",
    ),
    Option(
        f"{_BASIC}.user.info",
        None,
        checks.user_info,
        "User and password as `USER:PASSWORD`. A password of the form `token:TEXT` is sent as a JSON web token "
        "(Bearer).",
        secret=True,
    ),
    Option(
        f"{_BEARER}.credentials.source",
        None,
        checks.one_of("STATIC_TOKEN", "OAUTHBEARER", "SASL_INHERIT"),
        "Source of the token: `STATIC_TOKEN`, for `bearer.auth.token`; `OAUTHBEARER`, for an OAuth 2 issuer; or "
        "`SASL_INHERIT`, for the Kafka client's `sasl.password` of the form `token:TEXT`. Only needed for "
        "`SASL_INHERIT`.",
    ),
    Option(
        f"{_BEARER}.token",
        None,
        checks.text_or_function,
        "JSON web token: the token itself, `token:TEXT`, `file:///PATH`, or a function without arguments that returns "
        "the token. The file is read, or the function called, for each request, and once more if Pulsar rejects the "
        "token.",
        secret=True,
    ),
    Option(
        f"{_BEARER}.issuer.url",
        None,
        checks.http_url,
        "URL of the OAuth 2 issuer (Pulsar's `issuerUrl`). Its `/.well-known/openid-configuration` contains the token "
        "endpoint.",
        secret=True,  # a malformed address may contain a password
    ),
    Option(
        f"{_BEARER}.issuer.endpoint.url",
        None,
        checks.http_endpoint,
        "URL of the OAuth 2 token endpoint, as in Confluent's clients. Set it in place of `bearer.auth.issuer.url` if "
        "the issuer publishes no metadata.",
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
    Option(f"{_BEARER}.audience", None, checks.text, "OAuth 2 audience of the token, if the issuer requires one."),
    Option(f"{_BEARER}.scope", None, checks.text, "OAuth 2 scopes, separated by spaces, if the issuer requires any."),
    Option(
        f"{_BEARER}.ssl.ca.location",
        None,
        checks.text,
        "CAs to trust for the OAuth 2 issuer, instead of the public CAs: a PEM file or a folder.",
    ),
    Option(
        "sasl.username",
        None,
        checks.text,
        "Option of the Kafka client, which keeps it in any case. It is used for the registry only with `SASL_INHERIT`; "
        "otherwise, its tenant is compared with `pulsar.tenant`.",
        shared=True,
    ),
    Option(
        "sasl.password",
        None,
        checks.text,
        "Option of the Kafka client, which keeps it in any case. It is used for the registry only with `SASL_INHERIT`.",
        secret=True,
        shared=True,
    ),
)

TLS_OPTIONS = (
    Option(
        f"{_TLS}.ca.location",
        None,
        checks.text,
        "CAs to trust for the registry's certificate, and no others: a PEM file or a folder. By default, "
        "`REQUESTS_CA_BUNDLE` in the environment if set, else the public CAs.",
    ),
    Option(
        f"{_TLS}.certificate.location",
        None,
        checks.text,
        "Client certificate with its chain, if the registry requires one: a PEM file.",
    ),
    Option(
        f"{_TLS}.key.location",
        None,
        checks.text,
        "Private key of the client certificate: a PEM file. By default, the key is in the file of the certificate.",
    ),
    Option(f"{_TLS}.key.password", None, checks.text, "Password of the private key, if it is encrypted.", secret=True),
)

_NO_OAUTH: Final = (f"{_BEARER}.credentials.source", f"{_BEARER}.token")
OAUTH_KEYS: Final = tuple(
    option.key for option in CREDENTIAL_OPTIONS if option.key.startswith(_BEARER) and option.key not in _NO_OAUTH
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
        source = [f"{self.source}={self.name}"] if conf.get(self.source) == self.name else []
        return next((named(conf, key) for key in given + source), "")


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
        raise ConfigError(f"cannot sign in with both {first} and {second}", hint="set only one of them")
    if not asked:
        return None
    missing = [named(conf, key) for key in asked[0].needs if conf.get(key) is None]
    if missing:
        raise ConfigError(f"{asked[0].asked_by(conf)} needs {' and '.join(missing)}")
    return asked[0]


def inherits(conf: Mapping[str, Any], prefix: str = "") -> bool:
    """Whether the Kafka client's own ``sasl.*`` options are to be used; ``prefix`` is that of a registry's options."""
    return any(conf.get(f"{prefix}{way.source}") == way.name for way in (SASL_USER, SASL_TOKEN))


def refuse_contradictions(conf: Mapping[str, Any]) -> None:
    """Raise ConfigError if validated options contradict each other, or one lacks another that it needs."""
    if way_of(conf) is OAUTH:
        _check_oauth(conf)
    _check_tls(conf)


def _check_oauth(conf: Mapping[str, Any]) -> None:
    issuer, endpoint, client, secret, key_file = (conf[key] for key in OAUTH_KEYS[:5])
    name = [named(conf, key) for key in OAUTH_KEYS]
    if issuer and endpoint:
        raise ConfigError(
            f"cannot use both {name[0]} and {name[1]}: each determines the token endpoint", hint="set only one of them"
        )
    if key_file and (client or secret):
        given = name[2] if client else name[3]
        raise ConfigError(
            f"cannot use both {name[4]} and {given}: each identifies the client", hint="set only one of them"
        )
    if not key_file and not (client and secret):
        raise ConfigError(f"OAuth needs {name[2]} and {name[3]}, or {name[4]}", hint="docs/auth.md shows how")
    if not (key_file or issuer or endpoint):
        raise ConfigError(f"OAuth needs {name[0]} or {name[1]}", hint="docs/auth.md shows how")


def _check_tls(conf: Mapping[str, Any]) -> None:
    given = [option.key for option in TLS_OPTIONS if conf[option.key] is not None]
    ours = f"{_TLS}.certificate.location"
    if given and conf[ours] is None and given != [f"{_TLS}.ca.location"]:
        raise ConfigError(f"{named(conf, given[-1])} needs {named(conf, ours)}")
    if given and all(url.strip().lower().startswith("http:") for url in conf["schema.registry.url"].split(",")):
        raise ConfigError(
            f"{named(conf, given[0])} has no effect: {named(conf, 'schema.registry.url')} is not an https address"
        )
