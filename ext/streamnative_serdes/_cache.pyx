# cython: language_level=3, binding=True, auto_pickle=False
"""A bounded cache, topic -> key -> entry, where a key is a schema version or a type.

Looking up takes no lock: a dict's look-up is atomic under the GIL, and entries never change. At most ``capacity``
topics are kept and as many keys per topic; what came first goes first.
"""

from cpython.dict cimport PyDict_Size
from cpython.ref cimport PyObject

import threading

cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object, object) except? NULL


cdef class TopicCache:
    def __cinit__(self, Py_ssize_t capacity):
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1, got {capacity}")
        self.capacity = capacity
        self.topics = {}
        self.lock = threading.RLock()           # a finalizer that runs meanwhile may serialize too

    cdef object find(self, object topic, object key):
        """The entry, or None."""
        cdef dict topics = self.topics          # both dicts are held: another thread may drop them meanwhile
        cdef PyObject* keys = PyDict_GetItemWithError(topics, topic)
        cdef PyObject* entry
        if keys is NULL:
            return None
        held = <object>keys
        entry = PyDict_GetItemWithError(held, key)
        return None if entry is NULL else <object>entry

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
        """In a child process: whoever held the lock is not there."""
        self.lock = threading.RLock()

    def clear(self):
        with self.lock:
            self.topics = {}

    def items(self):
        with self.lock:
            return [(topic, key, entry) for topic, keys in self.topics.items() for key, entry in keys.items()]

    def __len__(self):
        return sum(map(len, list(self.topics.values())))
