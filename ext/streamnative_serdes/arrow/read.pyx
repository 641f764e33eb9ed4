# Decodes Avro bytes into slots of columns by a plan, without the GIL and without Python objects.
#
# It applies the same checks as the object codec (codec/decode.pyx): nothing from the wire is trusted. All functions
# return True, or False with a fault in the Reader, whose ``p`` is then where the object codec would have stopped.

cdef enum:
    MAX_LENGTH_SIZE = 10        # bytes of a varint
    FREE_SLOTS = 16             # slots that arrays and maps may take per byte of a message, free of the batch's budget

cdef struct Item:               # of a list in a block: where it is, as distances from the first row, and its message
    uint16_t start, end, row

cdef struct Reader:
    const uint8_t* p
    const uint8_t* end
    const uint8_t* limit        # at or behind ``end``: up to here, bytes can be read, but not used
    Column* columns
    int64_t empty_left          # of one message, as in the object codec
    int64_t items_left
    int64_t slots_left          # of one message, before the batch's budget is used
    int64_t batch_slots_left    # of the batch, for items that take more slots than bytes
    int depth
    int max_depth
    Step* steps
    Step outside                # step of a value outside any container
    Item* places                # memory of blocks.pyx for where items are, or NULL
    int fault                   # fault code; a, b, op and text hold its details
    int64_t a, b
    const uint8_t* text
    Op* op


cdef bint fail(Reader* r, int fault, int64_t a=0, int64_t b=0) noexcept nogil:
    r.fault, r.a, r.b = fault, a, b
    return False


cdef inline bint made(Reader* r, int fault) noexcept nogil:
    """Turn the result of an append (0 or a fault) into True or False, and record the fault."""
    return likely(fault == 0) or fail(r, fault)


# --- one run of values: the fields of a record, the items of a block, or a single value -------------------------------

cdef bint read_values(Op** parts, int64_t count, int stride, Step* step, int64_t first, Reader* r) noexcept nogil:
    """Decode ``count`` values by the ops ``parts[0]``, ``parts[stride]``, ..."""
    cdef const uint8_t* p = r.p         # stays in a register as long as its address is not taken
    cdef const uint8_t* end = r.end
    cdef const uint8_t* limit = r.limit
    cdef Column* columns = r.columns
    cdef int64_t i, branch = 0
    cdef Op* op
    cdef Column* c
    for i in range(count):
        op = parts[i * stride]
        step.index = first + i
        c = &columns[op.column]
        if op.null_index >= 0:
            if likely(p < end and p[0] <= 2 and not p[0] & 1):
                branch = p[0] >> 1
                p += 1
            else:                       # truncated, overlong (80 00), or not a branch index
                r.p = p
                if not next_branch(&branch, 2, r):
                    return False
                p = r.p
            if branch == op.null_index:
                if unlikely(not made(r, put_null(c))):
                    return False
                continue
        if op.kind == READ_STRING:
            # Most texts are short ASCII: a length of one byte, and all that put_short() reads is within the limit.
            if likely(limit - p > SNS_SHORT and p[0] <= 2 * SNS_SHORT and not p[0] & 1 and p[0] >> 1 < end - p
                      and put_short(c, p + 1, p[0] >> 1)):
                p += 1 + (p[0] >> 1)
            else:
                p = read_bytes(op, c, p, end, r)
        elif op.kind == READ_BYTES:
            p = read_bytes(op, c, p, end, r)
        elif op.kind == READ_LONG:
            p = read_long(c, p, end, r)
        elif op.kind == READ_INT:
            p = read_int(c, p, end, r)
        elif op.kind == READ_NUMBER:
            p = read_number(op, c, p, end, r)
        elif op.kind == READ_DOUBLE:
            p = read_double(c, p, end, r)
        elif op.kind == READ_FLOAT or op.kind == READ_WIDENED:
            p = read_float(op, c, p, end, r)
        elif op.kind == READ_BOOLEAN:
            p = read_boolean(c, p, end, r)
        elif op.kind == READ_ENUM:
            p = read_enum(op, c, p, end, r)
        elif op.kind == READ_DECIMAL:
            p = read_decimal(op, c, p, end, r)
        elif op.kind == READ_SKIPPED:
            p = skip_fields(op, step, p, end, r)
        else:                           # large or rare types have their own functions
            r.p = p
            p = r.p if read_other(op, c, step, r) else NULL
        if unlikely(p is NULL):
            return False
    r.p = p
    return True


