# Leaves in a block of rows: each function writes a value for each row, and its branch if ``optional``.
#
# Which rows are null cannot be foreseen, so most loops do not branch for it: a value is written in vain. The slot of a
# null exists, whatever it holds. What a loop needs is copied first: for all that compilers know, a byte that is written
# may be part of anything else.

cdef struct Branches:           # the bytes that tell
    uint8_t null, differs       # differs: its bits that are others in the branch of a value


cdef inline Branches branches_of(const WriteOp* op) noexcept nogil:
    cdef Branches out
    out.null = <uint8_t>(2 * op.null_branch)
    out.differs = out.null ^ <uint8_t>(2 * op.branch)
    return out


cdef inline uint8_t* put_branch(Branches branch, uint64_t mask, uint8_t* p, bint optional) noexcept nogil:
    if not optional:
        return p
    p[0] = branch.null ^ (branch.differs & <uint8_t>mask)
    return p + 1


cdef inline uint64_t if_in(uint64_t there, int k, bint optional) noexcept nogil:
    """All bits if row k is there, else none."""
    return -(there >> k & 1) if optional else ~<uint64_t>0


cdef inline bint put_texts(const WriteOp* op, const Source* s, uint64_t there, WriteBlock* b, Writer* w,
                           bint optional, bint medium) noexcept nogil:
    """``medium``: SNS_MEDIUM bytes are copied for each text, not SNS_SHORT: slower, but longer texts need no call."""
    cdef const uint8_t* data = NULL
    cdef const uint8_t* start = s.slots.data
    cdef const uint8_t* limit = s.slots.limit
    cdef const int32_t* offsets = <const int32_t*>s.slots.slots + s.slots.offset + b.first
    cdef int64_t size, other = 0, left = b.left
    cdef bint binary = op.kind == WRITE_BYTES, small = s.slots.how == SMALL_OFFSETS
    cdef Branches branch = branches_of(op)
    cdef uint8_t* p
    cdef uint64_t mask
    cdef int k, count = b.count
    for k in range(count):
        mask = if_in(there, k, optional)
        p = put_branch(branch, mask, b.p[k], optional)
        if likely(small):
            data = start + offsets[b.at[k]]
            size = (<int64_t>offsets[b.at[k] + 1] - offsets[b.at[k]]) & mask
        elif mask:
            data = other_bytes_at(&s.slots, s.slots.offset + b.first + b.at[k], &other)
            size = other
        else:
            b.p[k] = p
            continue
        if (likely(<uint64_t>size < SNS_MEDIUM and limit - data >= SNS_MEDIUM and size < b.end[k] - left - p)
                and likely(sns_copy_medium(p + 1, data, size) or binary) if medium else
                likely(<uint64_t>size <= SNS_SHORT and limit - data >= SNS_SHORT)
                and likely(sns_copy_short(p + 1, data, size) or binary)):
            p[0] = <uint8_t>(2 * size)
            b.p[k] = p + ((1 + size) & mask)
        elif mask:
            w.medium[op.number] |= size > SNS_SHORT
            b.p[k] = put_longer(op, data, size, p, b.end[k] - left, w)
            if unlikely(b.p[k] is NULL):
                return False
        else:
            b.p[k] = p
    return True


cdef uint8_t* put_longer(const WriteOp* op, const uint8_t* data, int64_t size, uint8_t* p, const uint8_t* end,
                         Writer* w) noexcept nogil:
    """Write text or bytes of any size, up to ``end`` at most. NULL if that is too little, or the text is damaged."""
    if unlikely(not 0 <= size <= end - p - 10):     # a length takes up to 10 bytes
        return halt(w, NULL, NO_MEMORY)
    p = put_whole(p, size)
    if op.kind == WRITE_BYTES:
        sns_copy(p, data, size)
    elif unlikely(not sns_copy_utf8(p, data, size)):
        return halt(w, NULL, BAD_TEXT)
    return p + size


cdef inline void put_numbers(const WriteOp* op, const Source* s, uint64_t there, WriteBlock* b, bint wide,
                             bint optional) noexcept nogil:
    cdef const int64_t* longs = <const int64_t*>s.slots.slots + s.slots.offset + b.first
    cdef const int32_t* ints = <const int32_t*>s.slots.slots + s.slots.offset + b.first
    cdef Branches branch = branches_of(op)
    cdef uint64_t mask
    cdef int64_t value
    cdef uint8_t* p
    cdef int k, count = b.count
    for k in range(count):
        mask = if_in(there, k, optional)
        p = put_branch(branch, mask, b.p[k], optional)
        value = longs[b.at[k]] if wide else ints[b.at[k]]
        b.p[k] = p + (sns_put_wide_varint(p, sns_zigzag(value)) & mask)


