# Validates Arrow arrays from other producers before a slot is read: once for each array, except dictionary indices,
# which are checked as they are read (write.pyx).
#
# The C data interface does not tell the size of buffers, except those that views point into. So this much is trusted:
# null bitmaps, slots and offsets have ``offset + length`` entries, data buffers reach to the last offset, and nobody
# modifies them meanwhile.

cdef int64_t MOST_SLOTS = <int64_t>1 << 55      # larger counts would overflow when converted to bytes

cdef struct Span:               # a range of slots, counted in their own array
    int64_t first
    int64_t count

ctypedef fused Offset:
    int32_t
    int64_t


cdef str fault_of_array(ArrowArray* array, Span used, int64_t buffers, int64_t children):
    """Return what is wrong with an array, or None.

    ``used`` are the slots that are read; ``buffers`` is the minimum number of buffers, the first of which is the null
    bitmap.
    """
    if array is NULL or array.release is NULL:
        return "it is missing, or another reader has already consumed it"
    if array.offset < 0 or array.length < 0 or array.offset > MOST_SLOTS or array.length > MOST_SLOTS - array.offset:
        return f"it has length {array.length} and offset {array.offset}"
    if used.first < 0 or used.count < 0 or used.first > array.length or used.count > array.length - used.first:
        return f"expected {used.first + used.count} slots, got {array.length}"
    if array.n_buffers < buffers or (buffers and array.buffers is NULL):
        return f"expected {buffers} buffers, got {array.n_buffers}"
    if array.n_children != children or (children and array.children is NULL):
        return f"expected {children} children, got {array.n_children}"
    if not used.count:
        return None
    if buffers and array.null_count > 0 and array.buffers[0] is NULL:
        return "it has nulls, but no null bitmap"
    return "its second buffer is missing" if buffers > 1 and array.buffers[1] is NULL else None


cdef inline const uint8_t* bitmap_of(ArrowArray* array) noexcept:
    return <const uint8_t*>array.buffers[0] if array.null_count != 0 else NULL


cdef str fault_of_offsets(const uint8_t* offsets, bint large, int64_t first, int64_t count, int64_t most, Span* inside):
    """Return what is wrong with the ``count + 1`` offsets from ``first`` on, or None.

    ``most`` is the largest valid offset, or -1 if unknown; ``inside`` is set to the range that the offsets cover.
    """
    cdef int64_t begin, end, fall
    inside.first = inside.count = 0
    if count == 0:              # an empty array need not have offsets
        return None
    with nogil:
        if large:
            begin, end = (<const int64_t*>offsets)[first], (<const int64_t*>offsets)[first + count]
            fall = first_fall(<const int64_t*>offsets + first, count)
        else:
            begin, end = (<const int32_t*>offsets)[first], (<const int32_t*>offsets)[first + count]
            fall = first_fall(<const int32_t*>offsets + first, count)
    if fall >= 0:
        return f"its offsets decrease at slot {fall}"
    if begin < 0 or (most >= 0 and end > most):
        return f"its offsets go from {begin} to {end}" + (f", but have to be from 0 to {most}" if most >= 0 else "")
    inside.first, inside.count = begin, end - begin
    return None


cdef int64_t first_fall(const Offset* offsets, int64_t count) noexcept nogil:
    """Return the first slot that ends before it begins, or -1. The first loop is branch-free, for the usual case."""
    cdef int64_t i
    cdef bint falls = False
    for i in range(count):
        falls |= offsets[i] > offsets[i + 1]
    if likely(not falls):
        return -1
    i = 0
    while offsets[i] <= offsets[i + 1]:
        i += 1
    return i
