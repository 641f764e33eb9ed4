"""The code blocks of README and the pages in ``docs/``, handed out in page order, each once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
ADDRESSES: Final = {
    "registry": "http://localhost:8080",
    "confluent": "http://localhost:8081",
    "kafka": "localhost:9092",
}
# A fence may stand inside a list. Those of MyST, such as ```{toctree}, are no code.
_BLOCK: Final = re.compile(r"(?ms)^ *```(\w+)\n(.*?)^ *```$")


@dataclass(frozen=True)
class Block:
    """A block of code."""

    language: str  # the word behind the fence, such as ``python``
    text: str  # the code


def blocks_of(page: Path) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


class Page:
    """A page whose blocks a test runs: all, but for the languages that ``left`` names.

    Args:
        name: the file's name.
        left: languages that the test leaves out, with the reason.
    """

    def __init__(self, name: str, left: Mapping[str, str]) -> None:
        (path,) = (path for path in PAGES if path.name == name)
        self.name = name
        self.text = path.read_text(encoding="utf-8")
        self._blocks = [block for block in blocks_of(path) if block.language not in left]

    @property
    def waiting(self) -> list[Block]:
        """The blocks that were not handed out yet."""
        return list(self._blocks)

    def next(self, language: str = "python", **addresses: str) -> str:
        """The code of the next block. Each name of a server has its address in the test.

        Args:
            language: of the block.
            **addresses: what stands for ``registry``, ``confluent`` and ``kafka`` of the page.
        """
        block = self._blocks.pop(0)
        assert block.language == language, f"{self.name}: {block}"
        text = block.text
        for name, address in addresses.items():
            text = text.replace(ADDRESSES[name], address)
        return text

    def run(self, names: dict[str, Any], change: Mapping[str, str] | None = None, **addresses: str) -> str:
        """Run the next block, which is Python, with these names, and return its code; ``change`` has other texts."""
        code = self.next(**addresses)
        for old, new in (change or {}).items():
            assert old in code, f"{self.name}: {old} is not in {code}"
            code = code.replace(old, new)
        run_code(code, names)
        return code


def run_code(code: str, names: dict[str, Any]) -> None:
    """Run code of a page as that of a module, without the future statements of this one."""
    exec(compile(code, "page", "exec", dont_inherit=True), names)
