"""Settings: the options of clients and SerDes, from a TOML file, the environment and the command line.

::

    [registry]                                  # the same table as [target.registry]
    "schema.registry.url" = "http://localhost:8080"
    "bearer.auth.token" = { env = "PULSAR_TOKEN" }

    [kafka]                                     # the same table as [target.kafka]
    "bootstrap.servers" = "localhost:9092"
    "sasl.password" = { file = "/run/secrets/kafka" }

Options have the names that they have in Python. TOML reads ``a.b = 1`` without quotes as nested tables, which mean the
same here. A secret may be in the file, in an environment variable or in a file of its own, but never on the command
line, where other users of the machine see it.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from streamnative_serdes import _config
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError

Side: TypeAlias = Literal["source", "target"]

OPTIONS: Final = {
    option.key: option
    for option in (*_config.SERIALIZER_OPTIONS, *_config.DESERIALIZER_OPTIONS, *_config.REGISTRY_OPTIONS)
}
_TABLES: Final = ("kafka", "registry")
_SIDES: Final[tuple[Side, ...]] = ("source", "target")
_SECTIONS: Final = ("registry", "kafka", "source.registry", "source.kafka", "target.registry", "target.kafka")
# Options of ours are marked as secret where they are; addresses are marked too, since they may contain a password.
_ADDRESSES: Final = re.compile(r"(^|\.)(url|proxy)$")
_SECRET: Final = re.compile(
    r"(password|passphrase|secret|\.token|user\.info|jaas\.config|oauthbearer\.config|\.pem|private\.key|^ssl\.key)$"
)
_USER_IN_URL: Final = re.compile(r"//[^/]*@")


@dataclass(slots=True)
class Settings:
    """The options of one side: ``registry`` for SerDes and registry clients, ``kafka`` for Kafka clients.

    ``doubts`` are sentences for the user, such as that others may read the file with a password.
    """

    registry: dict[str, Any] = field(default_factory=dict)
    kafka: dict[str, Any] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def set(self, key: str, value: Any) -> None:
        """Set an option in its table: options that are not ours belong to the Kafka client."""
        option = OPTIONS.get(key)
        (self.kafka if option is None or option.shared else self.registry)[key] = value


def load(path: Path, side: Side = "target") -> Settings:
    """Read a configuration file.

    Raises:
        ConfigError: the file cannot be read, or has a table, an option or a value that is not valid. No value is shown.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    _refuse_unknown(tree, path)
    settings = Settings()
    for name in _TABLES:
        section, table = _table(tree, side, name, path)
        own = settings.registry if name == "registry" else settings.kafka
        for key, value in _flat(table):
            _refuse_misplaced(f"{path}: [{section}]", section, key)
            try:
                own[key] = _value(key, value, path.parent)
            except ConfigError as error:
                error.message = f"{path}: [{section}] {error.message}"
                raise
            if not isinstance(value, Mapping) and is_secret(key, value):
                settings.doubts += _exposed(path, key)
    return settings


def _refuse_unknown(tree: Mapping[str, Any], path: Path) -> None:
    sides = {side: tree[side] for side in _SIDES if isinstance(tree.get(side), dict)}
    for where, table, known in (("", tree, (*_TABLES, *_SIDES)), *((f"{s}.", t, _TABLES) for s, t in sides.items())):
        for name, inner in table.items():
            if name not in known or not isinstance(inner, dict):
                tables = f"its tables are {', '.join(f'[{table}]' for table in _SECTIONS)}"
                near = did_you_mean(f"{where}{name}", (*_SECTIONS, *_SIDES)) if name not in known else None
                raise ConfigError(
                    f"{path}: {where}{name} is not a table of this file", hint=f"{near}; {tables}" if near else tables
                )


def _refuse_misplaced(where: str, section: str, key: str) -> None:
    """Raises ConfigError for an option in the wrong section; the error names the right section."""
    option = OPTIONS.get(key)
    if section.endswith("registry"):
        if option is None:
            kafka = section.replace("registry", "kafka")
            hint = (
                did_you_mean(key, OPTIONS) or f"docs/config.md lists the options; those of the client go in [{kafka}]"
            )
            raise ConfigError(f"{where} has no option {key}", hint=hint)
    elif option is not None and not option.shared:
        registry = section.replace("kafka", "registry")
        raise ConfigError(f"{where} has no option {key}", hint=f"it is one of the registry: move it to [{registry}]")


def _table(tree: Mapping[str, Any], side: Side, name: str, path: Path) -> tuple[str, Mapping[str, Any]]:
    """The name of this side's table in the file, and the table."""
    own, plain = tree.get(side, {}).get(name), tree.get(name)
    if tree.get("target", {}).get(name) is not None and plain is not None:
        raise ConfigError(f"{path}: [{name}] and [target.{name}] are two names of one table", hint="use one of them")
    section = f"{side}.{name}" if own is not None or side == "source" else name
    found = own if own is not None or side == "source" else plain
    return section, found if isinstance(found, dict) else {}


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping) and not _is_reference(value):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_reference(value: Mapping[str, Any]) -> bool:
    return set(value) in ({"env"}, {"file"}) and all(isinstance(where, str) for where in value.values())


def _value(key: str, value: Any, folder: Path) -> Any:
    if isinstance(value, Mapping):
        return read_secret(key, *next(iter(value.items())), folder=folder)
    if not isinstance(value, str | int | float | bool):
        raise ConfigError(f"{key}: expected text, a number or true or false, got {type(value).__name__}")
    return value


def read_secret(key: str, kind: str, where: str, *, folder: Path = Path()) -> str:
    """The value of ``key`` from the environment variable (``env``) or the file (``file``) called ``where``.

    Raises:
        ConfigError: the variable or file does not exist, or is empty.
    """
    if kind == "env":
        text, place = os.environ.get(where, ""), f"the environment variable {where}"
    else:
        place = f"the file {where}"
        try:
            text = (folder / where).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{key}: {place} cannot be read: {getattr(error, 'strerror', error)}") from None
    if not text:
        raise ConfigError(f"{key}: {place} is not set or is empty")
    return text


def is_secret(key: str, value: Any = None) -> bool:
    """Whether ``value`` of the option ``key`` must not be seen: a password, a token, an address with a password."""
    text = value if isinstance(value, str) else ""
    if _USER_IN_URL.search(text):
        return True
    if key.endswith("bearer.auth.token") and text.startswith("file:"):  # names the file of the secret
        return False
    if key.endswith("bearer.auth.private.key"):
        return text.startswith("data:")
    option = OPTIONS.get(key)
    if option is not None:
        return option.secret and not _ADDRESSES.search(key)
    return bool(_SECRET.search(key))


def refuse_secrets(pairs: Iterable[tuple[str, str]]) -> None:
    """Refuse options on the command line that would show a secret there.

    Raises:
        ConfigError: an option would show a secret. The error has the ways to pass the secret, not the value.
    """
    for key, value in pairs:
        if is_secret(key, value):
            hint = f"use --secret {key}=env:VARIABLE or --secret {key}=file:PATH, or the file of --config"
            raise ConfigError(f"{key} is a secret, and other users of this machine see the command line", hint=hint)


def _exposed(path: Path, key: str) -> list[str]:
    if os.name == "nt" or not stat.S_IMODE(path.stat().st_mode) & 0o077:
        return []
    return [f"{path} contains {key}, and other users of this machine may read it: chmod 600 {path}"]
