"""A SerDes as another process unpickles it."""

from __future__ import annotations

import pickle
from typing import Any

from streamnative_serdes._topics.binding import Binding


def unpickled(serdes: Any) -> Any:
    """Return the copy, in a state as in a new process."""
    data = pickle.dumps(serdes)
    Binding.forget()
    return pickle.loads(data)
