"""``kafka.sasl.jaas.config``: Java's login configuration, as options of librdkafka.

::

    org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="secret";

Source: Kafka's JaasConfig, and the documentation of its login modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from streamnative_serdes.errors import ConfigError

_NAME: Final = "kafka.sasl.jaas.config"
_WORD: Final = r'"(?:[^"\\]|\\.)*"|[^\s;="]+'
_ENTRY: Final = re.compile(rf"\s*([\w.$]+)\s+(\w+)((?:\s+[\w.]+\s*=\s*(?:{_WORD}))*)\s*;\s*", re.DOTALL)
_PAIR: Final = re.compile(rf"([\w.]+)\s*=\s*({_WORD})", re.DOTALL)
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")


def from_jaas(text: str) -> dict[str, str]:
    """The options of librdkafka that sign in as ``text`` does.

    Raises:
        ConfigError: the text is not a single login module, or of a kind that librdkafka does not have. The error shows
            no value.
    """
    found = _ENTRY.fullmatch(text)
    if found is None or found[2].lower() not in _FLAGS:
        raise ConfigError(
            f"{_NAME}: expected one login module with its options and a semicolon at the end",
            hint='org.apache.kafka.common.security.plain.PlainLoginModule required username="..." password="...";',
        )
    module = found[1].rpartition(".")[2]
    if module not in _MODULES:
        raise ConfigError(
            f"{_NAME}: librdkafka does not support the login module {module:.80}",
            hint=f"supported are {', '.join(_MODULES)}; or set kafka.sasl.mechanism and kafka.sasl.username",
        )
    given = {name: _unquoted(value) for name, value in _PAIR.findall(found[3])}
    return _MODULES[module](given)


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value.startswith('"') else value


def _needed(given: Mapping[str, str], module: str, *wanted: str) -> list[str]:
    missing = [name for name in wanted if not given.get(name)]
    if missing:
        raise ConfigError(f"{_NAME}: {module} needs {' and '.join(missing)}")
    return [given[name] for name in wanted]


def _password(given: Mapping[str, str]) -> dict[str, str]:
    user, password = _needed(given, "a login module with a password", "username", "password")
    return {"sasl.username": user, "sasl.password": password}


def _oauth(given: Mapping[str, str]) -> dict[str, str]:
    if "unsecuredLoginStringClaim_sub" in given:
        subject = given["unsecuredLoginStringClaim_sub"]
        return {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": f"principal={subject}"}
    client, secret = _needed(given, "OAuthBearerLoginModule", "clientId", "clientSecret")
    scope = {"sasl.oauthbearer.scope": given["scope"]} if given.get("scope") else {}
    return {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": client,
        "sasl.oauthbearer.client.secret": secret,
        **scope,
    }


def _kerberos(given: Mapping[str, str]) -> dict[str, str]:
    keytab, principal = _needed(given, "Krb5LoginModule", "keyTab", "principal")
    service = {"sasl.kerberos.service.name": given["serviceName"]} if given.get("serviceName") else {}
    return {"sasl.kerberos.keytab": keytab, "sasl.kerberos.principal": principal, **service}


_MODULES: Final[Mapping[str, Callable[[Mapping[str, str]], dict[str, str]]]] = {
    "PlainLoginModule": _password,
    "ScramLoginModule": _password,
    "OAuthBearerLoginModule": _oauth,
    "Krb5LoginModule": _kerberos,
}