cdef bint read_other(Op* op, Column* c, Step* step, Reader* r) noexcept nogil:
    cdef int64_t branch = 0
    if op.kind == READ_RECORD:
        return read_record(op, c, r)
    elif op.kind == READ_ARRAY:
        return read_array(op, c, r)
    elif op.kind == READ_MAP:
        return read_map(op, c, r)
    elif op.kind == READ_UNION:
        return next_branch(&branch, op.count, r) and read_values(&op.parts[branch], 1, 0, step, step.index, r)
    elif op.kind == READ_MEMBER:
        return read_member(op, c, step, r)
    elif op.kind == READ_NULL:
        return made(r, put_null(c))
    elif op.kind == READ_FIXED:
        return read_fixed(op, c, r)
    elif op.kind == READ_UUID:
        return read_uuid(c, r)
    elif op.kind == READ_DEFAULT:
        return read_default(op, step, r)
    elif op.kind == READ_BIG_DECIMAL:
        return read_big_decimal(c, r)
    elif op.kind == READ_PLAIN:
        return read_plain(op, c, r)
    elif op.kind == READ_UNSIZED:
        return read_unsized(op, step, r)
    elif op.kind == READ_BROKEN and enter(op, r) is NULL:
        return False
    r.op = op
    return fail(r, MISMATCH)


cdef bint read_unsized(Op* op, Step* step, Reader* r) noexcept nogil:
    """Read the rest of the message, as in codec/unsized.pyx: a copy with its length, which lives until it is read."""
    cdef const uint8_t* start = r.p
    cdef const uint8_t* end = r.end
    cdef const uint8_t* limit = r.limit
    cdef Py_ssize_t size = end - start
    cdef uint8_t* front = <uint8_t*>malloc(MAX_LENGTH_SIZE + size)
    cdef uint8_t* data
    cdef bint done
    if front is NULL:
        return fail(r, NO_MEMORY)
    data = sns_put_varint(front, <uint64_t>size << 1)
    memcpy(data, start, size)
    r.p, r.end = front, data + size
    r.limit = r.end
    done = read_values(op.parts, 1, 0, step, step.index, r)
    if not done and (r.fault == BAD_TEXT or r.fault == BAD_UUID):
        r.text = start + (r.text - data)
    r.p, r.end, r.limit = end if done else start, end, limit
    free(front)
    return done


# --- containers -------------------------------------------------------------------------------------------------------

cdef inline Step* enter(Op* op, Reader* r) noexcept nogil:
    cdef Step* step
    if unlikely(r.depth >= r.max_depth):
        fail(r, TOO_DEEP)
        return NULL
    step = &r.steps[r.depth]
    step.op, step.index, step.key, step.key_size = op, -1, NULL, -1
    r.depth += 1
    return step


cdef inline bint pay_empty(Reader* r, int64_t count) noexcept nogil:
    """Count zero-byte values against their limit: they cost a sender nothing, but memory here."""
    if unlikely(count > r.empty_left):
        return fail(r, TOO_MANY_EMPTY)
    r.empty_left -= count
    return True


cdef inline bint pay_items(Reader* r, int64_t count) noexcept nogil:
    if unlikely(count > r.items_left):
        return fail(r, TOO_MANY_ITEMS)
    r.items_left -= count
    return True


cdef inline bint pay_slots(Reader* r, int64_t count) noexcept nogil:
    """Count slots of items. A one-byte null may take a slot in a thousand columns: the batch's budget bounds that."""
    r.slots_left -= count
    if unlikely(r.slots_left < 0):
        if -r.slots_left > r.batch_slots_left:
            return fail(r, TOO_MANY_SLOTS)
        r.batch_slots_left += r.slots_left
        r.slots_left = 0
    return True


cdef bint read_record(Op* op, Column* c, Reader* r) noexcept nogil:
    cdef Step* step = enter(op, r)
    if step is NULL or not pay_empty(r, op.empty_fields) or not pay_items(r, op.filled):
        return False
    if not read_values(op.parts, op.count, 1, step, 0, r) or not has_room(c, r):
        return False
    c.length += 1
    r.depth -= 1
    return True


