"""Single flight: one thread does the work for a key, and the others that ask for it wait and share the result."""

from ._flights import Flights

__all__ = ["Flights"]
