"""Values for tasks that were made with secrets: their pickles have names of options in place of the secrets."""

from __future__ import annotations

import io
import pickle
from typing import Any, TypeVar

from streamnative_serdes.spark.session.workers import Carried

from .options import Options

_T = TypeVar("_T")


class CarriedWithSecrets(Carried[_T]):
    """As :class:`Carried`; each process resolves the references to secrets itself.

    Args:
        value: made from ``options.conf()``; must pickle without cloudpickle.
        options: the options.
    """

    def __init__(self, value: _T, options: Options) -> None:
        self._options = options
        super().__init__(value)

    def pack(self, value: _T) -> bytes:
        packed = io.BytesIO()
        _Pickler(packed, self._options).dump(value)
        return packed.getvalue()

    def unpack(self) -> _T:
        value: _T = _Unpickler(io.BytesIO(self.packed), self._options).load()
        return value


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, options: Options) -> None:
        super().__init__(file)
        conf = options.conf()
        self._names = {conf[name]: name for name in options.referred() if isinstance(conf.get(name), str)}

    def persistent_id(self, value: Any) -> str | None:
        return self._names.get(value) if type(value) is str else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, options: Options) -> None:
        super().__init__(file)
        self._conf = options.conf()

    def persistent_load(self, name: Any) -> Any:
        return self._conf[name]
