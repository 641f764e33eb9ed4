# cython: language_level=3, binding=True, auto_pickle=False
"""Bounded caches: topic -> key -> entry, where a key is a schema version or a type; and a map that evicts idle entries.

Lookups take no lock: a dict lookup is atomic, with and without a GIL, and entries never change. A TopicCache keeps at
most ``capacity`` topics and ``capacity`` keys per topic, and evicts the oldest first.

They are compiled because an interrupt (Ctrl-C) comes between two bytecodes: in Python it could leave a lock held.
"""

from cpython.dict cimport PyDict_Size
from cpython.ref cimport PyObject

from streamnative_serdes.codec.wire cimport given
from streamnative_serdes.threads cimport sns_item

import threading
from collections import OrderedDict


cdef class TopicCache:
    """A bounded two-level cache, topic -> key -> entry; evicts the oldest first. Lookups take no lock.

    ``capacity`` is the maximum number of topics, and of keys per topic.
    """

    def __cinit__(self, Py_ssize_t capacity):
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1, got {capacity}")
        self.capacity = capacity
        self.topics = {}
        self.lock = threading.RLock()           # reentrant: a finalizer that runs in put() may serialize too

    cdef object find(self, object topic, object key):
        """Return the entry, or None."""
        cdef PyObject* keys = sns_item(self.topics, topic)
        cdef PyObject* entry
        if keys is NULL:
            return None
        held = given(keys)              # another thread may drop it
        entry = sns_item(held, key)
        return None if entry is NULL else given(entry)

    cdef int put(self, object topic, object key, object entry) except -1:
        with self.lock:
            keys = self.topics.get(topic)
            if keys is None:
                if PyDict_Size(self.topics) >= self.capacity:
                    del self.topics[next(iter(self.topics))]
                keys = self.topics[topic] = {}
            elif key not in keys and len(keys) >= self.capacity:
                del keys[next(iter(keys))]
            keys[key] = entry
        return 0

    def get(self, topic, key):
        return self.find(topic, key)

    def set(self, topic, key, entry):
        self.put(topic, key, entry)

    def drop(self, topic):
        with self.lock:
            self.topics.pop(topic, None)

    def after_fork(self):
        """Replace the lock in a forked child, where the thread that held it does not exist."""
        self.lock = threading.RLock()

    def clear(self):
        with self.lock:
            dropped = list(self.topics.values())
            self.topics.clear()         # not another dict: lookups take no lock
        del dropped                     # freed after the lock: that may run Python code

    def items(self):
        with self.lock:
            return [(topic, key, entry) for topic, keys in self.topics.items() for key, entry in keys.items()]

    def __len__(self):
        return sum(map(len, list(self.topics.values())))


cdef class LruMap:
    """A bounded map: when it is full, the entry whose last use is longest ago is dropped. Reading takes no lock."""

    cdef object entries, lock
    cdef Py_ssize_t most

    def __cinit__(self, Py_ssize_t capacity):
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1, got {capacity}")
        self.most = capacity
        self.entries = OrderedDict()            # the one used longest ago first
        self.lock = threading.RLock()           # a finalizer or a signal handler may come here meanwhile

    @property
    def capacity(self):
        """Entries kept at most; a smaller one takes effect with the next change."""
        with self.lock:
            return self.most

    @capacity.setter
    def capacity(self, Py_ssize_t capacity):
        with self.lock:                         # other threads read it meanwhile
            self.most = capacity

    def get(self, key):
        return self.entries.get(key)

    def use(self, key):
        """Return an entry or None. All others are dropped before it from now on. Takes the lock."""
        entry = self.entries.get(key)
        if entry is not None:
            with self.lock:
                if key in self.entries:         # not dropped meanwhile
                    self.entries.move_to_end(key)
        return entry

    def change(self, key, step, bint used=False):
        """Replace an entry by ``step(entry)``, or by ``step(None)`` if there is no entry; ``used`` counts as its use.

        ``step`` runs without a lock, and again if the entry was changed meanwhile. Nothing changes if it returns None,
        or the entry that it was given.
        """
        cdef list evicted = []
        while True:
            before = self.entries.get(key)
            # Without the lock: a finalizer or a signal handler that runs meanwhile may wait for a thread that needs it.
            entry = step(before)
            if entry is before and not used:
                return entry                    # no lock: threads that only make sure of something do not queue
            with self.lock:
                if self.entries.get(key) is not before:
                    continue                    # changed meanwhile, by another thread or by such a handler
                if entry is not None:
                    self.entries[key] = entry
                    if used:
                        self.entries.move_to_end(key)
                    while len(self.entries) > self.most:
                        evicted.append(self.entries.popitem(last=False))
                return entry                    # evicted entries are freed after the lock: that may run Python code

    def drop(self, key):
        with self.lock:
            dropped = self.entries.pop(key, None)
        del dropped                             # freed after the lock

    def values(self):
        """The one used longest ago first."""
        with self.lock:
            return list(self.entries.values())

    def after_fork(self):
        """In a child process: whoever held the lock is not there."""
        self.lock = threading.RLock()

    def __len__(self):
        return len(self.entries)
