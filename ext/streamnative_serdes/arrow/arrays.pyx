# Locates the bytes of each row in Arrow arrays of bytes or text from other producers.

cdef enum Bytes:                # physical layouts of bytes or text
    SMALL_OFFSETS
    LARGE_OFFSETS
    VIEWS                       # 16 bytes each: size, then the bytes; or size, first 4 bytes, buffer index, offset
    FIXED_SLOTS
    PLACES                      # an address and a size for each: see clients.pyx

cdef enum:
    INLINE_BYTES = 12           # longest value that a view stores inline

cdef struct Place:              # of the bytes of a message
    const uint8_t* data
    int64_t size

cdef struct BytesArray:
    int how
    int64_t length
    int64_t offset              # of the first row, in slots
    const uint8_t* valid        # null bitmap, or NULL if there are no nulls
    const uint8_t* slots        # offsets or views
    const uint8_t* data
    const void** buffers        # VIEWS
    int64_t width               # FIXED_SLOTS
    int64_t size                # total size of the slots that are read, in bytes
    const uint8_t* limit        # where the bytes of all slots end, if they are in one buffer; else NULL


cdef int how_bytes(bytes format) except -2:
    """Return the layout of bytes or text for a format; -1 for other types."""
    if format in (b"z", b"u"):
        return SMALL_OFFSETS
    if format in (b"Z", b"U"):
        return LARGE_OFFSETS
    if format in (b"vz", b"vu"):
        return VIEWS
    return FIXED_SLOTS if width_of(format, b"w:") >= 0 else -1


cdef int64_t width_of(bytes format, bytes head) except -2:
    """Return the number after ``head`` in the format; -1 if the format does not begin with it, or has no number."""
    cdef bytes digits = format[len(head):]
    if not format.startswith(head) or not digits.isdigit() or len(digits) > 10 or int(digits) > INT32_MAX:
        return -1
    return int(digits)


cdef str open_bytes(BytesArray* out, int how, int64_t width, ArrowArray* array, int64_t offset, Span used):
    """Open ``array`` to read its slots ``used``. It has to stay alive as long as ``out`` is used.

    ``width`` is the size of FIXED_SLOTS in bytes, ``offset`` the slot of row 0 in the buffers. Returns what is wrong
    with the array, or None.
    """
    cdef Span inside
    cdef str fault = fault_of_array(array, used, 3 if how != FIXED_SLOTS else 2, 0)
    if fault is not None:
        return fault
    out.how, out.width, out.length, out.offset, out.limit = how, width, array.length, offset, NULL
    out.valid = bitmap_of(array)
    out.slots = <const uint8_t*>array.buffers[1]
    if how == FIXED_SLOTS:
        if width and array.offset + array.length > INT64_MAX // width:
            return f"{array.length} slots of {width} bytes"
        out.data, out.size = out.slots, used.count * width
        return None
    if how == VIEWS:
        return open_views(out, array, used)
    fault = fault_of_offsets(out.slots, how == LARGE_OFFSETS, array.offset + used.first, used.count, -1, &inside)
    out.size = inside.count
    # An array of empty text alone may lack a data buffer; then any address will do.
    out.data = out.slots if array.buffers[2] is NULL else <const uint8_t*>array.buffers[2]
    out.limit = out.data + inside.first + inside.count
    return "there are offsets, but no bytes" if fault is None and inside.count and array.buffers[2] is NULL else fault


cdef str open_views(BytesArray* out, ArrowArray* array, Span used):
    """Open an array of views: the last buffer holds the sizes of the data buffers that the views point into."""
    cdef int64_t count = array.n_buffers - 3, bad
    cdef const int64_t* sizes = <const int64_t*>array.buffers[array.n_buffers - 1]
    out.data, out.buffers = out.slots, array.buffers
    if count and sizes is NULL:
        return "the sizes of its buffers are missing"
    with nogil:
        bad = bad_view(out, array.offset + used.first, used.count, count, sizes)
    return None if bad < 0 else f"slot {used.first + bad} points outside of its buffers"


cdef int64_t bad_view(BytesArray* a, int64_t first, int64_t count, int64_t buffers,
                      const int64_t* sizes) noexcept nogil:
    """Return the first of ``count`` views from ``first`` on that points outside its buffer; -1 if none does, and set
    the total size."""
    cdef const int32_t* view
    cdef int64_t i
    a.size = 0
    for i in range(count):
        if not is_valid(a.valid, first + i):            # the view of a null is undefined
            continue
        view = <const int32_t*>(a.slots + 16 * (first + i))
        if view[0] < 0:
            return i
        if view[0] > INLINE_BYTES and not (0 <= view[2] < buffers and view[3] >= 0
                                           and <int64_t>view[3] + view[0] <= sizes[view[2]]
                                           and a.buffers[2 + view[2]] is not NULL):
            return i
        a.size += view[0]
    return -1


cdef inline bint is_valid(const uint8_t* valid, int64_t slot) noexcept nogil:
    return valid is NULL or valid[slot >> 3] >> (slot & 7) & 1


cdef inline const uint8_t* bytes_at(const BytesArray* a, int64_t row, int64_t* size) noexcept nogil:
    """Return the bytes of a row that is not null."""
    if unlikely(a.how != SMALL_OFFSETS):
        return other_bytes_at(a, a.offset + row, size)
    return small_bytes_at(a, row, size)


cdef inline const uint8_t* small_bytes_at(const BytesArray* a, int64_t row, int64_t* size) noexcept nogil:
    """As bytes_at(), of an array with SMALL_OFFSETS."""
    cdef const int32_t* offsets = <const int32_t*>a.slots + a.offset + row
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
    if a.how == PLACES:
        size[0] = (<const Place*>a.slots)[slot].size
        return (<const Place*>a.slots)[slot].data
    view = <const int32_t*>(a.slots + 16 * slot)
    size[0] = view[0]
    if view[0] <= INLINE_BYTES:
        return <const uint8_t*>(view + 1)
    return <const uint8_t*>a.buffers[2 + view[2]] + view[3]
