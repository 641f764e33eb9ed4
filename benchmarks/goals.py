"""The performance goals of `make bench`. All of them compare results within one run."""

from __future__ import annotations

from collections.abc import Iterator

from contenders import CONTENDERS
from costs import CALLS, DICTS, IDLE, OURS, OVERHEADS, OWN, POLL, PRODUCE, SMALLEST, Overheads
from harness import Goal, Results
from shapes import TITLES

# How many times as fast we must be at least: by operation and peer, for the shapes in their order (3 fields, 10 fields,
# nested, 100 fields, 10 KB string).
LEAST = (
    ("serialize", "ours", "confluent", (20, 20, 20, 16, 12)),
    ("deserialize", "ours", "confluent", (25, 25, 11, 20, 12)),
    ("serialize", "codec", "fastavro", (15, 15, 15, 15, 5)),
    ("deserialize", "codec", "fastavro", (6, 6, 5, 6, 3)),
    ("resolve", "codec", "fastavro", (10, 10, 10, 10, 5)),
)
SHARE = 0.75  # of the codec's time that CPython needs to create the objects; of text, most is a large copy
MOST = {"methods": 15, "ours": 55}  # ns above the codec, on the machine on which the goals were set
CALL_NS = 11  # ns for the call of a C function of one argument, on the same machine
# Ratio to confluent-kafka's client with SerDes that do nothing. The deserializer's is higher, since it creates objects.
IN_CLIENTS = {(PRODUCE, OURS): 1.3, (POLL, OURS): 1.5, (PRODUCE, OWN): 1.0, (POLL, OWN): 1.15}
AS_OBJECTS, OF_DICTS = ("dataclass(slots=True)", "NamedTuple"), {"read": 1.5, "write": 1.2}


def goals(cells: Results, overheads: Overheads, clients: Results, objects: Results) -> Iterator[Goal]:
    """The goals of the shapes that were measured."""
    measured = [shape for shape in TITLES if any(key[0] == shape for key in cells)]
    for operation, ours, peer, each in LEAST:
        for shape, least in zip(TITLES, each, strict=True):
            if shape in measured:
                text = f"{operation} {TITLES[shape]}: {ours} >= {least:g}x {peer}"
                yield Goal(text, cells.times((shape, operation, peer), (shape, operation, ours)), least, form="{:.1f}x")
    yield from (never_slower(cells, shape) for shape in measured)
    for shape in measured:
        if shape != "text":
            share = cells.times((shape, "deserialize", "floor"), (shape, "deserialize", "codec"))
            yield Goal(f"deserialize {TITLES[shape]}: >= {SHARE:.0%} of the limit", share, SHARE, form="{:.0%}")
    if SMALLEST in measured:
        yield from (overhead(overheads, operation, call) for operation in OVERHEADS for call in CALLS)
    if "flat" in measured:
        yield from of_ten_fields(clients, objects)


def never_slower(cells: Results, shape: str) -> Goal:
    """No peer is faster in any operation that it offers."""
    times = {
        f"{operation} by {peer.name}": cells.times((shape, operation, peer.name), (shape, operation, peer.against))
        for peer in CONTENDERS if peer.against for operation in peer.statements
        if (shape, operation, peer.name) in cells
    }  # fmt: skip
    nearest = min(times, key=lambda name: times[name] or 0.0)
    return Goal(f"{TITLES[shape]}: no peer is faster", times[nearest], 1, form=f"{nearest} comes nearest, {{:.1f}}x")


def overhead(overheads: Overheads, operation: str, call: str) -> Goal:
    """Header, caches and call cost no more nanoseconds above the codec than MOST, if a C call takes CALL_NS.

    Nanoseconds differ between machines, so the cost is compared with a C call that is measured at the same time.
    """
    most, (ns, calls) = MOST[call] / CALL_NS, overheads.get((operation, call), (0.0, None))
    text = f"{operation} {TITLES[SMALLEST]}: {call} <= {most:.2f} calls of C above the codec"
    return Goal(text, calls, most, most=True, form=f"{{:.2f}} ({ns:.0f} ns)")


def of_ten_fields(clients: Results, objects: Results) -> Iterator[Goal]:
    for (method, name), most in IN_CLIENTS.items():
        text = f"{method}, {TITLES['flat']}: {name}: <= {most:g}x the time with SerDes that do nothing"
        yield Goal(text, clients.times((method, name), (method, IDLE)), most, most=True)
    for kind in AS_OBJECTS:
        times = {way: objects.times((way, kind), (way, DICTS)) or 0.0 for way in OF_DICTS}
        wanted = " and ".join(f"<= {most:g}x a dict to {way}" for way, most in OF_DICTS.items())
        told = " and ".join(f"{got:.2f}x" for got in times.values())
        worst = max(times[way] / most for way, most in OF_DICTS.items())
        yield Goal(f"{kind}, {TITLES['flat']}: {wanted}", worst, 1, most=True, form=told)
