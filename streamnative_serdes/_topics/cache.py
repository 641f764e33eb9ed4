"""The bounded cache of the SerDes: topic -> schema version or type -> entry."""

from streamnative_serdes._cache import LruMap, TopicCache

__all__ = ["LruMap", "TopicCache"]
