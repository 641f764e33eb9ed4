"""What a class must have to be a message converter: every fault of an implementation is named."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

from .converter import MessageConverter

_BUFFERS: Final = {"init": 0, "close": 0, "accept": 1, "convert": 1}


def validate(implementation: Any) -> type[MessageConverter]:
    """Return the class if it is a converter that a chain can create, and use, by its name alone.

    Raises:
        ConfigError: it is not; the error names all of its faults.
    """
    found = list(faults(implementation))
    if found:
        name = getattr(implementation, "__qualname__", repr(implementation))
        raise ConfigError(f"{name} is not a message converter: {'; '.join(found)}")
    return implementation  # type: ignore[no-any-return] # what faults() has found out


def faults(implementation: Any) -> Iterator[str]:
    """Yield what is wrong with an implementation of MessageConverter."""
    if not inspect.isclass(implementation):
        yield f"expected a class, got {type(implementation).__name__}"
        return
    if not issubclass(implementation, MessageConverter):
        yield "it is not a subclass of MessageConverter"
    for name, buffers in _BUFFERS.items():
        yield from _faults_of_method(implementation, name, buffers)
    yield from _faults_of_constructor(implementation)


def _faults_of_method(implementation: type, name: str, buffers: int) -> Iterator[str]:
    method = inspect.getattr_static(implementation, name, None)
    if method is None or getattr(method, "__isabstractmethod__", False):
        yield f"it lacks {name}()"
        return
    bound = isinstance(method, classmethod)
    function = method.__func__ if isinstance(method, classmethod | staticmethod) else method
    if not callable(function):
        yield f"{name} is not a method"
    elif inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        yield f"{name}() is asynchronous"
    elif inspect.isgeneratorfunction(function):
        yield f"{name}() is a generator"
    elif not _takes(function, buffers + (bound or not isinstance(method, staticmethod))):
        yield f"{name}() cannot be called with {'a buffer' if buffers else 'no arguments'}"


def _takes(function: Any, count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # built in, without a signature
        return True
    return True


def _faults_of_constructor(implementation: type) -> Iterator[str]:
    try:
        required = [
            name
            for name, parameter in inspect.signature(implementation).parameters.items()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
    except ValueError:
        return
    if required:
        yield f"its constructor needs {', '.join(required)}: give an object instead of the class's name"
