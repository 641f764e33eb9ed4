"""Options that steps of a migration share: servers of both sides, topics, the state file, and rules for copying."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import click

from streamnative_serdes._kafka import PATIENCE, patient
from streamnative_serdes.cli.options import Side as Table
from streamnative_serdes.cli.options import connection_of, pairs, topic_name
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.migration import Route, Rules, Side, State, behind_copies
from streamnative_serdes.migration.state import default_path


def ruled(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command`` these options; it gets ``rules`` and ``start`` (offsets by partition), made of the options."""

    @wraps(command)
    def run(state: State, **given: Any) -> None:
        probe = (state.findings or {}).get("probe") or {}
        kept = {name: probe.get(name, True) for name in ("null_headers", "raw_headers")}
        rules = Rules(**{name: given.pop(name) for name in _RULES}, **kept)
        command(state, rules=rules, start=_start(state, given.pop("start")), **given)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


def _start(state: State, start: str) -> Mapping[int, int]:
    if start == "beginning":
        return {}
    if state.route.direction != "back":
        raise ConfigError("--from copied is for --back", hint="copying goes on where it was stopped by itself")
    return behind_copies(state.route)


_RULES: Final = ("keys", "check", "allow_header_loss", "allow_time_loss")
_OPTIONS: Final = (
    click.option(
        "--keys",
        type=click.Choice(["keep", "strip"]),
        default="keep",
        show_default=True,
        help="Strip takes Confluent's framing off keys; the partition stays.",
    ),
    click.option("--check", is_flag=True, help="Decode each value too; those that cannot be decoded are dead letters."),
    click.option("--allow-header-loss", is_flag=True, help="Copy messages whose headers the target's broker alters."),
    click.option("--allow-time-loss", is_flag=True, help="Copy messages without a time; they get the present one."),
    click.option(
        "--from",
        "start",
        type=click.Choice(["beginning", "copied"]),
        default="beginning",
        show_default=True,
        help="With --back, `copied` begins behind what the way forth has copied to SOURCE.",
    ),
)


_P = ParamSpec("_P")
_R = TypeVar("_R")

_ENVIRONMENT: Final = "STREAMNATIVE_SERDES_"
_TABLES: Final[tuple[Table, ...]] = ("source", "target")
_FILE: Final = click.Path(dir_okay=False, path_type=Path)


def routed(command: Callable[Concatenate[State, _P], _R]) -> Callable[..., _R]:
    """Give ``command`` the arguments SOURCE and TARGET and the options of all steps; the state is passed instead."""

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        context = click.get_current_context()
        context.meta["json"], context.meta["debug"] = kwargs.pop("json"), kwargs.pop("debug")
        route = _route(kwargs)
        path: Any = kwargs.pop("state")
        seconds: Any = kwargs.pop("wait_for_broker")
        with patient(seconds):
            return command(State.load(path or default_path(route), route), *args, **kwargs)

    for option in reversed(_SHARED):
        run = option(run)
    return run


def _route(given: dict[str, Any]) -> Route:
    """Take the options for servers and topics out of ``given``, and make the route of them. Raises ConfigError."""
    back, source, target, config = (given.pop(name) for name in ("back", "source", "target", "config"))
    options, secrets = _split(given.pop("options")), _split(given.pop("secrets"))
    sides = {}
    for table in _TABLES:
        registry, bootstrap = given.pop(f"{table}_registry"), given.pop(f"{table}_bootstrap")
        found = connection_of(config, registry, bootstrap, options[table], secrets[table], table)
        sides[table] = Side(found.kafka_conf(), {**found.registry, "schema.registry.url": found.url})
    return Route("back" if back else "forward", source, target, sides["source"], sides["target"])


def _split(given: tuple[tuple[str, str], ...]) -> dict[Table, tuple[tuple[str, str], ...]]:
    for key, _ in given:
        if not key.startswith(tuple(f"{table}." for table in _TABLES)):
            raise ConfigError(f"expected source.OPTION or target.OPTION, got {key:.80}")
    return {
        table: tuple((key.removeprefix(f"{table}."), text) for key, text in given if key.startswith(f"{table}."))
        for table in _TABLES
    }


_SHARED: Final = (
    click.argument("source", callback=topic_name),
    click.argument("target", callback=topic_name),
    click.option("--back", is_flag=True, help="The way back: SOURCE is a topic with Pulsar's registry."),
    click.option(
        "--state", type=_FILE, metavar="FILE", help="The state file.  [default: SOURCE-to-TARGET.migration.json]"
    ),
    click.option(
        "--config",
        envvar=f"{_ENVIRONMENT}CONFIG",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="TOML file with tables [source.registry], [source.kafka], [target.registry] and [target.kafka]; the "
        "source is Confluent's side, with --back too.",
    ),
    click.option("--source-registry", metavar="URL", help="Address of the registry with Confluent's API."),
    click.option("--source-bootstrap", metavar="HOST:PORT", help="Address of the Kafka broker on that side."),
    click.option("--target-registry", metavar="URL", help="Pulsar's HTTP address, host and port."),
    click.option("--target-bootstrap", metavar="HOST:PORT", help="Address of the Kafka broker on Pulsar's side."),
    click.option(
        "--set",
        "options",
        multiple=True,
        metavar="SIDE.KEY=VALUE",
        callback=pairs,
        help="An option of a registry or of Kafka's client, such as source.sasl.username=me.",
    ),
    click.option(
        "--secret",
        "secrets",
        multiple=True,
        metavar="SIDE.KEY=env:VARIABLE|SIDE.KEY=file:PATH",
        callback=pairs,
        help="An option whose value is in an environment variable or a file.",
    ),
    click.option(
        "--wait-for-broker",
        type=click.FloatRange(0),
        default=PATIENCE,
        show_default=True,
        metavar="SECONDS",
        help="Wait so long for a Kafka broker that has answered before and is away.",
    ),
    click.option("--json", is_flag=True, help="Output and errors as JSON, for programs."),
    click.option("--debug", is_flag=True, help="Show the traceback of an error."),
)
