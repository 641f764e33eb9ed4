"""Apache Pulsar: standalone, or two brokers with their own ZooKeeper and bookie."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import requests

from .downloads import PULSAR, pulsar_jars, requirements
from .process import Server, ServerError, Startable, free_ports, listens, properties, temporary_folder
from .tokens import Tokens

if TYPE_CHECKING:
    from .certificates import Certificates

PASSWORD: Final = "opens Pulsar"  # password of role "produce", if passwords are enabled
_HASH: Final = "$apr1$k0p0pulS$d47nFeAjGN5Qy/60JJkLO0"  # `openssl passwd -apr1`

ROLES: Final = ("produce", "consume")  # each has the right of that name on public/default; "admin" has all rights

_CONF: Final[dict[str, object]] = {
    "clusterName": "standalone",
    "bindAddress": "127.0.0.1",
    "advertisedAddress": "127.0.0.1",
    "managedLedgerDefaultEnsembleSize": 1,
    "managedLedgerDefaultWriteQuorum": 1,
    "managedLedgerDefaultAckQuorum": 1,
    "managedLedgerCacheSizeMB": 64,
    "schemaCompatibilityStrategy": "FULL",
    "allowAutoTopicCreation": True,
    "allowAutoTopicCreationType": "non-partitioned",
    "brokerDeleteInactiveTopicsEnabled": False,
    "topicLevelPoliciesEnabled": False,
    "systemTopicEnabled": False,
    "transactionCoordinatorEnabled": False,
    "numHttpServerThreads": 8,
    "numIOThreads": 2,
    "numExecutorThreadPoolSize": 2,
    "numCacheExecutorThreadPoolSize": 2,
    "bookkeeperClientNumWorkerThreads": 1,
    # As in Pulsar's bookkeeper.conf. Without it, the bookie refuses chunks, which are as large as the broker allows.
    "nettyMaxFrameSizeBytes": 5 * 1024 * 1024 + 10 * 1024,
}
_OPENED: Final = (
    "java.base/java.io",
    "java.base/java.util.zip",
    "java.base/java.nio",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.base/java.lang",
    "java.base/sun.net",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)


class _Web(Server):
    """A server of Pulsar's admin REST API."""

    _web: int
    tokens: Tokens | None

    @property
    def url(self) -> str:
        """``schema.registry.url``."""
        return f"http://127.0.0.1:{self._web}"

    def admin(self, method: str, path: str, **options: Any) -> requests.Response:
        """Send a request to ``/admin/v2/PATH`` with all rights; ``options`` as in requests."""
        return _as_admin(self.tokens, method, f"{self.url}/admin/v2/{path}", **options)

    def grant_roles(self) -> None:
        """Grant each of ROLES its right.

        Raises:
            ServerError: the server refuses.
        """
        for role in ROLES:
            done = self.admin("POST", f"namespaces/public/default/permissions/{role}", json=[role])
            if not done.ok:
                raise ServerError(f"{self.name} does not let {role} {role}: {done.text}\n{self.end_of_log()}")


class Pulsar(_Web):
    """A standalone Pulsar.

    Args:
        folder: as for any server.
        tokens: whether it requires JSON web tokens; :attr:`tokens` creates them.
        conf: additional settings of ``broker.conf``.
        version: one of PULSARS.

    Raises:
        Missing: from the constructor: its jars cannot be downloaded.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        tokens: bool = False,
        conf: Mapping[str, object] | None = None,
        version: str = PULSAR,
    ) -> None:
        self._jars = pulsar_jars(version)
        super().__init__("pulsar", folder)
        self._port, self._web, self._bookie = free_ports(3)
        self.tokens = Tokens(self.folder) if tokens else None
        self._more = dict(conf or {})

    @property
    def service_url(self) -> str:
        """The URL for Pulsar's own clients."""
        return f"pulsar://127.0.0.1:{self._port}"

    @property
    def secure_url(self) -> str:
        """``schema.registry.url`` over TLS, with ``webServicePortTls`` in its configuration."""
        return f"https://127.0.0.1:{self._more['webServicePortTls']}"

    def version(self) -> str:
        """The version that the server reports."""
        return self.admin("GET", "brokers/version").text.strip('"')

    def command(self) -> Sequence[str]:
        main = "org.apache.pulsar.PulsarStandaloneStarter"
        ports = ["--bookkeeper-port", str(self._bookie)]
        return [*jvm_options(self._jars), main, "--config", str(self._conf()), "-nss", "-nfw", *ports]

    def ready(self) -> bool:
        # It responds to /admin/v2/clusters some seconds before it creates the namespace.
        return "public/default" in self.admin("GET", "namespaces/public").text

    def wait(self) -> None:
        super().wait()
        if self.tokens:
            self.grant_roles()

    def _conf(self) -> Path:
        ports: dict[str, object] = {"brokerServicePort": self._port, "webServicePort": self._web}
        single: dict[str, object] = {"loadBalancerEnabled": False, "defaultNumberOfNamespaceBundles": 1}
        path = self.folder / "pulsar.conf"
        path.write_text(properties(_CONF, single, ports, _with(self.tokens), self._more))
        return path


