"""Rust's arrow-avro in this process: built with cargo from the crate in ``arrow_avro/``, and called by ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from ctypes import POINTER, c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any
from weakref import finalize

import pyarrow as pa

CRATE = Path(__file__).parent / "arrow_avro"
TARGET = Path(__file__).parents[1] / "build" / "arrow_avro"
FILES = {"darwin": "libarrow_avro_peer.dylib", "win32": "arrow_avro_peer.dll"}
ARRAY_BYTES, SCHEMA_BYTES = 80, 72  # of the structs in Arrow's C data interface, where pointers have 8 bytes
# Function -> types of its arguments. Those that return no status return a pointer; null is a failure.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "peer_messages": (c_void_p, c_void_p, c_size_t, c_bool),
    "peer_reader": (POINTER(c_char_p), c_size_t, c_char_p, c_size_t, c_bool, c_bool),
    "peer_writer": (c_void_p, c_char_p, c_bool, c_size_t),
    "peer_read": (c_void_p, c_void_p, c_void_p),
    "peer_write": (c_void_p, c_void_p),
    "peer_schema": (c_char_p,),
    "peer_structs": (c_void_p, c_bool, c_void_p, POINTER(c_int64)),
    "peer_free": (c_void_p, c_void_p, c_void_p),
}
STATUS = ("peer_read", "peer_write", "peer_structs")
FREED = ("peer_messages", "peer_reader", "peer_writer")  # in the order of the arguments of peer_free


class NoCargoError(Exception):
    """Rust's build tool is not installed."""


def build() -> Path:
    """Compile the crate if it has changed; returns the library. Raises NoCargoError."""
    cargo = shutil.which("cargo")
    if cargo is None:
        hint = "https://rustup.rs installs it, and Rust 1.88 or later is needed"
        raise NoCargoError(f"this benchmark compiles Rust, but `cargo` is not in PATH; {hint}")
    where = ("--manifest-path", str(CRATE / "Cargo.toml"), "--target-dir", str(TARGET))
    subprocess.run([cargo, "build", "--release", "--locked", *where], check=True)
    return TARGET / "release" / FILES.get(sys.platform, "libarrow_avro_peer.so")


def version(name: str = "arrow-avro") -> str:
    """The version of a crate that is compiled."""
    packages = tomllib.loads((CRATE / "Cargo.lock").read_text())["package"]
    return next(str(package["version"]) for package in packages if package["name"] == name)


class Pointer:
    """Something that Rust owns; freed with this object."""

    def __init__(self, library: ctypes.CDLL, maker: str, *arguments: Any) -> None:
        self.pointer = getattr(library, maker)(*arguments)
        if not self.pointer:
            raise failure(library)
        finalize(self, library.peer_free, *(self.pointer if each == maker else None for each in FREED))


def failure(library: ctypes.CDLL) -> RuntimeError:
    return RuntimeError(f"arrow-avro: {library.peer_error().decode()}")


class Handed:
    """Room for an array and its type in the C data interface."""

    def __init__(self) -> None:
        self._room = (ctypes.c_uint64 * ((ARRAY_BYTES + SCHEMA_BYTES) // 8))()
        self.array = ctypes.addressof(self._room)
        self.schema = self.array + ARRAY_BYTES


class Rust:
    """arrow-avro's readers and writers; ``path`` is the library, as :func:`build` returns it."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.peer_error.restype = c_char_p
        for name, arguments in FUNCTIONS.items():
            function = getattr(self._library, name)
            function.argtypes = arguments
            function.restype = c_int if name in STATUS else c_void_p

    def messages(self, array: pa.Array, *, apart: bool) -> Pointer:
        """A copy of messages: in one buffer, or, with ``apart``, each in an allocation of its own."""
        if array.type != pa.binary() or array.null_count or array.offset:
            raise TypeError(f"expected a whole BinaryArray without nulls, got {array.type}")
        _, offsets, data = array.buffers()
        return Pointer(self._library, "peer_messages", data.address, offsets.address, len(array), apart)

    def reader(
        self, schemas: Sequence[str], rows: int, *, framed: bool, reader: str | None = None, by_id: bool = False
    ) -> Pointer:
        """A reader of messages with Confluent's header and the ids 0, 1, ..., or of bare data of the only schema.

        ``rows`` is the size of a batch; ``by_id`` means a decoder for each id, instead of one for all.
        """
        texts, text = (c_char_p * len(schemas))(*map(str.encode, schemas)), reader and reader.encode()
        return Pointer(self._library, "peer_reader", texts, len(schemas), text, rows, framed, by_id)

    def read(self, reader: Pointer, messages: Pointer) -> None:
        self._done(self._library.peer_read(reader.pointer, messages.pointer, None))

    def columns(self, reader: Pointer, messages: Pointer) -> pa.RecordBatch:
        out = Handed()
        self._done(self._library.peer_read(reader.pointer, messages.pointer, out.array))
        return pa.RecordBatch._import_from_c(out.array, out.schema)

    def writer(self, batch: pa.RecordBatch, schema: str, *, framed: bool, row_bytes: int) -> Pointer:
        """A writer of ``batch``. ``row_bytes``: the mean size of a message, for which it reserves room."""
        columns = Handed()
        batch._export_to_c(columns.array, columns.schema)
        return Pointer(self._library, "peer_writer", columns.array, schema.encode(), framed, row_bytes)

    def write(self, writer: Pointer) -> None:
        self._done(self._library.peer_write(writer.pointer, None))

    def schema(self, text: str) -> int:
        """A schema for :meth:`structs`, which is never freed."""
        found: int | None = self._library.peer_schema(text.encode())
        if not found:
            raise failure(self._library)
        return found

    def structs(self, schema: int, messages: Pointer, *, wide: bool) -> int:
        """The sum of all fields of the structs of 3 or, with ``wide``, 10 fields that serde_avro_fast reads."""
        total = c_int64()
        self._done(self._library.peer_structs(schema, wide, messages.pointer, total))
        return total.value

    def written(self, writer: Pointer) -> pa.Array:
        out = Handed()
        self._done(self._library.peer_write(writer.pointer, out.array))
        return pa.Array._import_from_c(out.array, out.schema)

    def _done(self, status: int) -> None:
        if status:
            raise failure(self._library)
