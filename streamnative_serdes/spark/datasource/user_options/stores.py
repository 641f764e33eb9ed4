"""Java's key stores and trust stores, as options of librdkafka: PEM and PKCS12; nothing decrypted is written to disk.

====================  =========================================================================
key store, PEM        read by librdkafka from the file, or given to it as text
key store, PKCS12     read by librdkafka from the file
trust store, PEM      read by librdkafka from the file, or given to it as text
trust store, PKCS12   its certificates are read here and given to librdkafka as PEM text
either, JKS           refused with the ``keytool`` command that converts it
====================  =========================================================================
"""

from __future__ import annotations

from typing import Final

from streamnative_serdes.errors import ConfigError

_JKS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # and JCEKS
_PEM: Final = b"-----BEGIN"
_TYPES: Final = ("PEM", "PKCS12", "JKS")


def from_stores(kafka: dict[str, str]) -> dict[str, str]:
    """``kafka`` with the options ``ssl.keystore.*`` and ``ssl.truststore.*`` replaced by those of librdkafka.

    Raises:
        ConfigError: a store is of the type JKS, does not exist, or cannot be opened with its password.
    """
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
