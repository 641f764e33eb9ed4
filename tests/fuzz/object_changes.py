"""Mutations of a datum before it is encoded: odd values are inserted, parts moved, containers exchanged."""

from __future__ import annotations

from collections import OrderedDict, UserDict, UserList, deque
from collections.abc import Callable
from copy import copy
from random import Random
from types import MappingProxyType
from typing import Any

from odd_objects import ODD, Acting, ActingItems, ActingTable, ActingWord, Items, Row, Table, Word


def copied(datum: Any) -> Any:
    """Return ``datum`` with copies of its dicts and lists."""
    if isinstance(datum, dict):
        return {key: copied(value) for key, value in datum.items()}
    return [copied(value) for value in datum] if type(datum) is list else datum


def places(datum: Any) -> list[tuple[Any, Any]]:
    """Yield each value inside ``datum``, which may contain itself, as (container, key)."""
    found, todo, seen = [], [datum], set()
    while todo:
        box = todo.pop()
        if id(box) in seen:
            continue
        seen.add(id(box))
        keys = list(box) if isinstance(box, dict) else range(len(box)) if type(box) is list else ()
        found += [(box, key) for key in keys]
        todo += [box[key] for key in keys]
    return found


def odd(rng: Random) -> Any:
    """Return an odd value. Containers are copied, because later changes must not affect other rounds."""
    value = rng.choice(ODD)
    return copy(value) if isinstance(value, (dict, list)) else value


def _odd(box: Any, key: Any, rng: Random) -> None:
    box[key] = odd(rng)


def _acting(box: Any, key: Any, rng: Random) -> None:
    box[key] = rng.choice((Acting, Acting, ActingTable, ActingItems))(box, key, rng)


def _acting_key(box: Any, key: Any, rng: Random) -> None:
    # An OrderedDict that such a key changes during a look-up ends Python itself: dict.get() and od[key] = 1 crash, too.
    if isinstance(box, dict) and not isinstance(box, OrderedDict) and isinstance(key, str):
        word = ActingWord(key)
        word.acting = Acting(box, key, rng)
        box[word] = box.pop(key)


def _remove(box: Any, key: Any, rng: Random) -> None:
    del box[key]


def _add(box: Any, key: Any, rng: Random) -> None:
    value = odd(rng)
    if isinstance(box, dict):
        box[rng.choice(("extra", "value", "", 7, None, "\ud800", Word(key) if isinstance(key, str) else key))] = value
    else:
        box.insert(key, value)


def _swap(box: Any, key: Any, rng: Random) -> None:
    other = rng.choice(list(box) if isinstance(box, dict) else range(len(box)))
    box[key], box[other] = box[other], box[key]


def _reorder(box: Any, key: Any, rng: Random) -> None:
    items = list(box.items()) if isinstance(box, dict) else list(box)
    rng.shuffle(items)
    box.clear()
    box.update(items) if isinstance(box, dict) else box.extend(items)


def _other_container(box: Any, key: Any, rng: Random) -> None:
    value = box[key]
    if isinstance(value, dict):
        box[key] = rng.choice((Table, OrderedDict, UserDict, MappingProxyType, _row))(value)
    elif isinstance(value, list):
        box[key] = rng.choice((Items, tuple, UserList, deque, set, iter))(value)  # type: ignore[operator]


def _row(value: dict[Any, Any]) -> Row:
    made = Row(value.values())
    made.__fields__ = list(value)
    return made


def _cycle(box: Any, key: Any, rng: Random) -> None:
    box[key] = box if rng.random() < 0.5 else [box] if isinstance(box, dict) else {"a": box, "value": box, "next": box}


def _wrap(box: Any, key: Any, rng: Random) -> None:
    box[key] = rng.choice(
        ([box[key]], {"a": box[key]}, (box[key],), ("Linked", box[key]), {"-type": "Linked", "value": 1})
    )


CHANGES: tuple[Callable[[Any, Any, Random], None], ...] = (
    *(_odd, _odd, _odd, _acting, _acting, _acting_key),
    *(_remove, _add, _swap, _reorder, _other_container, _cycle, _wrap),
)


def spoilt(datum: Any, rng: Random) -> Any:
    """Return a copy of ``datum`` with one to three changes."""
    root = [copied(datum)]
    for _ in range(rng.choice((1, 1, 2, 3))):
        found = [(root, 0), *places(root[0])] if len(root) == 1 else []
        try:
            rng.choice(CHANGES)(*rng.choice(found), rng)
        except (TypeError, ValueError, RecursionError, IndexError, KeyError):
            break  # earlier changes have left nothing to change
    return root[0] if root else None
