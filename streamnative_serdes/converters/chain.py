"""Several converters in order: the first that accepts a buffer converts it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError

from .converter import MessageConverter, read_only
from .validator import validate

if TYPE_CHECKING:
    from typing_extensions import Buffer

OPTION: Final = "messageConverters"


class ConverterChain:
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
        """The buffer as the first converter that accepts it returns it; the buffer itself if none does.

        Raises:
            ConfigError: the chain is closed, or a converter has returned what its interface does not allow.
            DecodeError: a converter cannot read what it accepts.
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closed = True
        self._stack.__exit__(kind, error, traceback)


def _broken(converter: MessageConverter, method: str, expected: str, got: object) -> ConfigError:
    return ConfigError(f"{type(converter).__qualname__}.{method}(): expected {expected}, got {got!r:.80}")


def _created(converter: str | type[MessageConverter] | MessageConverter) -> MessageConverter:
    if isinstance(converter, MessageConverter):
        return converter
    return validate(load(converter) if isinstance(converter, str) else converter)()


def load(name: str) -> Any:
    """Return what a dotted name stands for, such as ``package.module.Class``.

    Raises:
        ConfigError: there is no such module, or the module has no such name.
    """
    module_name, dot, attribute = name.rpartition(".")
    if not dot:
        raise ConfigError(f"{OPTION}: expected package.module.Class, got {name!r}")
    module = _module(module_name, name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        hint = did_you_mean(attribute, dir(module))
        raise ConfigError(f"{OPTION}: {name}: module {module_name} has no {attribute}", hint=hint) from None


def _module(module_name: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{OPTION}: {name}: there is no module {error.name}") from error
    except ImportError as error:
        raise ConfigError(f"{OPTION}: {name}: its module cannot be imported: {error}") from error
