"""Options that all commands share: where the servers are, how to sign in, and how to report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import click

from streamnative_serdes import _config
from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.schema_registry import SchemaRegistryClient, TopicName

from .output import say
from .settings import OPTIONS, Settings, Side, load, read_secret, refuse_secrets

_P = ParamSpec("_P")
_R = TypeVar("_R")

_ENVIRONMENT: Final = "STREAMNATIVE_SERDES_"
_URL, _BROKER = "schema.registry.url", "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Connection:
    """The options of a command's servers, and the output format that its user wants.

    Args:
        registry: options for SerDes and registry clients, not yet checked.
        kafka: options for Kafka clients, not yet checked.
        json: output is for programs.
        side: of a migration; None where there is one side.
    """

    registry: dict[str, Any]
    kafka: dict[str, Any]
    json: bool = False
    side: Side | None = None

    def missing(self, what: str, flag: str, key: str) -> ConfigError:
        """The error for a missing address."""
        table = "registry" if key == _URL else "kafka"
        option, section = (
            (f"--{self.side}-{flag}", f"{self.side}.{table}") if self.side is not None else (f"--{flag}", table)
        )
        return ConfigError(f"{what} is missing", hint=f"give {option}, or {key} in [{section}] of --config")

    @property
    def url(self) -> str:
        """The registry's address.

        Raises:
            ConfigError: the address is missing.
        """
        if self.registry.get(_URL) is None:
            raise self.missing("the registry's address", "registry URL", _URL)
        return ",".join(url.strip().rstrip("/") for url in str(self.registry[_URL]).split(","))

    def options_of(self, table: tuple[_config.Option, ...], **more: Any) -> dict[str, Any]:
        """The user's options that are in ``table``, the Kafka options that a registry client needs, and ``more``.

        Raises:
            ConfigError: the registry's address is missing, or the Kafka user belongs to another tenant.
        """
        _config.refuse_other_tenant(self.kafka, self.registry)
        known = {option.key for option in table}
        given = {_URL: self.url, **self.registry}
        if _config.inherits(self.registry):
            given |= {key: self.kafka[key] for key in ("sasl.username", "sasl.password") if key in self.kafka}
        return {key: value for key, value in {**given, **more}.items() if key in known}

    @contextmanager
    def client(self) -> Iterator[SchemaRegistryClient]:
        """A client of the registry. Raises ConfigError if its options are not valid."""
        options = self.options_of(_config.REGISTRY_OPTIONS)
        client = SchemaRegistryClient(_config.parse(_config.REGISTRY_OPTIONS, options, strict=True))
        try:
            yield client
        finally:
            client.close()

    def full_name(self, topic: str) -> TopicName:
        """The topic with its tenant and namespace.

        Raises:
            ConfigError: the options for tenant or namespace are not valid.
        """
        place = (str(self.registry.get(key, OPTIONS[key].default)) for key in ("pulsar.tenant", "pulsar.namespace"))
        return TopicName.parse(topic, *place)

    def kafka_conf(self) -> dict[str, Any]:
        """The options for Kafka clients.

        Raises:
            ConfigError: the broker's address is missing.
        """
        if not self.kafka.get(_BROKER):
            raise self.missing("the broker's address", "bootstrap HOST:PORT", _BROKER)
        return dict(self.kafka)


def topic_name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    """Check a topic's name, short or full; click calls this function and the following ones."""
    try:
        TopicName.parse(value)
    except SerdesError as error:
        raise click.BadParameter(str(error)) from None
    return value


def optional_topic(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """As :func:`topic_name`; None stays None."""
    return None if value is None else topic_name(context, parameter, value)


def topic_names(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """As :func:`topic_name`, for several names."""
    return tuple(topic_name(context, parameter, value) for value in values)


def pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Split each ``KEY=VALUE``."""
    found = [(key.strip(), equals, text) for key, equals, text in (value.partition("=") for value in values)]
    if not all(key and equals for key, equals, _ in found):
        raise click.BadParameter("expected KEY=VALUE")  # what was given may be a secret
    return tuple((key, text) for key, _, text in found)


def connected(command: Callable[Concatenate[Connection, _P], _R]) -> Callable[..., _R]:
    """Give ``command`` the options that all commands share, and pass it a Connection made of them."""

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        context = click.get_current_context()
        context.meta["json"], context.meta["debug"] = kwargs.pop("json"), kwargs.pop("debug")
        names = ("config", "registry", "bootstrap", "options", "secrets")
        given: dict[str, Any] = {name: kwargs.pop(name) for name in names}
        connection = connection_of(**given)
        return command(replace(connection, json=bool(context.meta["json"])), *args, **kwargs)

    for option in reversed(_SHARED):
        run = option(run)
    return run


def connection_of(
    config: Path | None,
    registry: str | None,
    bootstrap: str | None,
    options: tuple[tuple[str, str], ...],
    secrets: tuple[tuple[str, str], ...],
    side: Side | None = None,
) -> Connection:
    """Combine the configuration file with the options of the command line, which take precedence.

    Raises:
        ConfigError: an option is not valid, or a secret is on the command line.
    """
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


_SHARED: Final = (
    click.option(
        "--config",
        envvar=f"{_ENVIRONMENT}CONFIG",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="TOML file with tables [registry] and [kafka]; option names as in Python.",
    ),
    click.option(
        "--registry", metavar="URL", envvar=f"{_ENVIRONMENT}REGISTRY", help="Pulsar's HTTP address, host and port."
    ),
    click.option(
        "--bootstrap", metavar="HOST:PORT", envvar=f"{_ENVIRONMENT}BOOTSTRAP", help="Address of the Kafka broker."
    ),
    click.option(
        "--set",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        callback=pairs,
        help="An option of the registry or of Kafka's client.",
    ),
    click.option(
        "--secret",
        "secrets",
        multiple=True,
        metavar="KEY=env:VARIABLE|KEY=file:PATH",
        callback=pairs,
        help="An option whose value is in an environment variable or a file.",
    ),
    click.option("--json", is_flag=True, help="Output and errors as JSON, for programs."),
    click.option("--debug", is_flag=True, help="Show the traceback of an error."),
)
