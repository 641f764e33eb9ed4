"""The current mutant of a process, in a file mapped into memory, which survives a crash.

offset 0        8         12       16        32
       | round  | mutant  | size   | kind    | the first bytes of the mutant ...
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

_HEAD = struct.Struct("<QII16s")
_SIZE = 1 << 16


class Note(NamedTuple):
    round: int
    mutant: int
    kind: str
    data: bytes
    size: int

    def __str__(self) -> str:
        more = f" ... ({self.size} bytes)" if self.size > len(self.data) else ""
        shown = f": {self.data.hex()}{more}" if self.kind.startswith("check") else ""
        return f"round {self.round}, mutant {self.mutant}, {self.kind}{shown}"


class Recorder:
    """Records mutants; without a file, in the memory of this process."""

    def __init__(self, path: Path | None = None, *, create: bool = False) -> None:
        if path is None:
            self._map = mmap.mmap(-1, _SIZE)
            return
        if create:
            path.write_bytes(bytes(_SIZE))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SIZE)

    def write(self, round_: int, mutant: int, kind: bytes, data: bytes) -> None:
        _HEAD.pack_into(self._map, 0, round_, mutant, len(data), kind)
        kept = data[: _SIZE - _HEAD.size]
        self._map[_HEAD.size : _HEAD.size + len(kept)] = kept

    def read(self) -> Note:
        round_, mutant, size, kind = _HEAD.unpack_from(self._map)
        data = self._map[_HEAD.size : min(_HEAD.size + size, _SIZE)]
        return Note(round_, mutant, kind.rstrip(b"\0").decode(), data, size)
