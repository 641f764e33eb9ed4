"""Secret references: an option's value may name where the secret is, so that Spark neither logs nor stores it.

::

    file:///run/secrets/kafka      the text of a file, without its final line break
    env:KAFKA_PASSWORD             an environment variable

References are resolved where a client is created: by the driver and by each executor. Plans, partitions, offsets and
commit messages contain only the references.

Spark Connect writes the values of options to the event log and UI, so literal secrets among them cause a warning there.
Spark plans Python sources in separate processes, which know no session; the processes of a Connect server are
recognised by the server's command line.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from streamnative_serdes import _config as config
from streamnative_serdes.errors import ConfigError

logger = logging.getLogger(__name__)

_FILE: Final = "file:"
_ENV: Final = "env:"
# Options of the Kafka client that hold a secret, or text that may contain one.
_CLIENTS: Final = frozenset(
    {
        "sasl.jaas.config",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "sasl.password",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.password",
    }
)
# They take a reference, and are no secret themselves.
_MAY_REFER: Final = frozenset(
    {
        "sasl.username",
        "ssl.ca.pem",
        "ssl.certificate.pem",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
    }
)
_REGISTRIES: Final = ("", "confluent.", "apicurio.", "azure.")  # how their options begin
# The SerDes read these files themselves, and again whenever the token is renewed.
_RENEWED: Final = frozenset(
    f"{registry}bearer.auth.{option}" for registry in _REGISTRIES for option in ("token", "private.key")
)
# They are no secrets, unless they name a user and a password.
_URLS: Final = frozenset({"schema.registry.url", "apicurio.registry.url"}) | {
    f"{registry}.schema.registry.url" for registry in ("confluent", "azure")
}
_SERDES: Final = frozenset(
    option.key
    for table in (config.DESERIALIZER_OPTIONS, config.SERIALIZER_OPTIONS)
    for option in table
    if option.secret and option.key not in _URLS
)


def is_secret(name: str) -> bool:
    """Whether the value of the option ``name``, as given to Spark, is or may contain a secret."""
    bare = name.lower()
    return bare.removeprefix("kafka.") in _CLIENTS if bare.startswith("kafka.") else bare in _SERDES


def is_reference(value: str) -> bool:
    """Whether ``value`` names where a secret is."""
    return value.startswith((_FILE + "//", _ENV))


def literal_secrets(options: Mapping[str, str]) -> list[str]:
    """The names of the options whose values are secrets themselves, not references."""
    return sorted(name for name, value in options.items() if _is_literal(name.lower(), value))


def _is_literal(name: str, value: str) -> bool:
    if name in _URLS:
        return any("@" in url.partition("://")[2].partition("/")[0] for url in value.split(","))
    return is_secret(name) and not is_reference(value)


def resolved(name: str, value: str) -> str:
    """The value of the option ``name``, as given to Spark, with its reference resolved in this process.

    Errors (ConfigError) name the option and the reference, never a secret.
    """
    bare = name.lower()
    takes = is_secret(bare) or bare.removeprefix("kafka.") in _MAY_REFER
    if not takes or not is_reference(value):
        return value
    if value.startswith(_ENV):
        return _from_environment(name, value)
    return value if bare in _RENEWED else _from_file(name, value)


def _from_environment(name: str, value: str) -> str:
    found = os.environ.get(value.removeprefix(_ENV))
    if not found:
        raise ConfigError(
            f"{name}: the environment variable of {value!r:.200} is not set in process {os.getpid()}",
            hint="set it for the driver and for all executors (spark.executorEnv.NAME), or use file:///PATH",
        )
    return found


def _from_file(name: str, value: str) -> str:
    parts = urlsplit(value)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise ConfigError(f"{name}: expected file:///PATH, got {value!r:.200}")
    try:
        with open(unquote(parts.path), encoding="utf-8") as file:
            found = file.read().removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(
            f"{name}: cannot read the file of {value!r:.200}: {reason}",
            hint="the file must exist on the driver's machine and on each executor's",
        ) from None
    if not found:
        raise ConfigError(f"{name}: the file of {value!r:.200} is empty")
    return found


# Set by PySpark for the server that remote("local") starts, and for the token of any server.
_VARIABLES: Final = ("SPARK_LOCAL_REMOTE", "SPARK_CONNECT_AUTHENTICATE_TOKEN")
_SERVER: Final = b"org.apache.spark.sql.connect.service.SparkConnectServer"
_GENERATIONS: Final = 4  # worker, daemon, perhaps a shell, JVM
_PROCESSES: Final = Path("/proc")


def warn_of_literal_secrets(options: Mapping[str, str], processes: Path = _PROCESSES) -> None:
    """Log which options have literal secrets, in a process of a Connect server."""
    names = literal_secrets(options)
    if names and _is_connect(processes):
        logger.warning(
            "Spark Connect has written the value of the option %s to its event log and UI "
            "(hint: use a reference instead, file:///PATH or env:NAME; for a user in a URL, basic.auth.user.info)",
            " and ".join(names),
        )


def _is_connect(processes: Path) -> bool:
    return any(name in os.environ for name in _VARIABLES) or any(_SERVER in line for line in _ancestors(processes))


def _ancestors(processes: Path) -> Iterator[bytes]:
    """The command lines of this process's parents, if the system has /proc."""
    process = os.getppid()
    for _ in range(_GENERATIONS):
        try:
            yield (processes / str(process) / "cmdline").read_bytes()
            # "PID (name) state PARENT ..."; the name may have spaces and parentheses.
            process = int((processes / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