cdef int64_t read_count(Op* op, Py_ssize_t least, const uint8_t** block_end, Reader* r) noexcept nogil:
    """Read the number of items in the next block of an array or a map; 0 ends it, -1 is a fault.

    ``least`` is the minimum size of one item in bytes. ``block_end`` is set to the declared end of the block, or NULL.
    """
    cdef uint64_t value = 0
    cdef int64_t count
    block_end[0] = NULL
    if likely(r.p < r.end and r.p[0] == 0):
        r.p += 1
        return 0
    if not next_varint(&value, False, r):
        return -1
    count = sns_unzigzag(value)
    if unlikely(count < 0):
        if not next_varint(&value, False, r):
            return -1
        if count == INT64_MIN or value & 1 or value >> 1 > <uint64_t>(r.end - r.p):
            fail(r, BAD_BLOCK, count, sns_unzigzag(value))
            return -1
        block_end[0] = r.p + (value >> 1)
        count = -count
    if least == 0:
        if not pay_empty(r, count):
            return -1
    elif unlikely(count > r.end - r.p or (least > 1 and count > (r.end - r.p) / least)):
        fail(r, TOO_FEW_BYTES, count, least)
        return -1
    if not pay_items(r, count) or (op.slots and not pay_slots(r, count * op.slots)):
        return -1
    return count


cdef inline bint ends_block(Reader* r, const uint8_t* block_end) noexcept nogil:
    return likely(block_end is NULL or r.p == block_end) or fail(r, BAD_BLOCK_END)


cdef bint read_array(Op* op, Column* c, Reader* r) noexcept nogil:
    cdef const uint8_t* block_end = NULL
    cdef int64_t count, index = 0
    cdef Step* step = enter(op, r)
    if step is NULL:
        return False
    while True:
        count = read_count(op, op.parts[0].min_size, &block_end, r)
        if count <= 0:
            break
        if not read_values(op.parts, count, 0, step, index, r) or not ends_block(r, block_end):
            return False
        index += count
    if count < 0:
        return False
    r.depth -= 1
    return end_list(c, r)


cdef bint end_list(Column* c, Reader* r) noexcept nogil:
    """Append a LIST slot, after its items."""
    if unlikely(c.children[0].length > INT32_MAX):
        return fail(r, OVERFLOW)
    if not has_room(c, r):
        return False
    end_slot(c, c.children[0].length)
    return True


cdef bint read_map(Op* op, Column* c, Reader* r) noexcept nogil:
    cdef const uint8_t* block_end = NULL
    cdef int64_t count, left
    cdef Column* entries = &c.children[0]
    cdef Step* step = enter(op, r)
    if step is NULL:
        return False
    while True:
        count = left = read_count(op, 1 + op.parts[0].min_size, &block_end, r)
        if count <= 0:
            break
        while left:
            if not read_key(&entries.children[0], step, r) or not read_values(op.parts, 1, 0, step, 0, r):
                return False
            if not has_room(entries, r):
                return False
            entries.length += 1
            left -= 1
        if not ends_block(r, block_end):
            return False
    if count < 0:
        return False
    r.depth -= 1
    return end_list(c, r)


cdef bint read_key(Column* c, Step* step, Reader* r) noexcept nogil:
    cdef const uint8_t* p
    cdef int64_t size = 0
    if not next_size(&size, r):
        return False
    p = r.p
    r.p += size
    if likely(size <= SNS_SHORT and r.limit - p >= SNS_SHORT and put_short(c, p, size)):
        step.key, step.key_size = p, size
        return True
    if unlikely(put_checked_text(c, p, size, r) is NULL and r.fault == BAD_TEXT):
        return False
    step.key, step.key_size = p, size
    return r.fault == NO_FAULT


cdef bint read_member(Op* op, Column* c, Step* step, Reader* r) noexcept nogil:
    cdef int i
    for i in range(c.count):
        if i != op.member and not made(r, put_null(&c.children[i])):
            return False
    if not read_values(op.parts, 1, 0, step, step.index, r) or not has_room(c, r):
        return False
    c.length += 1
    return True


cdef bint read_default(Op* op, Step* step, Reader* r) noexcept nogil:
    """Append a default. It was checked when the plan was built, and its record has counted it against the limits."""
    cdef Reader inner = r[0]
    inner.p, inner.end = op.text, op.text + op.size
    inner.limit = inner.end
    inner.empty_left = inner.items_left = inner.slots_left = inner.batch_slots_left = INT64_MAX
    inner.max_depth = r.depth + MAX_LEVELS
    if read_values(op.parts, 1, 0, step, step.index, &inner):
        return True
    return fail(r, inner.fault, inner.a, inner.b)
