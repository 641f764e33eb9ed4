"""Files of our own, such as backups: JSON with a format number, a source and a checksum, for the owner's eyes only.

::

    {"streamnative-serdes": "schema backup", "format": 1, "source": "...", "sha256": "...", "body": ...}

The checksum is that of the other members as JSON with sorted keys and without blanks. A file is written beside its
final name, flushed to the disk and renamed, so readers find either the whole old file or the whole new file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .errors import FileError

FORMAT: Final = 1
MAX_SIZE: Final = 1 << 30  # bytes; a larger file is not one of ours

_NAME: Final = "streamnative-serdes"


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file.

    Args:
        kind: the purpose of the file, such as ``schema backup``.
        source: the origin of the data; users of the file compare it.
        body: any JSON.
    """

    kind: str
    source: str
    body: Any


def save(path: Path, document: Document, *, overwrite: bool = True) -> None:
    """Write ``document`` to ``path``, with mode 0600.

    Raises:
        FileError: the file cannot be written, or exists and is not to be overwritten. An old file is unchanged.
    """
    if not overwrite:
        require_new(path)
    with writing(path):
        rewrite(path, [json.dumps(_members(document), indent=2) + "\n"])


@contextlib.contextmanager
def writing(path: Path, hint: str | None = None) -> Iterator[None]:
    """Raise FileError for an error of the system."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}", hint=hint) from error


def require_new(path: Path) -> None:
    """Raises FileError if there is such a file."""
    if path.exists():
        raise FileError(f"{path} exists already", hint="remove it, or choose another name")


def load(path: Path, kind: str) -> Document:
    """Read a file that :func:`save` wrote for ``kind``.

    Raises:
        FileError: the file cannot be read, is damaged, is of another kind, or has a format that is not known here.
    """
    tree = _tree(path)
    if not isinstance(tree, dict) or _NAME not in tree:
        raise FileError(f"{path} is not a file of this program", hint=f"expected a {kind}")
    if tree[_NAME] != kind:
        raise FileError(f"{path}: expected a {kind}, got a {tree[_NAME]!s:.80}")
    if tree.get("format") != FORMAT:
        hint = "a later release of this program may read it"
        raise FileError(f"{path}: expected format {FORMAT}, got {tree.get('format')!r:.20}", hint=hint)
    document = Document(kind, tree.get("source", ""), tree.get("body"))
    if tree != _members(document):
        raise FileError(f"{path} is damaged: its checksum does not match its content", hint="use another copy of it")
    return document


def _members(document: Document) -> dict[str, Any]:
    content = {_NAME: document.kind, "format": FORMAT, "source": document.source, "body": document.body}
    digest, body = checksum(content), content.pop("body")
    return {**content, "sha256": digest, "body": body}  # the body last, so that a person sees what the file is


def checksum(tree: Mapping[str, Any]) -> str:
    """The checksum of JSON, whatever the order of its members and its layout."""
    return hashlib.sha256(json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _tree(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_SIZE:
            raise FileError(f"{path} is larger than {MAX_SIZE} bytes")
        return json.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        raise FileError(f"{path} is damaged: it is not JSON", hint="use another copy of it") from None


def rewrite(path: Path, lines: Iterable[str]) -> None:
    """Replace a file as a whole by these lines, with mode 0600; if that fails, the old file stays."""
    number, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")  # with mode 0600
    try:
        with open(number, "w", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(number)
        # It is closed: Windows does not rename an open file.
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Flush the new name to the disk too; Windows has no such call, and flushes names by itself."""
    if os.name == "nt":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
