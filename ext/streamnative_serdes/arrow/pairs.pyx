# KEY_VALUE messages: both halves are read into the columns "key" and "value", and written from them.
#
# SEPARATED: the halves are the message's key and its value. INLINE: both are in the value, after the header if there is
# one:
#
#     offset 0            4           4+K          8+K
#            | K, int32 BE | key, K bytes | V, int32 BE | value, V bytes |        a length of -1: null
#
# A half has the limits of a message of its own, as for objects (serdes/key_value.pyx).

cdef enum:
    LENGTH_SIZE = 4             # bytes
    OF_KEY = 0
    OF_VALUE = 1


# --- reading ----------------------------------------------------------------------------------------------------------

cdef bint read_pair(Batch batch, Op* op, const bint* trailing) noexcept nogil:
    """Read both halves of the current row. ``trailing`` allows bytes after the datum of a half with a schema version.

    After a fault, slots of the message remain in the columns, as with other messages.
    """
    cdef Reader* r = &batch.r
    cdef Column* c = batch.columns
    cdef Step* step
    cdef bint done
    batch.half_start = NULL
    if op.kind == READ_INLINE and batch.absent:
        return made(r, put_null(c))
    r.max_depth += 1                    # neither half lies within another level
    step = enter(op, r)
    done = step is not NULL and (read_inline(batch, op, c, step, trailing[0], r) if op.kind == READ_INLINE
                                 else read_separated(batch, op, c, step, trailing[0], r))
    r.max_depth -= 1
    if not done or not has_room(c, r):
        return False
    c.length += 1
    return True


cdef bint read_inline(Batch batch, Op* op, Column* c, Step* step, bint trailing, Reader* r) noexcept nogil:
    cdef const uint8_t* end = r.end
    cdef int64_t size = 0
    cdef int i
    for i in range(2):
        step.index = i
        if not next_length(&size, r):
            return False
        if size < 0:
            if not made(r, put_null(&c.children[i])):
                return False
            continue
        r.end = r.p + size
        if not read_half(batch, op, i, trailing, step, r):
            return False
        r.end = end
    if unlikely(r.p != end):
        r.depth = 0
        return fail(r, MORE_BYTES, end - r.p)
    return True


cdef bint next_length(int64_t* size, Reader* r) noexcept nogil:
    """Read the length of a half, and check that so many bytes are left; -1 for null."""
    cdef int64_t left = r.end - r.p
    if unlikely(left < LENGTH_SIZE):
        return fail(r, NO_LENGTH, left)
    size[0] = sns_get_signed(r.p, LENGTH_SIZE)
    if unlikely(size[0] < -1 or size[0] > left - LENGTH_SIZE):
        return fail(r, BAD_LENGTH, size[0], left - LENGTH_SIZE)
    r.p += LENGTH_SIZE
    return True


cdef bint read_separated(Batch batch, Op* op, Column* c, Step* step, bint trailing, Reader* r) noexcept nogil:
    cdef const uint8_t* p = r.p
    cdef const uint8_t* end = r.end
    cdef const uint8_t* limit = r.limit
    cdef int64_t size = 0
    if has_key(batch, batch.row):
        batch.half_start = bytes_at(&batch.key_rows, batch.row, &size)
        r.p = batch.half_start
        r.end = r.limit = batch.half_start + size
        if not read_half(batch, op, OF_KEY, False, step, r):
            return False
        batch.half_start = NULL
    elif not made(r, put_null(&c.children[OF_KEY])):
        return False
    r.p, r.end, r.limit = p, end, limit
    if batch.absent:
        return made(r, put_null(&c.children[OF_VALUE]))
    return read_half(batch, op, OF_VALUE, trailing, step, r)


cdef bint read_half(Batch batch, Op* op, int half, bint trailing, Step* step, Reader* r) noexcept nogil:
    """Read a half that takes up all bytes from ``r.p`` to ``r.end``."""
    r.empty_left, r.items_left = batch.empty, batch.items
    if not read_values(&op.parts[half], 1, 0, step, half, r):
        return False
    if unlikely(r.p != r.end):
        if not trailing:
            return fail(r, TRAILING, r.end - r.p)
        r.p = r.end
    return True


cdef inline bint has_key(Batch batch, int64_t row) noexcept nogil:
    """Whether a row of all arrays has a message key."""
    return batch.paired and is_valid(batch.key_rows.valid, batch.key_rows.offset + row)


# --- writing ----------------------------------------------------------------------------------------------------------

cdef uint8_t* write_inline(WriteOp* op, int64_t slot, uint8_t* p, Writer* w) noexcept nogil:
    """Write both halves, each behind its length, which is filled in afterwards."""
    cdef WriteStep* step
    w.max_depth += 1                    # neither half lies within another level
    step = enter_write(op, w)
    p = NULL if step is NULL else write_halves(op, slot, step, p, w)
    w.max_depth -= 1
    if p is not NULL:
        w.depth -= 1
    return p


cdef uint8_t* write_halves(WriteOp* op, int64_t slot, WriteStep* step, uint8_t* p, Writer* w) noexcept nogil:
    cdef WriteOp* part
    cdef int64_t before, size
    cdef int i
    for i in range(2):
        part = op.parts[i]
        step.index = i
        p = room(w, p, LENGTH_SIZE + LEAST_ROOM)
        if p is NULL:
            return NULL
        if not has_value(part, &w.sources[part.source], slot):
            p = put_big_endian(p, -1, LENGTH_SIZE)
            continue
        before = p - w.base             # the buffer may move
        p = write_values(&op.parts[i], 1, 0, slot, 0, step, i, p + LENGTH_SIZE, w)
        if p is NULL:
            return NULL
        size = p - w.base - before - LENGTH_SIZE
        if unlikely(size > INT32_MAX):
            return halt(w, part, LONG_HALF, size)
        put_big_endian(w.base + before, size, LENGTH_SIZE)
    return p
