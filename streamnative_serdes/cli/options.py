"""Options that all commands share, for clients and SerDes, from a TOML file, the environment and the command line.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeAlias, TypeVar

import click

from streamnative_serdes import _config
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.schema_registry import SchemaRegistryClient, TopicName
from streamnative_serdes.schema_registry.topic_name import namespace_path

from .output import say

SideName: TypeAlias = Literal["source", "target"]

OPTIONS: Final = {
    option.key: option
    for option in (*_config.SERIALIZER_OPTIONS, *_config.DESERIALIZER_OPTIONS, *_config.REGISTRY_OPTIONS)
}
_TABLES: Final = ("kafka", "registry")
SIDES: Final[tuple[SideName, ...]] = ("source", "target")
_SECTIONS: Final = ("registry", "kafka", "source.registry", "source.kafka", "target.registry", "target.kafka")
# Options of ours are marked as secret where they are; addresses are marked too, since they may contain a password.
_ADDRESSES: Final = re.compile(r"(^|\.)(url|proxy)$")
_SECRET: Final = re.compile(
    r"(password|passphrase|secret|\.token|user\.info|jaas\.config|oauthbearer\.config|\.pem|private\.key|^ssl\.key)$"
)
_USER_IN_URL: Final = re.compile(r"//[^/]*@")
_P = ParamSpec("_P")
_R = TypeVar("_R")
_ENVIRONMENT: Final = "STREAMNATIVE_SERDES_"
_URL, _BROKER = "schema.registry.url", "bootstrap.servers"


class _NamedFile(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":  # to a Path it is the current folder
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


FILE: Final = _NamedFile(dir_okay=False, path_type=Path)
GIVEN_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
PARTITIONS: Final = click.option(
    "--partition", "partitions", multiple=True, type=click.IntRange(0), help="Only this one; can be repeated."
)
REPORTING: Final = (
    click.option("--json", is_flag=True, help="Output and errors as JSON, for programs."),
    click.option("--debug", is_flag=True, help="Show the traceback of an error."),
)


@dataclass(slots=True)
class Settings:
    """The options of one side: ``registry`` for SerDes and registry clients, ``kafka`` for Kafka clients."""

    registry: dict[str, Any] = field(default_factory=dict)
    kafka: dict[str, Any] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)  # for the user, such as that others may read a password's file

    def set(self, key: str, value: Any) -> None:
        """Set an option in its table: options that are not ours belong to the Kafka client."""
        option = OPTIONS.get(key)
        if option is None:
            _refuse_unknown_option("", key)
        (self.kafka if option is None or option.shared else self.registry)[key] = value


def load(path: Path, side: SideName = "target") -> Settings:
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
            if not isinstance(value, Mapping) and is_secret(key, value) and _is_open(path):
                doubt = f"{path} contains {key}, and other users of this machine may read it: chmod 600 {path}"
                settings.doubts.append(doubt)
    return settings


def _refuse_unknown(tree: Mapping[str, Any], path: Path) -> None:
    sides = {side: tree[side] for side in SIDES if isinstance(tree.get(side), dict)}
    for where, table, known in (("", tree, (*_TABLES, *SIDES)), *((f"{s}.", t, _TABLES) for s, t in sides.items())):
        for name, inner in table.items():
            if name not in known or not isinstance(inner, dict):
                tables = f"its tables are {', '.join(f'[{table}]' for table in _SECTIONS)}"
                near = did_you_mean(f"{where}{name}", (*_SECTIONS, *SIDES)) if name not in known else None
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
    elif option is None:
        _refuse_unknown_option(f"{where}: ", key)


def _refuse_unknown_option(where: str, key: str) -> None:
    """Raises ConfigError for an option that the Kafka client does not have: many commands make no such client."""
    if key not in _config.LIBRDKAFKAS and not _config.client_knows(key):
        hint = did_you_mean(key, (*OPTIONS, *_config.LIBRDKAFKAS))
        hint = hint or "docs/config.md and librdkafka's CONFIGURATION.md list them"
        raise ConfigError(f"{where}unknown option {key[:100]!r}", hint=hint)


def _refuse_idle(keys: Iterable[str], table: tuple[_config.Option, ...]) -> None:
    """Raises ConfigError for an option of the SerDes that is given to a command which does not use it."""
    used = [option.key for option in table]
    for key in keys:
        if key in OPTIONS and key not in used:
            raise ConfigError(f"{key} has no effect on this command", hint=did_you_mean(key, used))


def _table(tree: Mapping[str, Any], side: SideName, name: str, path: Path) -> tuple[str, Mapping[str, Any]]:
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
    if kind == "env":
        text, place = os.environ.get(where, ""), f"the environment variable {where}"
    else:
        path, place = folder / where, f"the file {where}"
        try:
            text = path.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{key}: {place} cannot be read: {getattr(error, 'strerror', error)}") from None
    if not text:
        raise ConfigError(f"{key}: {place} is not set or is empty")
    renewed = key.endswith("bearer.auth.token") or (key.endswith("bearer.auth.private.key") and text.startswith("{"))
    if kind == "file" and renewed and path.is_file():  # a pipe can be read only once
        return path.absolute().as_uri()  # not resolve(): a link may lead to another file when the token is renewed
    return text


def is_secret(key: str, value: Any = None) -> bool:
    """Whether ``value`` of the option ``key`` must not be seen: a password, a token, an address with a password."""
    text = value if isinstance(value, str) else ""
    if _USER_IN_URL.search(text):
        return True
    if key.endswith("bearer.auth.token") and text.startswith("file:"):  # names the file of the secret
        return False
    if key.endswith("bearer.auth.private.key"):
        return text.lower().startswith("data:")
    option = OPTIONS.get(key)
    if option is not None:
        return option.secret and not _ADDRESSES.search(key)
    return bool(_SECRET.search(key))


def refuse_secrets(pairs: Iterable[tuple[str, str]]) -> None:
    for key, value in pairs:
        if is_secret(key, value):
            hint = f"use --secret {key}=env:VARIABLE or --secret {key}=file:PATH, or the file of --config"
            raise ConfigError(f"{key} is a secret, and other users of this machine see the command line", hint=hint)


def _is_open(path: Path) -> bool:
    return os.name != "nt" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


@dataclass(frozen=True, slots=True)
class Connection:
    registry: dict[str, Any]  # options for SerDes and registry clients, not yet checked
    kafka: dict[str, Any]  # options for Kafka clients, not yet checked
    side: SideName | None = None  # of a migration; None where there is one side

    def missing(self, what: str, flag: str, key: str) -> ConfigError:
        table = "registry" if key == _URL else "kafka"
        option, section = ("", "") if self.side is None else (f"{self.side}-", f"{self.side}.")
        hint = f"give --{option}{flag}, or {key} in [{section}{table}] of --config"
        return ConfigError(f"{what} is missing", hint=hint)

    @property
    def url(self) -> str:
        if self.registry.get(_URL) is None:
            raise self.missing("the registry's address", "registry URL", _URL)
        return ",".join(url.strip().rstrip("/") for url in str(self.registry[_URL]).split(","))

    def options_of(self, table: tuple[_config.Option, ...], **more: Any) -> dict[str, Any]:
        """The user's options that are in ``table``, the Kafka options that a registry client needs, and ``more``."""
        return _config.chosen(table, self.kafka, {_URL: self.url, **self.registry, **more})

    def client(self) -> AbstractContextManager[SchemaRegistryClient]:
        options = self.options_of(_config.REGISTRY_OPTIONS)
        return closing(SchemaRegistryClient(_config.parse(_config.REGISTRY_OPTIONS, options, strict=True)))

    def full_name(self, topic: str) -> TopicName:
        place = (str(self.registry.get(key, OPTIONS[key].default)) for key in ("pulsar.tenant", "pulsar.namespace"))
        return TopicName.parse(topic, *place)

    def kafka_conf(self) -> dict[str, Any]:
        """The options for Kafka clients. Raises ConfigError if the broker's address is missing."""
        if not self.kafka.get(_BROKER):
            raise self.missing("the broker's address", "bootstrap HOST:PORT", _BROKER)
        return dict(self.kafka)


