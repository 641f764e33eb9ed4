"""Number of examples of a property test: its own number times the environment variable SERDES_EXAMPLES.

Sanitizers make a test several times slower; a nightly run may use ten times as many examples.
"""

from __future__ import annotations

import os

from hypothesis import settings

_FACTOR = float(os.environ.get("SERDES_EXAMPLES", "1"))


def examples(count: int) -> settings:
    return settings(max_examples=max(1, round(count * _FACTOR)))
