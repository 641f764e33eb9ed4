# Skips values that the reader has no column for, with the same checks as read.pyx.

cdef bint skip_value(Op* op, Reader* r) noexcept nogil:
    cdef const uint8_t* p = NULL
    cdef uint64_t value = 0
    cdef int64_t size = 0
    if op.kind == READ_RECORD:
        return skip_record(op, r)
    elif op.kind == READ_ARRAY or op.kind == READ_MAP:
        return skip_blocks(op, r)
    elif op.kind == READ_UNION:
        return next_branch(&size, op.count, r) and skip_value(op.parts[size], r)
    elif op.kind == READ_NUMBER:
        return next_varint(&value, op.narrow, r)
    elif op.kind == READ_BYTES:
        return skip_bytes(r)
    elif op.kind == READ_FIXED:
        return next_bytes(op.size, r) is not NULL
    elif op.kind == READ_BOOLEAN:
        p = next_bytes(1, r)
        return p is not NULL and (p[0] <= 1 or fail(r, BAD_BOOLEAN, p[0]))
    elif op.kind == READ_ENUM:
        return skip_enum(op, r)
    return True                         # null


cdef bint skip_bytes(Reader* r) noexcept nogil:
    cdef int64_t size = 0
    return next_size(&size, r) and next_bytes(size, r) is not NULL


cdef bint skip_enum(Op* op, Reader* r) noexcept nogil:
    cdef uint64_t value = 0
    if not next_varint(&value, True, r):
        return False
    r.op = op
    return 0 <= sns_unzigzag(value) < op.member or fail(r, NO_SYMBOL, sns_unzigzag(value))


cdef bint skip_record(Op* op, Reader* r) noexcept nogil:
    cdef int i
    cdef Step* step = enter(op, r)
    if step is NULL or not pay_empty(r, op.empty_fields):
        return False
    for i in range(op.count):
        step.index = i
        if not skip_value(op.parts[i], r):
            return False
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
