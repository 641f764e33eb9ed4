"""Shared by the steps of a migration: options for servers, topics, the state file and rules, and the progress shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from streamnative_serdes._kafka import PATIENCE, patient
from streamnative_serdes.cli.options import (
    FILE,
    REPORTING,
    SIDES,
    SideName,
    choice_option,
    config_option,
    connection_of,
    note_reporting,
    set_options,
    topic_name,
    with_options,
)
from streamnative_serdes.cli.output import as_json, say
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.migration import Route, Rules, Side, State, behind_copies
from streamnative_serdes.migration.state import default_path

_RULES: Final = ("keys", "check", "allow_header_loss", "allow_time_loss")
_OPTIONS: Final = (
    choice_option(
        "--keys", of=("keep", "strip"), text="Strip takes Confluent's framing off keys; the partition stays."
    ),
    click.option("--check", is_flag=True, help="Decode each value too; those that cannot be decoded are dead letters."),
    click.option("--allow-header-loss", is_flag=True, help="Copy messages whose headers the target's broker alters."),
    click.option("--allow-time-loss", is_flag=True, help="Copy messages without a time; they get the present one."),
    choice_option(
        "--from",
        "start",
        of=("beginning", "copied"),
        text="With --back, `copied` begins behind what the way forth has copied to SOURCE.",
    ),
)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_SHARED: Final = (
    click.argument("source", callback=topic_name),
    click.argument("target", callback=topic_name),
    click.option("--back", is_flag=True, help="The way back: SOURCE is a topic with Pulsar's registry."),
    click.option(
        "--state", type=FILE, metavar="FILE", help="The state file.  [default: SOURCE-to-TARGET.migration.json]"
    ),
    config_option(
        "TOML file with tables [source.registry], [source.kafka], [target.registry] and [target.kafka]; the "
        "source is Confluent's side, with --back too."
    ),
    click.option("--source-registry", metavar="URL", help="Address of the registry with Confluent's API."),
    click.option("--source-bootstrap", metavar="HOST:PORT", help="Address of the Kafka broker on that side."),
    click.option("--target-registry", metavar="URL", help="Pulsar's HTTP address, host and port."),
    click.option("--target-bootstrap", metavar="HOST:PORT", help="Address of the Kafka broker on Pulsar's side."),
    *set_options("SIDE.", "An option of a registry or of Kafka's client, such as source.sasl.username=me."),
    click.option(
        "--wait-for-broker",
        type=click.FloatRange(0),
        default=PATIENCE,
        show_default=True,
        metavar="SECONDS",
        help="Wait so long for a Kafka broker that has answered before and is away.",
    ),
    *REPORTING,
)
_LINE_SECONDS: Final = 60.0


def ruled(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command`` these options; it gets ``rules`` and ``start`` (offsets by partition), made of the options."""

    @wraps(command)
    def run(state: State, **given: Any) -> None:
        probe = (state.findings or {}).get("probe") or {}
        kept = {name: probe.get(name, True) for name in ("null_headers", "raw_headers")}
        rules = Rules(**{name: given.pop(name) for name in _RULES}, **kept)
        command(state, rules=rules, start=_start(state, given.pop("start")), **given)

    return with_options(run, _OPTIONS)


def _start(state: State, start: str) -> Mapping[int, int]:
    if start == "beginning":
        return {}
    if state.route.direction != "back":
        raise ConfigError("--from copied is for --back", hint="copying goes on where it was stopped by itself")
    return behind_copies(state.route)


def routed(command: Callable[Concatenate[State, _P], _R]) -> Callable[..., _R]:
    """Give ``command`` the arguments SOURCE and TARGET and the options of all steps; the state is passed instead."""

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        note_reporting(kwargs)
        route = _route(kwargs)
        path: Any = kwargs.pop("state")
        seconds: Any = kwargs.pop("wait_for_broker")
        with patient(seconds):
            return command(State.load(path or default_path(route), route), *args, **kwargs)

    return with_options(run, _SHARED)


def _route(given: dict[str, Any]) -> Route:
    """Take the options for servers and topics out of ``given``, and make the route of them. Raises ConfigError."""
    back, source, target, config = (given.pop(name) for name in ("back", "source", "target", "config"))
    options, secrets = _split(given.pop("options")), _split(given.pop("secrets"))
    sides = {}
    for table in SIDES:
        registry, bootstrap = given.pop(f"{table}_registry"), given.pop(f"{table}_bootstrap")
        found = connection_of(config, registry, bootstrap, options[table], secrets[table], table)
        sides[table] = Side(found.kafka_conf(), {**found.registry, "schema.registry.url": found.url})
    return Route("back" if back else "forward", source, target, sides["source"], sides["target"])


def _split(given: tuple[tuple[str, str], ...]) -> dict[SideName, tuple[tuple[str, str], ...]]:
    for key, _ in given:
        if not key.startswith(tuple(f"{table}." for table in SIDES)):
            raise ConfigError(f"expected source.OPTION or target.OPTION, got {key:.80}")
    return {
        table: tuple((key.removeprefix(f"{table}."), text) for key, text in given if key.startswith(f"{table}."))
        for table in SIDES
    }


class ProgressBar:
    """Shows the progress of a step; for programs, shows nothing. Call it once per batch of messages."""

    _shown = 0

    def show(self, done: int, total: int) -> None:
        """Set the number of messages done, and that of messages in all."""
        self.expect(total)
        self.advance(done - self._shown)
        self._shown = done

    def advance(self, messages: int) -> None:
        """Add ``messages`` to the number of messages done."""

    def expect(self, total: int) -> None:
        """Set the number of messages in all, as known by now."""

    def lag(self, messages: int) -> None:
        """Set the number of the source's messages that are not done yet."""


class _Shown(ProgressBar):
    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=None, lag="")

    def advance(self, messages: int) -> None:
        self._progress.advance(self._task, messages)

    def expect(self, total: int) -> None:
        self._progress.update(self._task, total=total)

    def lag(self, messages: int) -> None:
        self._progress.update(self._task, lag=f"lag {messages:,}")


class _Lines(ProgressBar):
    def __init__(self, title: str) -> None:
        self._title, self._of, self._lag = title, "", ""
        self._done = self._said = 0
        self._since = time.monotonic()

    def advance(self, messages: int) -> None:
        self._done += messages
        now = time.monotonic()
        if now - self._since < _LINE_SECONDS:
            return
        rate = (self._done - self._said) / (now - self._since)
        say(f"{self._title}: {self._done:,}{self._of} messages, {rate:,.0f} messages/s{self._lag}", err=True)
        self._since, self._said = now, self._done

    def expect(self, total: int) -> None:
        self._of = f" of {total:,}"

    def lag(self, messages: int) -> None:
        self._lag = f", lag {messages:,}"


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} messages/s")


@contextmanager
def progress_bar(title: str) -> Iterator[ProgressBar]:
    """A bar on stderr while the block runs; without a terminal, a line a minute; for programs, nothing."""
    if as_json() or not sys.stderr.isatty():
        yield ProgressBar() if as_json() else _Lines(title)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[lag]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Shown(progress, title)
