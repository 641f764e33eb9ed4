"""TLS: whose certificates are taken, and our own."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from requests.adapters import HTTPAdapter
from urllib3.util.ssl_ import create_urllib3_context
from urllib3.util.ssl_match_hostname import CertificateError

from streamnative_serdes.errors import ConfigError

from .timely import POOLS

_PREFIX: Final = "schema.registry.ssl"
# By OpenSSL's number of what is wrong with a certificate (X509_V_ERR_...).
_UNKNOWN_CA: Final = frozenset({18, 19, 20, 21})
_OTHER_NAMES: Final = frozenset({62, 64})
_EXPIRED: Final = 10
_OTHER_NAME: Final = "the address must have a name that stands in the certificate"

_PASSING = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


@dataclass(frozen=True, slots=True)
class Tls:
    """``ca``: file or folder of the only CAs that are taken; None is those of the environment, or the public ones.

    ``ca_key`` is the option that it came from, for errors.
    """

    ca_key: str
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    password: str | None = None

    @classmethod
    def of_registry(cls, conf: Mapping[str, Any]) -> Tls:
        names = ("certificate.location", "key.location", "key.password")
        key = f"{_PREFIX}.ca.location"
        return cls(key, conf[key], *(conf[f"{_PREFIX}.{name}"] for name in names))

    def __repr__(self) -> str:
        return f"Tls(ca={self.ca!r}, certificate={self.certificate!r})"

    def context(self) -> ssl.SSLContext | None:
        """Made of the files as they are now; None where there is nothing to say.

        Raises:
            ConfigError: a file cannot be used; the text names its option.
        """
        if self.ca is None and self.certificate is None:
            return None
        context = create_urllib3_context()  # urllib3 1.26 checks the name itself, and wants the context to leave it
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.ca is not None:
            file, folder = (None, self.ca) if Path(self.ca).is_dir() else (self.ca, None)
            _load(lambda: context.load_verify_locations(file, folder), self.ca_key, self.ca)
        if self.certificate is not None:
            option = f"{_PREFIX}.{'key' if self.key else 'certificate'}.location"
            # Without a password OpenSSL would ask for it on the terminal.
            chain = self.certificate, self.key, self.password or ""
            _load(lambda: context.load_cert_chain(*chain), option, self.key or self.certificate)
        return context

    def hint(self, error: BaseException) -> str | None:
        """What to do about a failed handshake."""
        if isinstance(error, CertificateError):
            return _OTHER_NAME
        if isinstance(error, ssl.SSLCertVerificationError):
            if error.verify_code in _UNKNOWN_CA:
                return f"name the file of its CA in {self.ca_key}"
            if error.verify_code in _OTHER_NAMES:
                return _OTHER_NAME
            return "the certificate has run out" if error.verify_code == _EXPIRED else None
        reason = getattr(error, "reason", None) or ""
        if isinstance(error, ssl.SSLError) and "ALERT" in reason:
            return f"does it want another certificate of ours? {_PREFIX}.certificate.location"
        return None


def lasts(error: BaseException) -> bool:
    """Whether a handshake would fail again."""
    return isinstance(error, ssl.SSLError | CertificateError) and not isinstance(error, _PASSING)


class TlsAdapter(HTTPAdapter):
    """requests over a context of our own, straight and through a proxy."""

    def __init__(self, context: ssl.SSLContext | None, connections: int) -> None:
        self._connections = connections
        self._more: dict[str, Any] = {} if context is None else {"ssl_context": context}
        super().__init__(pool_maxsize=connections)

    def renew(self, context: ssl.SSLContext) -> None:
        """Connections from now on are made with this one; those of before end with what they are at."""
        self._more = {"ssl_context": context}
        self.init_poolmanager(self._connections, self._connections)
        self.proxy_manager.clear()

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._more)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs, **self._more)
        if not proxy.lower().startswith("socks"):  # which has pools of its own
            manager.pool_classes_by_scheme = POOLS
        return manager


def _load(load: Callable[[], None], option: str, path: str) -> None:
    try:
        load()
    except ssl.SSLError as error:
        fault = f"{error.reason or 'no PEM'}"
        hint = "is it PEM, do certificate and key belong together, and is the password right?"
    except (OSError, ValueError) as error:
        fault = (error.strerror if isinstance(error, OSError) else None) or "not a path"
        hint = None
    else:
        return
    raise ConfigError(f"{option}: {path} cannot be used: {fault}", hint=hint)
