"""Apache Kafka: a single node, both broker and controller (KRaft)."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from .downloads import KAFKA, kafka_jars, requirements
from .process import Server, ServerError, free_ports, listens, properties

_CLUSTER_ID: Final = "MkU3OEVBNTcwNTJENDM2Qg"
_CONF: Final[dict[str, object]] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": True,
}


_SASL: Final[dict[str, object]] = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
}
_VERSION_SECONDS: Final = 30.0
_LOGIN: Final = "org.apache.kafka.common.security"
_RIGHTS: Final[dict[str, object]] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


class Kafka(Server):
    """A Kafka broker; topics are created at first use.

    Args:
        folder: as for any server.
        users: passwords by user name. If there are any, :attr:`sasl_servers` requires one of them (PLAIN), or an
            unsigned JSON web token (OAUTHBEARER).
        version: KAFKA or NEXT_KAFKA.
        rights: users may do only what ACLs permit; clients at :attr:`bootstrap_servers`, who do not sign in, all.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        users: Mapping[str, str] | None = None,
        rights: bool = False,
        version: str = KAFKA,
    ) -> None:
        super().__init__("kafka", folder)
        self._jars = kafka_jars(version)
        self._port, self._controller, self._sasl = free_ports(3)
        self._users, self._rights = dict(users or {}), rights

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def sasl_servers(self) -> str:
        """``bootstrap.servers`` for clients that sign in."""
        return f"127.0.0.1:{self._sasl}"

    def version(self) -> str:
        """The version that the server logs when it has started, perhaps a moment after it answers."""
        until = time.monotonic() + _VERSION_SECONDS
        while True:
            found = re.search(r"Kafka version: (\S+)", self.log.read_text(errors="replace"))
            if found is not None:
                return found[1]
            if time.monotonic() > until:
                raise ServerError(f"kafka did not tell its version\n{self.end_of_log()}")
            time.sleep(0.1)

    def command(self) -> Sequence[str]:
        return [*self._java(512), "kafka.Kafka", str(self._conf())]

    def launch(self) -> None:
        if not (self.folder / "data").exists():
            self._format()
        super().launch()

    def ready(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        if not listens(self._port):  # checked first, because the client logs each refused connection
            return False
        try:
            return bool(AdminClient({"bootstrap.servers": self.bootstrap_servers}).list_topics(timeout=5).brokers)
        except KafkaException:
            return False

    def _java(self, megabytes: int) -> list[str]:
        return [f"-Xmx{megabytes}m", "-Dlog4j2.configurationFile=log4j2.yaml", "-cp", f"{self._jars}/*"]

    def _conf(self) -> Path:
        client, controller = f"127.0.0.1:{self._port}", f"127.0.0.1:{self._controller}"
        own: dict[str, object] = {
            "listeners": f"PLAINTEXT://{client},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{client}",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": self.folder / "data",
        }
        path = self.folder / "kafka.properties"
        path.write_text(properties(_CONF, own, self._signing_in(own), _RIGHTS if self._rights else {}))
        return path

    def _signing_in(self, own: Mapping[str, object]) -> dict[str, object]:
        if not self._users:
            return {}
        sasl, plain = f"SASL://{self.sasl_servers}", f"{_LOGIN}.plain.PlainLoginModule"
        users = " ".join(f'"user_{name}"="{password}"' for name, password in self._users.items())
        jaas = "listener.name.sasl.{}.sasl.jaas.config"
        return {
            **_SASL,
            **{key: f"{own[key]},{sasl}" for key in ("listeners", "advertised.listeners")},
            jaas.format("plain"): f"{plain} required {users};",
            jaas.format("oauthbearer"): f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required;",
        }

    def _format(self) -> None:
        command = [*self._java(256), "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._conf())]
        done = subprocess.run(
            [str(requirements().java), *command], check=False, capture_output=True, text=True, timeout=60
        )
        if done.returncode != 0:
            raise ServerError(f"kafka cannot make its storage: {done.stdout}{done.stderr}")
