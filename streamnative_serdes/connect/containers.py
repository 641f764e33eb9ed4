"""Convert arrays and maps by functions that convert their items, keys and values; an error names the place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from streamnative_serdes._paths import entry
from streamnative_serdes.errors import DecodeError, EncodeError, SerdesError

Convert = Callable[[Any], Any]


def as_decoded(convert: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function for what was read: its errors are DecodeErrors."""
    try:
        return convert(*arguments)
    except SerdesError as error:
        raise DecodeError(error.message, path=error.path, hint=error.hint) from None


def listed(item: Convert) -> Callable[[Iterable[Any]], list[Any]]:
    """The function that converts each item of an array."""

    def convert(value: Iterable[Any]) -> list[Any]:
        found: list[Any] = []
        try:
            for each in value:
                found.append(item(each))  # noqa: PERF401 - its length is the place of an error
        except (EncodeError, DecodeError) as error:
            raise error.inside(f"[{len(found)}]") from None
        return found

    return convert


def paired(key: Convert, item: Convert) -> Callable[[dict[Any, Any]], list[tuple[Any, Any]]]:
    """The function that converts a map to its pairs of key and value."""

    def convert(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
        found, name = [], None
        try:
            for name, each in value.items():
                found.append((key(name), item(each)))
        except (EncodeError, DecodeError) as error:
            raise error.inside(entry(name)) from None
        return found

    return convert
