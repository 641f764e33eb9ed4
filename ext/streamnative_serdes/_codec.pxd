# The C interface of the codec, which _serdes calls once per message.
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t


cdef struct Step:
    PyObject* node              # borrowed: the plan outlives the call
    Py_ssize_t index            # field of a record, item of an array
    PyObject* key               # map only: owned


cdef struct Limits:             # limits for one message, and leniency options
    int depth                   # open containers
    int64_t empty               # zero-byte values that may be read
    int64_t items               # array and map items that may be read, plus fields filled in from defaults
    bint trailing               # extra bytes may follow the datum
    bint lenient                # True encodes as 1, and a naive datetime as local time


cdef class Node:
    cdef int kind
    cdef str label              # name of the type in errors: "int", "record a.B", "timestamp-millis"
    cdef Py_ssize_t min_size    # lower bound on the encoded size, in bytes
    cdef Py_ssize_t size        # fixed: size in bytes; -1 for all others
    cdef Py_ssize_t precision
    cdef Py_ssize_t scale
    cdef int64_t micros         # time, timestamp: microseconds in one tick
    cdef bint truncates         # timestamp, writing: drop nanoseconds beyond the microseconds; else they are an error
    cdef str segment(self, Step* step)


cdef class Codec:
    cdef Node writing           # the plan of the writer's schema
    cdef Node reading           # the same plan, or one that resolves to the reader's schema
    cdef Limits limits
    cdef object read(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset)
    # Returns a new reference, or NULL with an exception set, so that the caller needs no try block.
    cdef PyObject* try_write(self, object datum, const char* header, Py_ssize_t header_size) noexcept
    cdef PyObject* try_read(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset) noexcept
    # As is_datum; raises nothing.
    cdef bint wrote(self, const uint8_t* data, Py_ssize_t size) noexcept
