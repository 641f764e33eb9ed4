"""The Kafka client's configuration: Java's names, defaults, JAAS texts and stores become options of librdkafka.

``kafka.sasl.jaas.config`` is Java's login configuration (source: Kafka's JaasConfig, and its login modules)::

    org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="secret";

====================  =========================================================================
key store, PEM        read by librdkafka from the file, or given to it as text
key store, PKCS12     read by librdkafka from the file
trust store, PEM      read by librdkafka from the file, or given to it as text
trust store, PKCS12   its certificates are read here and given to librdkafka as PEM text
either, JKS           refused with the ``keytool`` command that converts it
====================  =========================================================================

Nothing decrypted is written to disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

from .names import JAVAS, RENAMED, Use
from .options import Options
from .secrets import is_reference, resolved

# Where librdkafka's defaults differ from those of Java's clients, as Spark's own Kafka source has them.
_DEFAULTS: Final[Mapping[Use, Mapping[str, str]]] = {
    "read": {"isolation.level": "read_uncommitted", "check.crcs": "true"},
    "write": {"partitioner": "murmur2_random"},
}


def is_fixed(options: Options) -> bool:
    """Whether :func:`client_config` is the same in all processes: it reads no environment variable and no file."""
    return not any(
        is_reference(value) or name.startswith(("ssl.keystore.", "ssl.truststore."))
        for name, value in options.kafka.items()
    )


def client_config(options: Options) -> dict[str, Any]:
    """The configuration of a Kafka client for these options, with references resolved in this process.

    Errors (ConfigError) do not show secrets.
    """
    names = RENAMED[options.use]
    given: dict[str, str] = dict(_DEFAULTS[options.use])
    for name, value in options.kafka.items():
        if name in JAVAS:
            raise ConfigError(f"the option kafka.{name} of Java's client has no effect here", hint=JAVAS[name])
        given[names.get(name, name)] = _converted(name, resolved(f"kafka.{name}", value))
    jaas = given.pop("sasl.jaas.config", None)
    return from_stores(given if jaas is None else given | from_jaas(jaas))


def _converted(name: str, value: str) -> str:
    if name == "ssl.endpoint.identification.algorithm":
        return value.strip() or "none"  # Java's way to turn it off is an empty text
    if name in ("receive.buffer.bytes", "send.buffer.bytes") and value.strip() == "-1":
        return "0"  # the default of the operating system
    if name == "buffer.memory":
        if not value.strip().isdigit():
            raise ConfigError(f"kafka.buffer.memory: expected a number of bytes, got {value!r:.80}")
        return str(max(int(value) // 1024, 1))
    return value


_NAME: Final = "kafka.sasl.jaas.config"
_WORD: Final = r'"(?:[^"\\]|\\.)*"|[^\s;="]+'
_ENTRY: Final = re.compile(rf"\s*([\w.$]+)\s+(\w+)((?:\s+[\w.]+\s*=\s*(?:{_WORD}))*)\s*;\s*", re.DOTALL)
_PAIR: Final = re.compile(rf"([\w.]+)\s*=\s*({_WORD})", re.DOTALL)
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")


def from_jaas(text: str) -> dict[str, str]:
    """The options of librdkafka that sign in as ``text`` does. Errors (ConfigError) show no value."""
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


_JKS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # and JCEKS
_PEM: Final = b"-----BEGIN"
_TYPES: Final = ("PEM", "PKCS12", "JKS")


def from_stores(kafka: dict[str, str]) -> dict[str, str]:
    """``kafka`` with the options ``ssl.keystore.*`` and ``ssl.truststore.*`` replaced by those of librdkafka."""
    given = dict(kafka)
    made = {**_key_store(given), **_trust_store(given)}
    for name in ("ssl.keystore.type", "ssl.truststore.type", "ssl.truststore.password", "ssl.truststore.location"):
        given.pop(name, None)
    return given | made


def _key_store(given: dict[str, str]) -> dict[str, str]:
    """The key store's options for librdkafka; takes Java's options out of ``given``."""
    key, chain = given.pop("ssl.keystore.key", None), given.pop("ssl.keystore.certificate.chain", None)
    if key is not None or chain is not None:
        if key is None or chain is None:
            missing = "ssl.keystore.key" if key is None else "ssl.keystore.certificate.chain"
            raise ConfigError(f"kafka.{missing} is missing: a PEM key and its certificates belong together")
        return {"ssl.key.pem": key, "ssl.certificate.pem": chain}
    path = given.pop("ssl.keystore.location", None)
    password = given.pop("ssl.keystore.password", None)
    if path is None:
        return {}
    if _type_of(path, given.get("ssl.keystore.type"), "ssl.keystore") == "PEM":
        return {"ssl.key.location": path, "ssl.certificate.location": path}
    # The key in a PKCS12 store has the store's password.
    given.pop("ssl.key.password", None)
    return {"ssl.keystore.location": path} | ({} if password is None else {"ssl.keystore.password": password})


def _trust_store(given: dict[str, str]) -> dict[str, str]:
    text = given.pop("ssl.truststore.certificates", None)
    if text is not None:
        return {"ssl.ca.pem": text}
    path = given.get("ssl.truststore.location")
    if path is None:
        return {}
    if _type_of(path, given.get("ssl.truststore.type"), "ssl.truststore") == "PEM":
        return {"ssl.ca.location": path}
    return {"ssl.ca.pem": _certificates(path, given.get("ssl.truststore.password"))}


def _type_of(path: str, said: str | None, option: str) -> str:
    """PEM or PKCS12, by the content of the file: Java, too, opens a PKCS12 file as JKS, its default."""
    if said is not None and said.upper() not in _TYPES:
        raise ConfigError(f"kafka.{option}.type: expected PEM or PKCS12, got {said!r:.80}")
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise ConfigError(f"kafka.{option}.location: cannot read {path!r:.300}: {error.strerror}") from None
    if start.startswith(_JKS):
        raise ConfigError(
            f"kafka.{option}.location: {path!r:.300} is a JKS store, which librdkafka cannot read",
            hint=f"convert it: keytool -importkeystore -srckeystore {path} -destkeystore {path}.p12 "
            "-deststoretype PKCS12",
        )
    return "PEM" if _PEM in start else "PKCS12"


def _certificates(path: str, password: str | None) -> str:
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, pkcs12
    except ModuleNotFoundError:
        raise ConfigError(
            "kafka.ssl.truststore.location: reading a PKCS12 trust store needs the package cryptography",
            hint=f"pip install cryptography; or openssl pkcs12 -nokeys -in {path} -out ca.pem, and "
            "kafka.ssl.ca.location=ca.pem",
        ) from None
    with open(path, "rb") as file:
        data = file.read()
    try:
        store = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError:
        raise ConfigError(
            f"kafka.ssl.truststore.location: cannot open {path!r:.300}: it is not a PKCS12 store, or "
            "kafka.ssl.truststore.password is wrong"
        ) from None
    found = [store.cert, *store.additional_certs]
    texts = [each.certificate.public_bytes(Encoding.PEM).decode() for each in found if each is not None]
    if not texts:
        raise ConfigError(f"kafka.ssl.truststore.location: {path!r:.300} has no certificates")
    return "".join(texts)
