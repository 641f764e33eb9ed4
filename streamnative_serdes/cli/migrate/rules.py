"""Options for copying messages: ``topic`` copies by these options, and ``verify`` expects the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import click

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.migration import Rules, State, behind_copies


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
