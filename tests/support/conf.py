"""The options of a user of a registry that a test has started."""

from __future__ import annotations

from typing import Any

from streamnative_serdes.testing import LocalRegistry


def conf(registry: LocalRegistry, **more: Any) -> dict[str, Any]:
    """``_`` stands for a dot."""
    return {"schema.registry.url": registry.url, **{key.replace("_", "."): value for key, value in more.items()}}
