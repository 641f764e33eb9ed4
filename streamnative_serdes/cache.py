"""The cache of the SerDes: topic -> schema version (or type) -> what is bound to it, bounded."""

from ._cache import TopicCache

__all__ = ["TopicCache"]
