# Arrow arrays of bytes or text that others made: where the bytes of each row are.

cdef enum Bytes:                # how an array holds bytes
    SMALL_OFFSETS
    LARGE_OFFSETS
    VIEWS                       # 16 bytes each: size, then the bytes, or 4 of them, number of the buffer, offset
    FIXED_SLOTS

cdef struct BytesArray:
    int how
    int64_t length
    int64_t offset              # of the first row, in slots
    const uint8_t* valid        # bitmap, or NULL: no nulls
    const uint8_t* slots        # offsets or views
    const uint8_t* data
    const void** buffers        # VIEWS
    int64_t width               # FIXED_SLOTS
    int64_t size                # of all rows, in bytes


cdef int how_bytes(bytes format) except -2:
    """How an array of this format holds bytes or text; -1 if it holds none."""
    if format in (b"z", b"u"):
        return SMALL_OFFSETS
    if format in (b"Z", b"U"):
        return LARGE_OFFSETS
    if format in (b"vz", b"vu"):
        return VIEWS
    return FIXED_SLOTS if format.startswith(b"w:") else -1


cdef int open_bytes(BytesArray* out, const char* format, ArrowArray* array) except -1:
    """Look at ``array``, which has to stay alive as long as ``out`` is used."""
    out.how = how_bytes(format)
    if out.how < 0:
        raise TypeError(f"expected an Arrow array of bytes or text, got one of {type_name(format)}")
    out.length, out.offset = array.length, array.offset
    out.valid = <const uint8_t*>array.buffers[0]
    out.slots = <const uint8_t*>array.buffers[1]
    out.data = <const uint8_t*>array.buffers[2] if out.how < VIEWS else out.slots
    out.buffers = array.buffers
    out.width = int((<bytes>format)[2:]) if out.how == FIXED_SLOTS else 0
    out.size = size_of_bytes(out)
    return 0


cdef inline bint is_valid(const uint8_t* valid, int64_t slot) noexcept nogil:
    return valid is NULL or valid[slot >> 3] >> (slot & 7) & 1


cdef int64_t size_of_bytes(BytesArray* a) noexcept nogil:
    cdef int64_t i, size = 0, one = 0
    if a.length == 0:
        return 0
    if a.how == SMALL_OFFSETS:
        return (<int32_t*>a.slots)[a.offset + a.length] - (<int32_t*>a.slots)[a.offset]
    if a.how == LARGE_OFFSETS:
        return (<int64_t*>a.slots)[a.offset + a.length] - (<int64_t*>a.slots)[a.offset]
    for i in range(a.length):
        if is_valid(a.valid, a.offset + i):     # what a null has for a size is anybody's guess
            bytes_at(a, i, &one)
            size += one
    return size


cdef inline const uint8_t* bytes_at(const BytesArray* a, int64_t row, int64_t* size) noexcept nogil:
    """The bytes of a row that is not null."""
    cdef const int32_t* offsets = <const int32_t*>a.slots + a.offset + row
    if unlikely(a.how != SMALL_OFFSETS):
        return other_bytes_at(a, a.offset + row, size)
    size[0] = offsets[1] - offsets[0]
    return a.data + offsets[0]


cdef const uint8_t* other_bytes_at(const BytesArray* a, int64_t slot, int64_t* size) noexcept nogil:
    cdef const int32_t* view
    if a.how == LARGE_OFFSETS:
        size[0] = (<int64_t*>a.slots)[slot + 1] - (<int64_t*>a.slots)[slot]
        return a.data + (<int64_t*>a.slots)[slot]
    if a.how == FIXED_SLOTS:
        size[0] = a.width
        return a.data + slot * a.width
    view = <const int32_t*>(a.slots + 16 * slot)
    size[0] = view[0]
    if view[0] <= 12:
        return <const uint8_t*>(view + 1)
    return <const uint8_t*>a.buffers[2 + view[2]] + view[3]