cdef inline bint put_wholes(WriteOp* op, const Source* s, uint64_t there, WriteBlock* b, bint millis,
                            bint optional) noexcept nogil:
    """``millis``: from 64 bits of microseconds, as most timestamps are."""
    cdef const int64_t* longs = <const int64_t*>s.slots.slots + s.slots.offset + b.first
    cdef int64_t value = 0, low = op.low, high = op.high
    cdef Branches branch = branches_of(op)
    cdef uint64_t mask
    cdef uint8_t* p
    cdef bint fits = True
    cdef int k, count = b.count
    for k in range(count):
        mask = if_in(there, k, optional)
        p = put_branch(branch, mask, b.p[k], optional)
        if millis:
            value = floor_div(longs[b.at[k]] & mask, 1000)
        else:
            fits = load_whole(s, op.load, b.first + b.at[k], &value)
            value &= mask                           # 0 can always be written
            if op.by > 1:
                value = floor_div(value, op.by)
            elif op.times != 1:
                fits = to_avros_unit(op, &value) and fits
            fits = fits or not mask
        if unlikely(not fits or value < low or value > high):
            return False
        b.p[k] = p + (sns_put_wide_varint(p, sns_zigzag(value)) & mask)
    return True


cdef inline void put_doubles(const WriteOp* op, const Source* s, uint64_t there, WriteBlock* b,
                             bint optional) noexcept nogil:
    cdef const double* doubles = <const double*>s.slots.slots + s.slots.offset + b.first
    cdef const float* floats = <const float*>s.slots.slots + s.slots.offset + b.first
    cdef Branches branch = branches_of(op)
    cdef bint wide = op.load == LOAD_DOUBLE
    cdef uint64_t mask
    cdef uint8_t* p
    cdef int k, count = b.count
    for k in range(count):
        mask = if_in(there, k, optional)
        p = put_branch(branch, mask, b.p[k], optional)
        sns_put_double(p, doubles[b.at[k]] if wide else floats[b.at[k]])
        b.p[k] = p + (8 & mask)


cdef inline void put_floats(const WriteOp* op, const Source* s, uint64_t there, WriteBlock* b,
                            bint optional) noexcept nogil:
    cdef const float* slots = <const float*>s.slots.slots + s.slots.offset + b.first
    cdef Branches branch = branches_of(op)
    cdef uint64_t mask
    cdef uint8_t* p
    cdef int k, count = b.count
    for k in range(count):
        mask = if_in(there, k, optional)
        p = put_branch(branch, mask, b.p[k], optional)
        sns_put_float(p, slots[b.at[k]])
        b.p[k] = p + (4 & mask)


cdef inline void put_booleans(const WriteOp* op, const Source* s, uint64_t there, WriteBlock* b,
                              bint optional) noexcept nogil:
    cdef const uint8_t* slots = s.slots.slots
    cdef int64_t slot, first = s.slots.offset + b.first
    cdef Branches branch = branches_of(op)
    cdef uint64_t mask
    cdef uint8_t* p
    cdef int k, count = b.count
    for k in range(count):
        mask = if_in(there, k, optional)
        p = put_branch(branch, mask, b.p[k], optional)
        slot = first + b.at[k]
        p[0] = slots[slot >> 3] >> (slot & 7) & 1
        b.p[k] = p + (1 & mask)


cdef bint put_others(WriteOp* op, const Source* s, uint64_t there, WriteBlock* b, Writer* w,
                     bint optional) noexcept nogil:
    cdef Branches branch = branches_of(op)
    cdef int k
    for k in range(b.count):
        b.p[k] = put_branch(branch, if_in(there, k, optional), b.p[k], optional)
        if there >> k & 1:
            b.p[k] = put_other(op, s, b.first + b.at[k], b.p[k], w)
            if unlikely(b.p[k] is NULL):
                return False
    return True


cdef inline uint8_t* put_other(WriteOp* op, const Source* s, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    cdef const uint8_t* data
    cdef int64_t size = 0
    if op.kind == WRITE_ENUM:
        return write_enum(op, s, slot, p, w)
    elif op.kind == WRITE_DECIMAL:
        return put_decimal(op, s, slot, p, w)
    elif op.kind == WRITE_CONSTANT:
        sns_copy(p, op.text, op.size)
        return p + op.size
    elif op.kind == WRITE_FIXED:
        data = bytes_at(&s.slots, slot, &size)
        if size != op.size:
            return halt(w, op, BAD_SIZE, size)
        sns_copy(p, data, size)
        return p + size
    if op.kind == WRITE_UUID_TEXT and op.size < 0:
        data = bytes_at(&s.slots, slot, &size)
        if likely(size == 36 and sns_copy_uuid(p + 1, data)):
            p[0] = 2 * 36
            return p + 37
    return write_uuid(op, s, slot, p, w)
