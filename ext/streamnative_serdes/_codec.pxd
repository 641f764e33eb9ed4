# The codec's C face: what _serdes calls once per message.
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t


cdef struct Step:
    PyObject* node              # borrowed: the plan outlives the call
    Py_ssize_t index            # field of a record, item of an array
    PyObject* key               # map only: owned


cdef struct Limits:             # of one message, and what it may be
    int depth                   # open containers
    int64_t empty               # values read that take no bytes
    int64_t items               # items read of arrays and maps, and fields filled in from defaults
    bint trailing               # bytes may follow the datum
    bint lenient                # True is 1, and a naive datetime is local time


cdef class Node:
    cdef int kind
    cdef str label              # as it stands in errors: "int", "record a.B", "timestamp-millis"
    cdef Py_ssize_t min_size    # least number of bytes of a datum; never too large
    cdef Py_ssize_t size        # fixed: bytes; -1 for all others
    cdef Py_ssize_t precision
    cdef Py_ssize_t scale
    cdef int64_t micros         # time, timestamp: microseconds in one tick
    cdef str segment(self, Step* step)


cdef class Codec:
    cdef Node writing           # the plan of the writer's schema
    cdef Node reading           # the same, or the one that resolves it to the reader's
    cdef Limits limits
    cdef object read(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset)
    # A new reference, or NULL and the exception is set: so the caller can do without a try.
    cdef PyObject* try_write(self, object datum, const char* header, Py_ssize_t header_size) noexcept
    cdef PyObject* try_read(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset) noexcept
