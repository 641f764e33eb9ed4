# A bounded two-level cache: topic -> key -> entry. Lookups take no lock.

cdef class TopicCache:
    cdef dict topics            # topic -> {key: entry}, oldest first
    cdef object lock            # held by writers only
    cdef readonly Py_ssize_t capacity
    cdef object find(self, object topic, object key)
    cdef int put(self, object topic, object key, object entry) except -1
