"""As which version a batch is read, under the policy latest.seen: the highest that was read before or that it holds.

The columns of a batch are those of one version, which has to be known before its first row is read. So a batch is read
as the highest version that was seen before, and again from its beginning if it turns out to hold a higher one. A
version of which no message can be read does not count: then the batch is read once more, without it.
"""

from __future__ import annotations

from streamnative_serdes._topics.known import Known
from streamnative_serdes._topics.users import User

from .seen import Seen


class ReadAgainError(Exception):
    """The batch has to be read again: what it is read as has changed. Never reaches a user."""


class Target:
    """Of one batch.

    Args:
        seen: what was read before.
        topic: the batch's.
    """

    def __init__(self, seen: Seen, topic: str) -> None:
        self._seen, self._topic = seen, topic
        self._unreadable: set[Known] = set()
        self.begin()

    def begin(self) -> None:
        """Begin with what was seen before, again if the topic was recreated meanwhile."""
        self.known = self._seen.highest(self._topic)
        self.claimed = False  # by messages of the batch, of which one has to be readable

    def takes(self, known: Known) -> bool:
        """Whether messages of this version are converted to the target; False if none of them could be read.

        Raises:
            ReadAgainError: the version is higher than the target, and is the target now.
        """
        if known in self._unreadable:
            return False
        if self.is_below(known):
            self.known, self.claimed = known, True
            raise ReadAgainError
        return True

    def is_below(self, known: Known) -> bool:
        """Whether this version is higher than the target, and counts."""
        return known not in self._unreadable and (self.known is None or self.known.version < known.version)

    def refuse(self) -> None:
        """None of the target's own messages could be read, so it does not count."""
        assert self.known is not None
        self._unreadable.add(self.known)
        self.begin()

    def fall_back(self, latest: Known) -> None:
        """No message has a version: the target is the topic's latest."""
        self.known, self.claimed = latest, False

    def count(self, user: User) -> None:
        """The batch was read: its version counts as seen from now on."""
        if self.known is not None and self._seen.awaits(self._topic, self.known.version):
            self._seen.advance(user, self._topic, self.known)
