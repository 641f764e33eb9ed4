"""The cache of the SerDes: topic -> schema version (or type) -> what is bound to it, bounded."""

from ._cache import LruMap, TopicCache

__all__ = ["LruMap", "TopicCache"]