def topic_name(_context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
    """Check a topic's name, short or full, if there is one, or each of several; click calls this function."""
    try:
        for name in value if isinstance(value, tuple) else (value,):
            if name is not None:
                TopicName.parse(name)
    except SerdesError as error:
        raise click.BadParameter(str(error)) from None
    return value


def namespace_name(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Check a namespace, if there is one; click calls this function."""
    try:
        if value is not None:
            namespace_path(value)
    except SerdesError as error:
        raise click.BadParameter(str(error)) from None
    return value


def pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = [(key.strip(), equals, text) for key, equals, text in (value.partition("=") for value in values)]
    if not all(key and equals for key, equals, _ in found):
        raise click.BadParameter("expected KEY=VALUE")  # what was given may be a secret
    return tuple((key, text) for key, _, text in found)


def pairs_option(*names: str, **more: Any) -> Callable[..., Any]:
    return click.option(*names, **{"multiple": True, "metavar": "KEY=VALUE", "callback": pairs, **more})


def choice_option(*names: str, of: Sequence[str], text: str) -> Callable[..., Any]:
    """An option with these values, of which the first is the default."""
    return click.option(*names, type=click.Choice(of), default=of[0], show_default=True, help=text)


def with_options(run: Callable[..., _R], options: Iterable[Callable[..., Any]]) -> Callable[..., _R]:
    """``run`` with these arguments and options, in their order in --help."""
    for option in reversed([*options]):
        run = option(run)
    return run


def config_option(text: str) -> Callable[..., Any]:
    return click.option("--config", envvar=f"{_ENVIRONMENT}CONFIG", type=GIVEN_FILE, help=text)


def set_options(side: str, text: str) -> tuple[Callable[..., Any], ...]:
    """The options --set, with its help, and --secret; their keys begin with ``side``."""
    secret = f"{side}KEY=env:VARIABLE|{side}KEY=file:PATH"
    about = "An option whose value is in an environment variable or a file."
    return (
        pairs_option("--set", "options", metavar=f"{side}KEY=VALUE", help=text),
        pairs_option("--secret", "secrets", metavar=secret, help=about),
    )


_SHARED: Final = (
    config_option("TOML file with tables [registry] and [kafka]; option names as in Python."),
    click.option(
        "--registry", metavar="URL", envvar=f"{_ENVIRONMENT}REGISTRY", help="Pulsar's HTTP address, host and port."
    ),
    click.option(
        "--bootstrap", metavar="HOST:PORT", envvar=f"{_ENVIRONMENT}BOOTSTRAP", help="Address of the Kafka broker."
    ),
    *set_options("", "An option of the registry or of Kafka's client."),
    *REPORTING,
)


def note_reporting(given: dict[str, Any]) -> None:
    """Take the options for reporting out of ``given``, and note them for output and failures."""
    click.get_current_context().meta.update({name: given.pop(name) for name in ("json", "debug")})


def connected_with(
    table: tuple[_config.Option, ...],
) -> Callable[[Callable[Concatenate[Connection, _P], _R]], Callable[..., _R]]:
    """Give a command the options that all commands share, and pass it a Connection made of them.

    ``table``: the options of ours that the command uses; others of ours may be in a file, for other commands.
    """

    def decorated(command: Callable[Concatenate[Connection, _P], _R]) -> Callable[..., _R]:
        @wraps(command)
        def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            note_reporting(kwargs)
            given: Any = {name: kwargs.pop(name) for name in ("config", "registry", "bootstrap", "options", "secrets")}
            _refuse_idle((key for name in ("options", "secrets") for key, _ in given[name]), table)
            return command(connection_of(**given), *args, **kwargs)

        return with_options(run, _SHARED)

    return decorated


connected: Final = connected_with(_config.REGISTRY_OPTIONS)


def connection_of(
    config: Path | None,
    registry: str | None,
    bootstrap: str | None,
    options: tuple[tuple[str, str], ...],
    secrets: tuple[tuple[str, str], ...],
    side: SideName | None = None,
) -> Connection:
    """Combine the configuration file with the options of the command line, which take precedence."""
    given = [*options, *((key, value) for key, value in ((_URL, registry), (_BROKER, bootstrap)) if value)]
    refuse_secrets(given)
    settings = load(config, side or "target") if config is not None else Settings()
    for doubt in settings.doubts:
        say(f"Warning: {doubt}", err=True)
    for key, text in given:
        settings.set(key, text)
    for key, place in secrets:
        kind, colon, where = place.partition(":")
        if kind not in ("env", "file") or not colon:
            raise ConfigError(f"--secret {key}: expected env:VARIABLE or file:PATH")
        settings.set(key, read_secret(key, kind, where))
    return Connection(settings.registry, settings.kafka, side=side)
