# cython: language_level=3, boundscheck=False, wraparound=False, binding=True
"""Records of Kafka's batches (format 2), and fields of protocol buffers; an end pointer bounds every read."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint64_t

from streamnative_serdes._header cimport HEADER_SIZE, NO_VERSION, version_of

from streamnative_serdes.errors import DecodeError

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)

cdef int _SMALLEST = 7  # bytes of a record: length, attributes, two deltas, two lengths, count of headers


@cython.final
@cython.no_gc  # it holds bytes, text and tuples of them, which refer to nothing
@cython.freelist(32)
cdef class Message:

    def __init__(
        self, value, *, key=None, headers=(), int64_t timestamp=-1, int64_t offset=-1, schema_version=None,
        int64_t producer_id=-1, bint transactional=False,
    ):
        self.value = value
        self.key = key
        self.headers = tuple(headers)
        self.timestamp = timestamp
        self.offset = offset
        self.version = NO_VERSION if schema_version is None else schema_version
        self.producer_id = producer_id
        self.transactional = transactional

    @property
    def schema_version(self):
        return None if self.version == NO_VERSION else self.version

    def __eq__(self, other):
        return state_of(self) == state_of(other) if isinstance(other, Message) else NotImplemented

    def __hash__(self):
        return hash(state_of(self))

    def __repr__(self):
        names = ("value", "key", "headers", "timestamp", "offset", "schema_version", "producer_id", "transactional")
        parts = (f"{name}={part!r:.80}" for name, part in zip(names, state_of(self)))
        return f"Message({', '.join(parts)})"

    def __reduce__(self):
        return rebuild, state_of(self)


cdef tuple state_of(Message message):
    return (
        message.value, message.key, message.headers, message.timestamp, message.offset, message.schema_version,
        message.producer_id, message.transactional,
    )


def rebuild(value, key, headers, timestamp, offset, schema_version, producer_id, transactional):
    return Message(
        value, key=key, headers=headers, timestamp=timestamp, offset=offset, schema_version=schema_version,
        producer_id=producer_id, transactional=transactional,
    )


@cython.final
cdef class RecordReader:

    def __cinit__(
        self, data, *, int64_t count, int64_t base_offset, int64_t last_delta, int64_t base_timestamp,
        append_time=None, int64_t producer_id=-1, bint transactional=False, bint schema_header=True,
    ):
        PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
        self.held = True
        self.start = self.position = <const uint8_t*>self.view.buf
        self.end = self.start + self.view.len
        self.count = count
        self.number = 0
        self.base_offset, self.last_delta, self.base_timestamp = base_offset, last_delta, base_timestamp
        self.appended = append_time is not None
        self.append_time = append_time if self.appended else 0
        self.producer_id, self.transactional, self.schema_header = producer_id, transactional, schema_header
        if count < 0 or count > self.view.len // _SMALLEST:
            raise DecodeError(
                f"expected at most {self.view.len // _SMALLEST} records in {self.view.len} bytes, got the count {count}"
            )

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    def __iter__(self):
        return self

    def __next__(self):
        cdef Message message
        if self.number >= self.count:
            if self.position < self.end:
                self.fail(f"expected the end after {self.count} records, got {self.end - self.position} more bytes")
            raise StopIteration
        message = self.record()
        self.number += 1
        return message

    cdef Message record(self):
        cdef const uint8_t* start = self.position
        cdef int64_t length = self.short_number()
        cdef Message message = Message.__new__(Message)
        cdef int64_t delta
        if length < 0 or length > self.end - self.position:
            self.fail_at(start, f"expected a record's length from 0 to {self.end - self.position}, got {length}")
        self.record_end = self.position + length
        if self.record_end == self.position:
            self.fail("expected a record's attributes, got its end")
        self.position += 1  # attributes: none are defined
        delta = self.long_number()
        message.timestamp = self.append_time if self.appended else wrapped(self.base_timestamp, delta)
        start = self.position
        delta = self.short_number_in_record()
        if delta < 0 or delta > self.last_delta:
            self.fail_at(start, f"expected an offset delta from 0 to {self.last_delta}, got {delta}")
        message.offset = wrapped(self.base_offset, delta)
        message.key = self.data("key")
        self.take_value(message)
        message.headers = self.take_headers()
        message.producer_id, message.transactional = self.producer_id, self.transactional
        if self.position != self.record_end:
            self.fail(f"expected the end of the record, got {self.record_end - self.position} more bytes")
        return message

    cdef int take_value(self, Message message) except -1:
        cdef int64_t length = self.length_of("value")
        cdef int64_t version = NO_VERSION
        if length < 0:
            message.value = None
        else:
            if self.schema_header:
                version = version_of(self.position, length)
            if version == NO_VERSION:
                message.value = PyBytes_FromStringAndSize(<const char*>self.position, length)
            else:
                message.value = PyBytes_FromStringAndSize(
                    <const char*>self.position + HEADER_SIZE, length - HEADER_SIZE
                )
            self.position += length
        message.version = version
        return 0

    cdef tuple take_headers(self):
        cdef const uint8_t* start = self.position
        cdef int64_t count = self.short_number_in_record()
        cdef int64_t length
        cdef list found = []
        cdef object name
        if count == 0:
            return ()
        if count < 0 or count > (self.record_end - self.position) // 2:
            self.fail_at(
                start, f"expected a count of headers from 0 to {(self.record_end - self.position) // 2}, got {count}"
            )
        while count > 0:
            count -= 1
            length = self.length_of("header's name")
            if length < 0:
                self.fail("expected a header's name, got null")
            name = PyUnicode_DecodeUTF8(<const char*>self.position, length, "surrogateescape")
            self.position += length
            found.append((name, self.data("header's value")))
        return tuple(found)

    cdef object data(self, str what):
        cdef int64_t length = self.length_of(what)
        if length < 0:
            return None
        taken = PyBytes_FromStringAndSize(<const char*>self.position, length)
        self.position += length
        return taken

    cdef int64_t length_of(self, str what) except? -7:
        cdef const uint8_t* start = self.position
        cdef int64_t length = self.short_number_in_record()
        if length < -1 or length > self.record_end - self.position:
            self.fail_at(
                start, f"expected a {what} of -1 to {self.record_end - self.position} bytes, got the length {length}"
            )
        return length

    cdef int64_t short_number(self) except? -7:
        self.record_end = self.end
        return self.short_number_in_record()

    cdef inline int64_t short_number_in_record(self) except? -7:
        cdef uint64_t raw
        # One byte holds most lengths and deltas.
        if self.position < self.record_end and self.position[0] < 0x80:
            raw = self.position[0]
            self.position += 1
        else:
            raw = self.varint(5)
            if raw > <uint64_t>0xFFFFFFFF:
                self.fail("expected an int32, got a larger number")
        return <int64_t>(raw >> 1) ^ -<int64_t>(raw & 1)

    cdef int64_t long_number(self) except? -7:
        cdef uint64_t raw = self.varint(10)
        return <int64_t>((raw >> 1) ^ (0 - (raw & 1)))

    cdef uint64_t varint(self, int most) except? 7:
        cdef const uint8_t* start = self.position
        cdef uint64_t raw = 0
        cdef int read = read_varint(&self.position, self.record_end, most, &raw)
        if read == 0:
            self.fail_at(start, "expected a number, got the end")
        if read < 0:
            self.fail_at(start, f"expected a number of at most {most} bytes, got a longer one")
        return raw

    cdef int fail(self, str what) except -1:
        return self.fail_at(self.position, what)

    cdef int fail_at(self, const uint8_t* place, str what) except -1:
        self.count, self.position = self.number, self.end  # the bytes after a damaged record mean nothing
        raise DecodeError(f"record {self.number}: {what}", offset=place - self.start)


cdef inline int64_t wrapped(int64_t base, int64_t delta) noexcept nogil:
    return <int64_t>(<uint64_t>base + <uint64_t>delta)  # as Java adds


cdef inline int read_varint(const uint8_t** position, const uint8_t* end, int most, uint64_t* number) noexcept nogil:
    """Bytes read; 0 at the end of the data, -1 if the number is longer than ``most`` bytes or than 64 bits."""
    cdef const uint8_t* place = position[0]
    cdef uint64_t raw = 0
    cdef int i
    for i in range(most):
        if place >= end:
            return 0
        if i == 9 and place[0] > 1:
            return -1
        raw |= <uint64_t>(place[0] & 0x7F) << (7 * i)
        if place[0] < 0x80:
            position[0], number[0] = place + 1, raw
            return i + 1
        place += 1
    return -1


# Protocol buffers


def fields_of(data):
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return fields_between(<const uint8_t*>view.buf, <const uint8_t*>view.buf + view.len)
    finally:
        PyBuffer_Release(&view)


cdef list fields_between(const uint8_t* start, const uint8_t* end):
    cdef const uint8_t* position = start
    cdef const uint8_t* begin
    cdef uint64_t tag = 0, number = 0
    cdef object value
    cdef list fields = []
    while position < end:
        begin = position
        proto_number(&position, start, end, &tag)
        if tag >> 3 == 0 or tag >> 3 > 0x1FFFFFFF:
            raise DecodeError(f"expected a field number from 1 to 2**29 - 1, got {tag >> 3}", offset=begin - start)
        if tag & 7 == 0:
            proto_number(&position, start, end, &number)
            value = number
        elif tag & 7 == 2:
            proto_number(&position, start, end, &number)
            if number > <uint64_t>(end - position):
                raise DecodeError(
                    f"field {tag >> 3}: expected at most {end - position} bytes, got the length {number}",
                    offset=begin - start,
                )
            value = PyBytes_FromStringAndSize(<const char*>position, <Py_ssize_t>number)
            position += number
        elif tag & 7 == 1 or tag & 7 == 5:
            number = 8 if tag & 7 == 1 else 4
            if number > <uint64_t>(end - position):
                raise DecodeError(
                    f"field {tag >> 3}: expected {number} bytes, got {end - position}", offset=begin - start
                )
            value = int.from_bytes(PyBytes_FromStringAndSize(<const char*>position, <Py_ssize_t>number), "little")
            position += number
        else:
            raise DecodeError(f"field {tag >> 3}: expected wire type 0, 1, 2 or 5, got {tag & 7}", offset=begin - start)
        fields.append((<object>(tag >> 3), value, begin - start, position - start))
    return fields


cdef int proto_number(
    const uint8_t** position, const uint8_t* start, const uint8_t* end, uint64_t* number
) except -1:
    cdef const uint8_t* place = position[0]
    cdef int read = read_varint(position, end, 10, number)
    if read <= 0:
        raise DecodeError(
            "expected a number, got " + ("the end" if read == 0 else "one of more than 64 bits"), offset=place - start
        )
    return 0


def varint(number):
    cdef uint8_t encoded[10]
    cdef uint64_t left = number
    cdef int size = 0
    while left >= 0x80:
        encoded[size] = <uint8_t>(left | 0x80)
        left >>= 7
        size += 1
    encoded[size] = <uint8_t>left
    return PyBytes_FromStringAndSize(<char*>encoded, size + 1)


def zigzag(int64_t number):
    return varint((<uint64_t>number << 1) ^ <uint64_t>(number >> 63))