class PulsarCluster(Startable):
    """Two brokers with one bookie and one ZooKeeper: each topic has one owner, and the other broker redirects to it.

    Args:
        tokens: whether it requires JSON web tokens; :attr:`tokens` creates them, after the start.
        conf: additional settings of ``broker.conf`` for both brokers.
    """

    def __init__(self, *, tokens: bool = False, conf: Mapping[str, object] | None = None) -> None:
        self._stack = ExitStack()
        self._folder = Path()
        self._ask_for_tokens, self._more = tokens, dict(conf or {})
        self.tokens: Tokens | None = None
        self.brokers: list[Broker] = []
        self.servers: list[Server] = []

    def start(self) -> Self:
        """Start all four servers.

        Raises:
            ServerError: one died, or is not ready in time.
        """
        self._folder = Path(self._stack.enter_context(temporary_folder("pulsar-cluster")))
        zookeeper = self._add(ZooKeeper(self._folder)).start()
        self.tokens = Tokens(self._folder) if self._ask_for_tokens else None
        first, second = free_ports(2), free_ports(2)
        self._set_up(zookeeper, first)
        self._add(Bookie(self._folder, zookeeper.port)).start()
        self.brokers = [
            Broker(self._folder, name, zookeeper.port, *ports, tokens=self.tokens, conf=self._more)
            for name, ports in (("broker1", first), ("broker2", second))
        ]
        for broker in self.brokers:
            self._add(broker).launch()
        for broker in self.brokers:
            broker.wait()
        if self.tokens:
            self.brokers[0].grant_roles()
        return self

    def owner_of(self, topic: str) -> Broker:
        """Return the broker that owns a topic of public/default; if none does, one becomes the owner."""
        path = f"/lookup/v2/topic/persistent/public/default/{topic}"
        asked = next(broker for broker in self.brokers if broker.alive)
        answer = _as_admin(self.tokens, "GET", asked.url + path)
        answer.raise_for_status()
        return next(broker for broker in self.brokers if broker.url == answer.json()["httpUrl"])

    def close(self) -> None:
        self._stack.close()

    def _add(self, server: Any) -> Any:
        self.servers.append(server)
        self._stack.callback(server.close)
        return server

    def _set_up(self, zookeeper: ZooKeeper, ports: Sequence[int]) -> None:
        port, web = ports
        store = f"127.0.0.1:{zookeeper.port}"
        arguments = ["--cluster", "standalone", "--zookeeper", store, "--configuration-store", store]
        arguments += [
            "--web-service-url",
            f"http://127.0.0.1:{web}",
            "--broker-service-url",
            f"pulsar://127.0.0.1:{port}",
        ]
        done = subprocess.run(
            [str(requirements().java), *jvm_options(), "org.apache.pulsar.PulsarClusterMetadataSetup", *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=90,
            cwd=self._folder,
        )
        if done.returncode != 0:
            raise ServerError(f"the cluster's metadata cannot be made: {done.stdout[-3000:]}{done.stderr[-3000:]}")


class ZooKeeper(Server):
    """Stores the metadata of the cluster."""

    def __init__(self, folder: Path) -> None:
        super().__init__("zookeeper", folder)
        (self.port,) = free_ports(1)

    def command(self) -> Sequence[str]:
        conf: dict[str, object] = {
            "tickTime": 2000,
            "dataDir": self.folder / "zookeeper",
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": False,
        }
        path = self.folder / "zoo.cfg"
        path.write_text(properties(conf))
        return [*jvm_options(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(path)]

    def ready(self) -> bool:
        return listens(self.port)


class Bookie(Server):
    """Stores the messages of the cluster."""

    def __init__(self, folder: Path, zookeeper: int) -> None:
        super().__init__("bookie", folder)
        (self._port,) = free_ports(1)
        self._zookeeper = zookeeper

    def command(self) -> Sequence[str]:
        conf: dict[str, object] = {
            "metadataServiceUri": f"metadata-store:zk:127.0.0.1:{self._zookeeper}",
            "bookiePort": self._port,
            "journalDirectories": self.folder / "journal",
            "ledgerDirectories": self.folder / "ledgers",
            "allowLoopback": True,
            "advertisedAddress": "127.0.0.1",
            "httpServerEnabled": False,
            "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
            "dbStorage_writeCacheMaxSizeMb": 32,
            "dbStorage_readAheadCacheMaxSizeMb": 32,
            "dbStorage_rocksDB_blockCacheSize": 8_388_608,
        }
        path = self.folder / "bookie.conf"
        path.write_text(properties(conf))
        return [*jvm_options(), "org.apache.bookkeeper.server.Main", "--conf", str(path)]

    def ready(self) -> bool:
        return listens(self._port)


class Broker(_Web):
    """One broker of the cluster."""

    def __init__(
        self,
        folder: Path,
        name: str,
        zookeeper: int,
        port: int,
        web: int,
        *,
        tokens: Tokens | None = None,
        conf: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(name, folder)
        self._zookeeper, self._port, self._web = zookeeper, port, web
        self.tokens, self._more = tokens, dict(conf or {})

    def command(self) -> Sequence[str]:
        store = f"zk:127.0.0.1:{self._zookeeper}"
        conf: dict[str, object] = {
            "metadataStoreUrl": store,
            "configurationMetadataStoreUrl": store,
            "loadBalancerEnabled": True,
            "brokerServicePort": self._port,
            "webServicePort": self._web,
        }
        path = self.folder / f"{self.name}.conf"
        path.write_text(properties(_CONF, conf, _with(self.tokens), self._more))
        return [*jvm_options(), "org.apache.pulsar.PulsarBrokerStarter", "--broker-conf", str(path)]

    def ready(self) -> bool:
        found = self.admin("GET", "brokers/standalone")
        return found.ok and any(name.endswith(f":{self._web}") for name in found.json())


def _with(tokens: Tokens | None) -> dict[str, object]:
    """Return the settings that let a broker require ``tokens``."""
    if tokens is None:
        return {}
    return {
        "authenticationEnabled": True,
        "authorizationEnabled": True,
        "authenticationProviders": "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
        "superUserRoles": "admin",
        "tokenSecretKey": tokens.key_file.as_uri(),
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": json.dumps({"token": tokens.of("admin")}),
    }


def signing_in(certificates: Certificates) -> dict[str, object]:
    """Return settings of ``broker.conf`` for TLS, and for passwords and certificates in addition to tokens."""
    passwords = certificates.ca.with_name("htpasswd")
    passwords.write_text(f"produce:{_HASH}\n")
    server = certificates.files("127.0.0.1")
    provider = "org.apache.pulsar.broker.authentication.AuthenticationProvider"
    return {
        "authenticationProviders": ",".join(f"{provider}{name}" for name in ("Token", "Basic", "Tls")),
        "basicAuthConf": passwords.as_uri(),
        "webServicePortTls": free_ports(1)[0],
        "tlsCertificateFilePath": server.certificate,
        "tlsKeyFilePath": server.key_in_pkcs8(),
        "tlsTrustCertsFilePath": certificates.ca,
        "brokerClientTrustCertsFilePath": certificates.ca,
    }


class _Session(requests.Session):
    def rebuild_auth(self, *_: object) -> None:
        """Keep the credentials when brokers redirect to each other; requests drops them for another port."""


def _as_admin(tokens: Tokens | None, method: str, url: str, **options: Any) -> requests.Response:
    headers = {"Authorization": f"Bearer {tokens.of('admin')}"} if tokens else {}
    with _Session() as session:
        return session.request(method, url, headers=headers, timeout=30, **options)


def jvm_options(jars: Path | None = None) -> list[str]:
    """Return the options of Java that all Pulsar programs need; ``jars`` are those of the usual version."""
    opened = [option for module in _OPENED for option in ("--add-opens", f"{module}=ALL-UNNAMED")]
    bookkeeper = "-Dbookkeeper.metadata"
    drivers = "org.apache.pulsar.metadata.bookkeeper.PulsarMetadata"
    return [
        *opened,
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Xmx512m",
        "-XX:MaxDirectMemorySize=512m",
        "-Dlog4j2.is.webapp=false",
        "-Dlog4j.configurationFile=log4j2.yaml",
        f"{bookkeeper}.bookie.drivers={drivers}BookieDriver",
        f"{bookkeeper}.client.drivers={drivers}ClientDriver",
        "-cp",
        f"{jars or requirements().pulsar}/*",
    ]
