"""Checks whether a topic was recreated: a deleted topic that is recreated counts from version 0 again.

A topic was recreated if a version has another schema or another time of registration than before, or if the latest
version is below a known version. Then the known schemas of the topic are dropped.
"""

from __future__ import annotations

from streamnative_serdes._log import logger
from streamnative_serdes.errors import RegistryUnavailableError, SchemaNotFoundError, SerdesError
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient, TopicName

from .schema_version import SchemaVersion
from .topic_state import TopicState
from .topics import Topics, Users

REFRESH_SECONDS = 2.0  # how long to wait for the registry where an older answer is at hand


class Inspector:
    """Compares the registry's answers with the known schemas; runs under single flight.

    Args:
        client: asks the registry.
        topics: the known states of topics.
        users: are called after a topic's state was dropped.
    """

    def __init__(self, client: SchemaRegistryClient, topics: Topics, users: Users) -> None:
        self._client, self._topics, self._users = client, topics, users

    def check(self, topic: TopicName) -> bool:
        """Ask for the latest schema. If the registry cannot be asked, the known schemas stay valid.

        Returns whether the registry answered.
        """
        try:
            known = self.latest(topic, REFRESH_SECONDS)
        except SchemaNotFoundError:
            self.lost(topic)
        except SerdesError as error:  # known schemas can still be used
            self._topics.change(topic, TopicState.answered)
            logger.warning("topic %s: cannot check its schemas, still using the cached ones: %s", topic.given, error)
            return not isinstance(error, RegistryUnavailableError)
        else:
            if self._topics.get(topic).latest is not None:
                self._topics.keep_latest(topic, known)
        return True

    def latest(self, topic: TopicName, patience: float | None) -> SchemaVersion:
        """The topic's latest schema, with one GET; ``patience`` as SchemaRegistryClient has it."""
        info = self._client.latest(topic, patience=patience)
        self.compare(topic, info)
        self._topics.change(topic, TopicState.answered)  # only now: a thread that doubts the topic waits until here
        return self._topics.keep(topic, info)

    def compare(self, topic: TopicName, latest: SchemaInfo) -> None:
        """Forget the topic if ``latest`` cannot be its latest schema."""
        newest = self._topics.get(topic).newest
        if newest is None:
            return
        if latest.version < newest.version:
            self._recreated(topic, f"its latest version is {latest.version}, and was {newest.version} before")
            return
        known = latest
        if latest.version > newest.version:
            try:
                known = self._client.by_version(topic, newest.version, patience=REFRESH_SECONDS)
            except SchemaNotFoundError:
                self.lost(topic)
                return
        if self.fits(topic, known):
            self._topics.keep(topic, known)  # its time of registration, which a POST does not report

    def fits(self, topic: TopicName, info: SchemaInfo) -> bool:
        """Whether ``info`` agrees with the known schemas of the topic; if not, forget the topic."""
        why = self._topics.get(topic).contradiction(info, self._topics.limits)
        if why:
            self._recreated(topic, why)
        return not why

    def _recreated(self, topic: TopicName, why: str) -> None:
        logger.warning("topic %s was deleted and recreated, so its cached schemas are dropped: %s", topic.given, why)
        self._topics.forget(topic)
        self._users.rebind()

    def lost(self, topic: TopicName) -> None:
        """Note that the topic's schemas were deleted. Known schemas still read the messages that they wrote."""
        logger.warning("the schemas of topic %s were deleted; the next write registers its schema again", topic.given)
        self._topics.change(topic, lambda state: state.without_registrations().answered())
        self._users.rebind()
