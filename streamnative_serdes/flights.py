"""Single flight: a question that is under way is not asked twice; threads that come later wait for the same answer."""

from ._flights import Flights

__all__ = ["Flights"]
