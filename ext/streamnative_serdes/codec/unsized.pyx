# Bytes at the root without their length, as Confluent's serializers write them behind their framing:
#
#     Avro       | length, zigzag varint | data |
#     unsized    | data: all that is left of the message |

cdef enum:
    MAX_LENGTH_SIZE = 10        # bytes of a varint


@cython.final
cdef class UnsizedNode(Node):
    cdef Node sized             # reads and writes the same data with its length


cdef Node unsized(Node sized):
    cdef UnsizedNode node = UnsizedNode(UNSIZED, sized.label)
    node.sized, node.size = sized, -1
    return node


cdef object read_unsized(UnsizedNode node, Reader* r):
    """Read a copy with its length, which stays at hand until the datum is made of it."""
    cdef const uint8_t* start = r.p
    cdef const uint8_t* end = r.end
    cdef Py_ssize_t size = end - start
    cdef bytes sized = PyBytes_FromStringAndSize(NULL, MAX_LENGTH_SIZE + size)
    cdef uint8_t* front = <uint8_t*>PyBytes_AS_STRING(<PyObject*>sized)
    cdef uint8_t* data = sns_put_varint(front, <uint64_t>size << 1)
    memcpy(data, start, size)
    r.p, r.end = front, data + size
    try:
        return read_value(<Plan>node.sized, r)
    finally:
        r.p, r.end = end if r.p == r.end else start, end    # an error names the first byte of the data


cdef int write_unsized(UnsizedNode node, Writer* w, object value) except -1:
    """Write the data with its length, and move it to where that begins."""
    cdef Py_ssize_t before = w.p - w.base
    cdef uint64_t length = 0
    cdef uint8_t* start
    cdef const uint8_t* data
    write_value(<PyObject*>node.sized, w, value)
    start = w.base + before             # the buffer may have grown
    data = sns_get_varint(start, w.p, &length)
    memmove(start, data, w.p - data)
    w.p -= data - start
    return 0
