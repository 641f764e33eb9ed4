"""Blocks of the documentation that a benchmark writes with --write-docs."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- benchmark -->\n", "<!-- end -->"


def write_docs(page: Path, text: str, marker: str = BEGIN) -> None:
    """Replace the text of ``page`` between ``marker`` and the next end."""
    before, begin, rest = page.read_text().partition(marker)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} lacks the markers {marker.strip()} and {END}")
    page.write_text(f"{before}{begin}{text}\n{end}{after}")
