"""The performance goals of the project. All of them compare results within one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from contenders import CONTENDERS
from measure import OVERHEADS, SMALLEST, Results
from shapes import SHAPES, TITLES


class Goal(Protocol):
    """A goal that the results of one shape meet or miss."""

    @property
    def shape(self) -> str: ...

    def verdict(self, results: Results) -> tuple[bool, str]:
        """Whether the goal is met, and a line of text for the report."""


@dataclass(frozen=True)
class Times:
    """``ours`` does ``operation`` at least ``least`` times as fast as ``peer``."""

    shape: str
    operation: str
    ours: str
    peer: str
    least: float

    def verdict(self, results: Results) -> tuple[bool, str]:
        times = results.ratio(self.shape, self.operation, self.peer, self.ours)
        goal = f"{self.operation} {TITLES[self.shape]}: {self.ours} >= {self.least:g}x {self.peer}"
        return times is not None and times >= self.least, said(goal, times, "{:.1f}x")


@dataclass(frozen=True)
class NeverSlower:
    """No peer is faster in any operation that it offers."""

    shape: str

    def verdict(self, results: Results) -> tuple[bool, str]:
        peers = [
            (peer, peer.against, operation) for peer in CONTENDERS if peer.against for operation in peer.statements
        ]
        times = {
            f"{operation} by {peer.name}": results.ratio(self.shape, operation, peer.name, ours) or 0.0
            for peer, ours, operation in peers
            if results.find(self.shape, operation, peer.name)
        }
        nearest = min(times, key=times.__getitem__)
        goal = f"{TITLES[self.shape]}: no peer is faster"
        return times[nearest] >= 1, said(goal, times[nearest], f"{nearest} comes nearest, {{:.1f}}x")


@dataclass(frozen=True)
class Share:
    """CPython needs at least this share of the codec's time to create the objects."""

    shape: str
    least: float

    def verdict(self, results: Results) -> tuple[bool, str]:
        share = results.ratio(self.shape, "deserialize", "floor", "codec")
        goal = f"deserialize {TITLES[self.shape]}: >= {self.least:.0%} of the limit"
        return share is not None and share >= self.least, said(goal, share, "{:.0%}")


@dataclass(frozen=True)
class Overhead:
    """Header, caches and call cost at most ``most`` nanoseconds above the codec, if a C call takes CALL_NS.

    Nanoseconds differ between machines, so the cost is compared with a C call that is measured at the same time.
    """

    shape: str
    operation: str
    call: str
    most: float

    def verdict(self, results: Results) -> tuple[bool, str]:
        cost, most = results.overheads.get((self.operation, self.call)), self.most / CALL_NS
        goal = f"{self.operation} {TITLES[self.shape]}: {self.call} <= {most:.2f} calls of C above the codec"
        if cost is None:
            return False, said(goal, None, "")
        return cost.calls <= most, said(goal, cost.calls, f"{{:.2f}} ({cost.ns:.0f} ns)")


@dataclass(frozen=True)
class InClient:
    """A client's method takes at most ``most`` times as long with our SerDes as with SerDes that do nothing."""

    shape: str
    method: str
    most: float

    def verdict(self, results: Results) -> tuple[bool, str]:
        cost = results.clients.get(self.method)
        goal = f"{self.method}, {TITLES[self.shape]}: <= {self.most:g}x the time with SerDes that do nothing"
        return cost is not None and cost.times <= self.most, said(goal, cost.times if cost else None, "{:.2f}x")


@dataclass(frozen=True)
class AsObjects:
    """Objects of this kind of class take at most ``read`` and ``write`` times as long as dicts."""

    shape: str
    kind: str
    read: float
    write: float

    def verdict(self, results: Results) -> tuple[bool, str]:
        cost = results.objects.get(self.kind)
        goal = f"{self.kind}, {TITLES[self.shape]}: <= {self.read:g}x a dict to read, <= {self.write:g}x to write"
        if cost is None:
            return False, said(goal, None, "")
        met = cost.read_times <= self.read and cost.write_times <= self.write
        return met, f"{goal}: {cost.read_times:.2f}x and {cost.write_times:.2f}x"


def said(goal: str, got: float | None, form: str) -> str:
    return f"{goal}: {'not measured' if got is None else form.format(got)}"


# How many times as fast we must be at least: by operation and peer, for the shapes in their order (3 fields, 10 fields,
# nested, 100 fields, 10 KB string).
LEAST = (
    ("serialize", "ours", "confluent", (20, 20, 20, 16, 12)),
    ("deserialize", "ours", "confluent", (25, 25, 11, 20, 12)),
    ("serialize", "codec", "fastavro", (15, 15, 15, 15, 5)),
    ("deserialize", "codec", "fastavro", (6, 6, 5, 6, 3)),
    ("resolve", "codec", "fastavro", (10, 10, 10, 10, 5)),
)
MOST = {"methods": 15, "ours": 55}  # ns above the codec, on the machine on which the goals were set
CALL_NS = 11  # ns for the call of a C function of one argument, on the same machine
# Ratio to SerDes that do nothing. The deserializer's ratio is higher because of the objects that it creates.
IN_CLIENTS = {"SerializingProducer.produce": 1.3, "DeserializingConsumer.poll": 1.5}

GOALS: tuple[Goal, ...] = (
    *(
        Times(shape.name, operation, ours, peer, least)
        for operation, ours, peer, each in LEAST
        for shape, least in zip(SHAPES, each, strict=True)
    ),
    *(NeverSlower(shape.name) for shape in SHAPES),
    *(
        Share(shape.name, 0.75) for shape in SHAPES if shape.name != "text"
    ),  # there, most of the time is a large copy, not the decoder's work
    *(Overhead(SMALLEST, operation, call, most) for operation in OVERHEADS for call, most in MOST.items()),
    *(InClient("flat", method, most) for method, most in IN_CLIENTS.items()),
    *(AsObjects("flat", kind, 1.5, 1.2) for kind in ("dataclass(slots=True)", "NamedTuple")),
)


def verdicts(results: Results) -> Iterator[tuple[bool, str]]:
    """Yield, for each goal whose shape was measured, whether it is met, and a line of text for the report."""
    for goal in GOALS:
        if goal.shape in results.sizes:
            met, line = goal.verdict(results)
            yield met, f"goal {line}, {'met' if met else 'MISSED'}"
