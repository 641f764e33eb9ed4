# Skips values that the reader has no column for, with the same checks as read.pyx.
#
# Neighbouring fields are skipped by the program of their op (skip.h). Where it meets an unusual encoding or damage, and
# for types that it does not know, skip_at looks at the value in full.

cdef inline const uint8_t* skip_fields(Op* skipped, Step* step, const uint8_t* p, const uint8_t* end,
                                       Reader* r) noexcept nogil:
    """Return the end of neighbouring fields of a record, or NULL with a fault."""
    cdef Skipped done
    done.p, done.skip = p, skipped.skips
    if likely(r.limit - p >= skipped.reach):
        done = sns_skip_freely(skipped.skips, p, end, end)
        if likely(done.p <= end and done.skip.kind == SKIP_END):
            return done.p
        if done.p > end:
            done.p, done.skip = p, skipped.skips
    return skip_rest(skipped, done, step, end, r)


cdef const uint8_t* skip_rest(Op* skipped, Skipped done, Step* step, const uint8_t* end, Reader* r) noexcept nogil:
    """The same from one step on, all of which are compared with the end of the message."""
    cdef int i
    while True:
        done = sns_skip_within(done.skip, done.p, end, r.limit)
        if done.skip.kind == SKIP_END:
            return done.p
        for i in range(done.skip.first, done.skip.first + done.skip.count):
            done.p = skip_at(skipped.parts[i], done.p, end, r)
            if unlikely(done.p is NULL):
                step.index = skipped.member + i
                return NULL
        done.skip += 1


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
    elif op.kind == READ_UNSIZED:
        r.p = r.end
        return True
    return skip_blocks(op, r)


cdef bint skip_bytes(Reader* r) noexcept nogil:
    cdef int64_t size = 0
    return next_size(&size, r) and next_bytes(size, r) is not NULL


cdef bint skip_record(Op* op, Reader* r) noexcept nogil:
    cdef const uint8_t* p
    cdef Step* step = enter(op, r)
    if step is NULL or not pay_empty(r, op.empty_fields):
        return False
    p = skip_fields(op, step, r.p, r.end, r)
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
