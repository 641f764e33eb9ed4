"""Checks of option values: each returns the converted value, or raises ValueError with what was expected.

The text of the ValueError follows "expected" in the final error. Numbers and flags may be text too, as in Java's
properties files.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any
from urllib.parse import urlsplit

from streamnative_serdes._schema import load
from streamnative_serdes.errors import SchemaError


def text(value: object) -> str:
    if not isinstance(value, str) or not value or not encodable(value):
        raise ValueError("a non-empty string")
    return value


def encodable(value: str) -> bool:
    """Whether text can be encoded as UTF-8: it has no lone surrogate."""
    return not any("\ud800" <= char <= "\udfff" for char in value)


def text_or_function(value: object) -> str | Callable[[], str]:
    if callable(value):
        return value
    try:
        return text(value)
    except ValueError as expected:
        raise ValueError(f"{expected} or a function without arguments") from None


def text_or_client(value: object) -> Any:
    if callable(getattr(value, "get_schema_version", None)) and isinstance(value, Hashable):
        return value
    try:
        return text(value)
    except ValueError as expected:
        raise ValueError(f"{expected} or an object with a method get_schema_version") from None


def user_info(value: object) -> str:
    user, colon, _ = text(value).partition(":")
    if not (user and colon and str(value).isprintable()):
        raise ValueError("USER:PASSWORD")
    return str(value)


def http_url(value: object) -> str:
    return _http(value, "?#", "an http(s) address without user name, query or fragment")


def http_endpoint(value: object) -> str:
    return _http(value, "#", "an http(s) address without user name or fragment")


def _http(value: object, refused: str, expected: str) -> str:
    url = text(value)
    scheme, authority = _address(url, expected)
    if scheme not in ("http", "https") or "@" in authority or set(refused) & set(url):
        raise ValueError(expected)
    return url


def proxy(value: object) -> str:
    given, expected = text(value), "the address of a proxy, such as http://localhost:8030"
    _address(given if "://" in given else f"http://{given}", expected)
    return given


def _address(url: str, expected: str) -> tuple[str, str]:
    """Scheme and authority."""
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0 and url.isprintable() and " " not in url:
            return parts.scheme, parts.netloc
    except ValueError:  # a bad port or IPv6 address
        pass
    raise ValueError(expected)


def flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError("true or false")


def a_class(value: object) -> type:
    if not isinstance(value, type):
        raise ValueError("a class")
    return value


def avro_schema(value: object) -> str:
    """As JSON text: a file is read now, and may be missing where a pickle goes."""
    try:
        return load(value)
    except SchemaError as error:
        raise ValueError(f"an Avro schema ({error})") from None


def count(value: object) -> int:
    return _whole(value, 1, 10**12, "a whole number from 1 to 10**12")


def version(value: object) -> int:
    return _whole(value, 0, 10**12, "a schema version from 0")


def between(least: int, most: int) -> Callable[[object], int]:
    return lambda value: _whole(value, least, most, f"a whole number from {least} to {most}")


def milliseconds(value: object) -> float:
    return _number(value, 1, 10**12, "a number of milliseconds from 1 to 10**12")


def seconds(value: object) -> float:
    return _number(value, 0, 10**12, "a number of seconds from 0 to 10**12")


def one_of(*words: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in words:
            raise ValueError(" or ".join(words))
        return str(value)

    return check


def several_of(*words: str, first: str) -> Callable[[object], tuple[str, ...]]:
    """Some of ``words`` in the user's order, as a list or as text with commas; ``first`` must be the first of them."""
    expected = f"a list of {', '.join(words)}, each at most once and {first} first"

    def check(value: object) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
            raise ValueError(expected)
        given = tuple(part.strip() for part in parts)
        if given[:1] != (first,) or len(set(given)) < len(given) or not set(given) <= set(words):
            raise ValueError(expected)
        return given

    return check


def _whole(value: object, least: int, most: int, expected: str) -> int:
    number = _number(value, least, most, expected)
    if number != int(number):
        raise ValueError(expected)
    return int(number)


def _number(value: object, least: int, most: int, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(expected)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(expected) from None
    if not least <= number <= most:
        raise ValueError(expected)
    return number
