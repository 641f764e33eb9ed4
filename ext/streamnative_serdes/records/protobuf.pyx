# The fields of protocol buffers, and numbers as they and Kafka's records are written.


def fields_of(data):
    """Return the fields of a protocol buffer: number, value (int, or bytes), first byte, byte after the last.

    Raises:
        DecodeError: it is cut off, or has a number or a wire type that protocol buffers do not allow.
    """
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
    """Return a number from 0 to 2**64 - 1 as protocol buffers write it."""
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
    """Return an int64 as Kafka writes it in records."""
    return varint((<uint64_t>number << 1) ^ <uint64_t>(number >> 63))
