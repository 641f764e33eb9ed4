# A message, and the loop that reads messages from a batch.

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t


@cython.final
@cython.no_gc
@cython.freelist(32)
cdef class Message:
    cdef readonly object value
    cdef readonly object key
    cdef readonly tuple headers
    cdef readonly int64_t timestamp
    cdef readonly int64_t offset
    cdef readonly int64_t producer_id
    cdef readonly bint transactional
    cdef int64_t version


@cython.final
cdef class RecordReader:
    cdef Py_buffer view
    cdef bint held, appended, transactional, schema_header
    cdef const uint8_t* start
    cdef const uint8_t* position
    cdef const uint8_t* end
    cdef const uint8_t* record_end
    cdef int64_t count, number, base_offset, last_delta, base_timestamp, append_time, producer_id
    cdef Message record(self)
    cdef int take_value(self, Message message) except -1
    cdef tuple take_headers(self)
    cdef object data(self, str what)
    cdef int64_t length_of(self, str what) except? -7
    cdef int64_t short_number(self) except? -7
    cdef int64_t short_number_in_record(self) except? -7
    cdef int64_t long_number(self) except? -7
    cdef uint64_t varint(self, int most) except? 7
    cdef int fail(self, str what) except -1
    cdef int fail_at(self, const uint8_t* place, str what) except -1
