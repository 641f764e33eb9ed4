"""The interface of a message converter (PIP 94), the check of a class for this interface, and chains of converters."""

from __future__ import annotations

import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Final, Self

from streamnative_serdes._closing import Closing
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError

from .wire import Buffer


class MessageConverter(ABC):
    """Converts entries, or messages, of one format to another one.

    The interface of PIP 94, ``org.apache.pulsar.common.api.raw.MessageConverter``. A buffer is a read-only memoryview
    of bytes, so no converter can change its input, and Python checks every index. PIP 94's reader index does not exist:
    ``accept`` and ``convert`` see the same whole buffer.
    """

    def init(self) -> None:
        """Acquires the converter's resources. Called once, before the first buffer."""
        return

    def close(self) -> None:
        """Releases the resources of ``init``. Called once, after the last buffer."""
        return

    @abstractmethod
    def accept(self, buffer: memoryview) -> bool:
        """Whether this converter can convert the buffer. False lets the next converter of a chain look at it."""

    @abstractmethod
    def convert(self, buffer: memoryview) -> Buffer:
        """The converted buffer: new bytes, or ``buffer`` itself. It is only called for a buffer that was accepted."""


def read_only(buffer: Buffer) -> memoryview:
    """A view of the buffer's bytes through which they cannot be changed.

    Raises:
        TypeError: the object is not a buffer, or its bytes are not in one piece.
    """
    view = memoryview(buffer).toreadonly()
    return view if view.format == "B" and view.ndim == 1 and view.c_contiguous else view.cast("B")


_BUFFERS: Final = {"init": 0, "close": 0, "accept": 1, "convert": 1}


def validate(implementation: Any) -> type[MessageConverter]:
    """Return the class if it is a converter that a chain can create, and use, by its name alone.

    Raises:
        ConfigError: the class is not a converter; the error names all of its faults.
    """
    found = list(faults(implementation))
    if found:
        name = getattr(implementation, "__qualname__", repr(implementation))
        raise ConfigError(f"{name} is not a message converter: {'; '.join(found)}")
    return implementation  # type: ignore[no-any-return] # what faults() has found out


def faults(implementation: Any) -> Iterator[str]:
    """Yield the faults of an implementation of MessageConverter."""
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


OPTION: Final = "messageConverters"


class ConverterChain(Closing):
    """Converts each buffer with the first converter that accepts it, as PIP 94's broker does.

    Args:
        converters: names of classes (``package.module.Class``), classes, or objects. Classes are created without
            arguments.

    The converters are initialized here, in order. ``close``, or the end of a ``with`` block, closes them in reverse
    order. If one cannot be initialized, those before it are closed.

    Raises:
        ConfigError: a class cannot be loaded, or is not a converter.
    """

    def __init__(self, converters: Iterable[str | type[MessageConverter] | MessageConverter] = ()) -> None:
        if isinstance(converters, str):
            raise ConfigError(f"expected a list of converters, got the text {converters!r}")
        self.converters = tuple(_created(each) for each in converters)
        self._closed = False
        with ExitStack() as stack:
            for converter in self.converters:
                converter.init()
                stack.callback(converter.close)
            self._stack = stack.pop_all()

    @classmethod
    def from_config(cls, conf: Mapping[str, Any]) -> Self:
        """A chain of the classes that the broker's option ``messageConverters`` lists: a list, or names with commas.

        Raises:
            ConfigError: the option is neither; or as above.
        """
        names = conf.get(OPTION, ())
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",") if name.strip()]
        if not isinstance(names, list | tuple):
            raise ConfigError(f"{OPTION}: expected a list of class names, got {names!r:.80}")
        return cls(names)

    def convert(self, buffer: Buffer) -> memoryview:
        """The buffer, converted by the first converter that accepts it; unchanged if no converter does.

        Raises:
            ConfigError: the chain is closed, or a converter has returned an object that its interface does not allow.
            DecodeError: a converter cannot read a buffer that it accepts.
        """
        if self._closed:
            raise ConfigError("this chain of converters is closed")
        view = read_only(buffer)
        for converter in self.converters:
            accepted = converter.accept(view)
            if not isinstance(accepted, bool):
                raise _broken(converter, "accept", "True or False", accepted)
            if accepted:
                return self._checked(converter, view)
        return view

    def _checked(self, converter: MessageConverter, view: memoryview) -> memoryview:
        converted = converter.convert(view)
        try:
            return read_only(converted)
        except TypeError:
            raise _broken(converter, "convert", "bytes", converted) from None

    def close(self) -> None:
        """Closes the converters, in reverse order, once; all of them, even if one fails."""
        self._closed = True
        self._stack.close()


def _broken(converter: MessageConverter, method: str, expected: str, got: object) -> ConfigError:
    return ConfigError(f"{type(converter).__qualname__}.{method}(): expected {expected}, got {got!r:.80}")


def _created(converter: str | type[MessageConverter] | MessageConverter) -> MessageConverter:
    if isinstance(converter, MessageConverter):
        return converter
    return validate(load(converter) if isinstance(converter, str) else converter)()


def load(name: str) -> Any:
    """Return the object with a dotted name, such as ``package.module.Class``.

    Raises:
        ConfigError: the module does not exist, or has no such name.
    """
    module_name, _, attribute = name.rpartition(".")
    if not module_name or name.startswith("."):
        raise ConfigError(f"{OPTION}: expected package.module.Class, got {name!r}")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{OPTION}: {name}: there is no module {error.name}") from error
    except ImportError as error:
        raise ConfigError(f"{OPTION}: {name}: its module cannot be imported: {error}") from error
    if not hasattr(module, attribute):
        hint = did_you_mean(attribute, dir(module))
        raise ConfigError(f"{OPTION}: {name}: module {module_name} has no {attribute}", hint=hint)
    return getattr(module, attribute)
