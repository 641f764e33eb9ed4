"""How errors name a place in data: ``user.tags["a b"][3]``."""

from __future__ import annotations

import json
from typing import Final

_MOST: Final = 80  # characters of a key


def joined(outer: str, inner: str | None) -> str:
    """The path of ``inner`` inside ``outer``: ``a`` and ``b`` are ``a.b``, ``a`` and ``[0]`` are ``a[0]``.

    A remark after the path, which begins with a blank, needs no dot either.
    """
    if not inner or not outer:
        return inner or outer
    return f"{outer}{inner}" if inner[0] in "[{ " else f"{outer}.{inner}"


def entry(key: object) -> str:
    """The step to the value of a key in a map, such as ``["a b"]``."""
    return f"[{json.dumps(key[:_MOST], ensure_ascii=False)}]" if isinstance(key, str) else f"[{key!r:.{_MOST}}]"
