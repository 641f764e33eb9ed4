"""TLS settings: which CAs are trusted, and the client certificate."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from urllib3.util.ssl_ import create_urllib3_context
from urllib3.util.ssl_match_hostname import CertificateError

from streamnative_serdes._config import named
from streamnative_serdes.errors import ConfigError

_PREFIX: Final = "schema.registry.ssl"
# OpenSSL's verification error codes (X509_V_ERR_...).
_UNKNOWN_CA: Final = frozenset({18, 19, 20, 21})
_OTHER_NAMES: Final = frozenset({62, 64})
_EXPIRED: Final = 10
_OTHER_NAME: Final = "the host in the address must be one of the names in the certificate"

_PASSING = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS files. ``ca``: file or folder of the trusted CAs; None for those of the environment, or the public ones.

    For errors: ``ca_key`` is the option that sets ``ca``, and the other options begin with ``options``.
    """

    ca_key: str
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    password: str | None = None
    options: str = _PREFIX

    @classmethod
    def of_registry(cls, conf: Mapping[str, Any]) -> Tls:
        names = ("ca.location", "certificate.location", "key.location", "key.password")
        options = named(conf, _PREFIX)
        ca, certificate, key, password = (conf[f"{_PREFIX}.{name}"] for name in names)
        return cls(f"{options}.ca.location", ca, certificate, key, password, options)

    def __repr__(self) -> str:
        return f"Tls(ca={self.ca!r}, certificate={self.certificate!r})"

    def context(self) -> ssl.SSLContext | None:
        """A context from the current content of the files; None if no option is set.

        Raises:
            ConfigError: a file cannot be used; the message names its option.
        """
        if self.ca is None and self.certificate is None:
            return None
        context = create_urllib3_context()  # not ssl's: urllib3 1.26 checks host names itself
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.ca is not None:
            file, folder = (None, self.ca) if Path(self.ca).is_dir() else (self.ca, None)
            _load(lambda: context.load_verify_locations(file, folder), self.ca_key, self.ca)
        if self.certificate is not None:
            option = f"{self.options}.{'key' if self.key else 'certificate'}.location"
            # Without a password, OpenSSL would prompt for it on the terminal.
            chain = self.certificate, self.key, self.password or ""
            _load(lambda: context.load_cert_chain(*chain), option, self.key or self.certificate)
        return context

    def hint(self, error: BaseException) -> str | None:
        """A hint for a failed handshake."""
        if isinstance(error, CertificateError):
            return _OTHER_NAME
        if isinstance(error, ssl.SSLCertVerificationError):
            if error.verify_code in _UNKNOWN_CA:
                return f"set {self.ca_key} to the file of the CA that signed the server's certificate"
            if error.verify_code in _OTHER_NAMES:
                return _OTHER_NAME
            return "the server's certificate has expired" if error.verify_code == _EXPIRED else None
        reason = getattr(error, "reason", None) or ""
        if isinstance(error, ssl.SSLError) and "ALERT" in reason:
            return f"does the server require a client certificate? Check {self.options}.certificate.location"
        return None


def lasts(error: BaseException) -> bool:
    """Whether the handshake would fail again on a retry."""
    return isinstance(error, ssl.SSLError | CertificateError) and not isinstance(error, _PASSING)


def _load(load: Callable[[], None], option: str, path: str) -> None:
    try:
        load()
    except ssl.SSLError as error:
        fault = f"{error.reason or 'not PEM'}"
        hint = "is the file PEM, do certificate and key match, and is the password correct?"
    except (OSError, ValueError) as error:
        fault = (error.strerror if isinstance(error, OSError) else None) or "not a path"
        hint = None
    else:
        return
    raise ConfigError(f"{option}: {path} cannot be used: {fault}", hint=hint)
