# Skips values that the reader has no column for, with the same checks as read.pyx.

cdef const uint8_t* skip_fields(Op* skipped, Step* step, const uint8_t* p, const uint8_t* end,
                                Reader* r) noexcept nogil:
    """Return the end of neighbouring fields of a record, or NULL with a fault."""
    cdef const uint8_t* next
    cdef Py_ssize_t size
    cdef int i
    cdef Op* op
    for i in range(skipped.count):
        op = skipped.parts[i]
        if op.kind == READ_UNION and op.count == 2 and likely(p < end and p[0] <= 2 and not p[0] & 1):
            op = op.parts[p[0] >> 1]
            p += 1
        if op.kind == READ_BYTES:
            if likely(p < end and not p[0] & 0x81 and p[0] >> 1 < end - p):     # up to 63 bytes
                p += (p[0] >> 1) + 1
                continue
        elif op.kind == READ_NUMBER:
            size = sns_varint_size(p, end)
            if likely(0 < size <= (4 if op.narrow else 8)):
                p += size
                continue
        elif op.kind == READ_FIXED and likely(end - p >= op.size):
            p += op.size
            continue
        elif op.kind == READ_ENUM:
            if likely(p < end and not p[0] & 0x81 and p[0] >> 1 < op.member):
                p += 1
                continue
        elif op.kind == READ_BOOLEAN:
            if likely(p < end and p[0] <= 1):
                p += 1
                continue
        elif op.kind == READ_NULL:
            continue
        next = skip_at(op, p, end, r)       # another type, or what is wrong
        if unlikely(next is NULL):
            step.index = skipped.member + i
            return NULL
        p = next
    return p


cdef const uint8_t* skip_at(Op* op, const uint8_t* p, const uint8_t* end, Reader* r) noexcept nogil:
    """Return the end of the value at ``p``, or NULL with a fault."""
    cdef uint64_t value = 0
    cdef int64_t size = 0
    if op.kind == READ_NUMBER:
        return get_varint(&value, p, end, op.narrow, r)
    elif op.kind == READ_BYTES:
        p = get_size(&size, p, end, r)
        return p if p is NULL else p + size
    elif op.kind == READ_FIXED:
        return p + op.size if has_bytes(op.size, p, end, r) else NULL
    elif op.kind == READ_BOOLEAN:
        if unlikely(not has_bytes(1, p, end, r)):
            return NULL
        return p + 1 if likely(p[0] <= 1) else stop(r, p + 1, BAD_BOOLEAN, p[0])
    elif op.kind == READ_ENUM:
        p = get_varint(&value, p, end, True, r)
        if unlikely(p is NULL):
            return NULL
        size = sns_unzigzag(value)
        return p if likely(0 <= size < op.member) else stop_in(op, r, p, NO_SYMBOL, size)
    elif op.kind == READ_UNION:
        if likely(p < end and p[0] <= 2 and not p[0] & 1 and op.count == 2):
            return skip_at(op.parts[p[0] >> 1], p + 1, end, r)
    elif op.kind == READ_NULL:
        return p
    r.p = p
    return r.p if skip_other(op, r) else NULL


cdef bint skip_value(Op* op, Reader* r) noexcept nogil:
    cdef const uint8_t* p = skip_at(op, r.p, r.end, r)
    if unlikely(p is NULL):
        return False
    r.p = p
    return True


cdef bint skip_other(Op* op, Reader* r) noexcept nogil:
    cdef int64_t branch = 0
    if op.kind == READ_RECORD:
        return skip_record(op, r)
    elif op.kind == READ_UNION:
        return next_branch(&branch, op.count, r) and skip_value(op.parts[branch], r)
    return skip_blocks(op, r)


cdef bint skip_bytes(Reader* r) noexcept nogil:
    cdef int64_t size = 0
    return next_size(&size, r) and next_bytes(size, r) is not NULL


cdef bint skip_record(Op* op, Reader* r) noexcept nogil:
    cdef const uint8_t* p = r.p
    cdef int i
    cdef Step* step = enter(op, r)
    if step is NULL or not pay_empty(r, op.empty_fields):
        return False
    for i in range(op.count):
        step.index = i
        p = skip_at(op.parts[i], p, r.end, r)
        if unlikely(p is NULL):
            return False
    r.p = p
    r.depth -= 1
    return True


cdef bint skip_blocks(Op* op, Reader* r) noexcept nogil:
    cdef const uint8_t* block_end = NULL
    cdef bint keyed = op.kind == READ_MAP
    cdef Py_ssize_t least = op.parts[0].min_size + keyed
    cdef Step* step = enter(op, r)
    cdef int64_t count
    if step is NULL:
        return False
    while True:
        count = read_count(op, least, &block_end, r)
        if count <= 0:
            break
        while count:
            step.index += 1
            if keyed and not skip_bytes(r):
                return False
            if not skip_value(op.parts[0], r):
                return False
            count -= 1
        if not ends_block(r, block_end):
            return False
    if count == 0:
        r.depth -= 1
    return count == 0
