"""Certificates of a test CA, as files and as server contexts."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import NamedTuple

import trustme
from cryptography.hazmat.primitives import serialization


class Files(NamedTuple):
    certificate: Path
    key: Path

    def key_in_pkcs8(self, password: str | None = None) -> Path:
        """Return the same key in the format that Java requires, encrypted if there is a password."""
        how = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        key = serialization.load_pem_private_key(self.key.read_bytes(), None)
        written = self.key.with_suffix(".encrypted.key" if password else ".pk8")
        written.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how))
        return written


class Certificates:
    """A CA, its file ``ca``, and certificates that it signs for 127.0.0.1 and for clients."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder, self._ca = folder, trustme.CA()
        self.ca = folder / f"{name}.pem"
        self._ca.cert_pem.write_to_path(self.ca)

    def server(self, host: str = "127.0.0.1", *, client: Certificates | None = None) -> ssl.SSLContext:
        """Return the TLS context of a server; with ``client``, it requires a certificate of that CA."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(host).configure_cert(context)
        if client is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client.ca)
        return context

    def files(self, name: str, common_name: str | None = None) -> Files:
        """Write a certificate with its chain, and its key, to files."""
        issued = self._ca.issue_cert(name, common_name=common_name)
        files = Files(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        for index, part in enumerate(issued.cert_chain_pems):
            part.write_to_path(files.certificate, append=index > 0)
        issued.private_key_pem.write_to_path(files.key)
        return files

    def client(self, name: str = "me", password: str | None = None) -> dict[str, str]:
        """Return options for a client certificate with that common name; with ``password``, its key is encrypted."""
        files = self.files(f"{name}@example.org", name)
        return {
            "schema.registry.ssl.certificate.location": str(files.certificate),
            "schema.registry.ssl.key.location": str(files.key_in_pkcs8(password) if password else files.key),
        }
