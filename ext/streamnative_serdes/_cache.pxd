# A bounded cache of two keys, read without a lock.

cdef class TopicCache:
    cdef dict topics            # topic -> {key: entry}, oldest first
    cdef object lock            # held while something is put or dropped, never while something is looked up
    cdef readonly Py_ssize_t capacity
    cdef object find(self, object topic, object key)
    cdef int put(self, object topic, object key, object entry) except -1
