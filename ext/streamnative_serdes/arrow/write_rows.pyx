# The loop over the rows of a batch that is encoded, without the GIL: which of them make a block (write_blocks.pyx), and
# which are encoded one by one.

cdef int64_t write_rows(Encoding e, int64_t count) noexcept nogil:
    """Encode all rows. Returns their number, or the first row that failed."""
    cdef Writer* w = &e.w
    cdef WriteOp* root = e.plan.ops + e.plan.root
    cdef const Source* rows = &e.sources[0]
    cdef const Source* half = NULL if e.plan.half == 0 else &e.sources[e.plan.half]
    cdef int64_t row = 0
    cdef uint8_t* p = w.p
    cdef int done
    while row < count:
        if row >= e.alone:
            done = write_next_block(e, row, count)
            p = w.p
            if done:
                row += done
                continue
        if not is_valid(rows.slots.valid, rows.slots.offset + row) or (
                half is not NULL and not has_value(root, half, row)):
            if put_null(&e.messages):
                halt(w, NULL, NO_MEMORY)
                return row
            row += 1
            continue
        w.depth = 0
        p = write_message(root, row, p, w)
        if unlikely(p is NULL):
            return row
        if unlikely(p - w.base > INT32_MAX and not e.messages.large):
            halt(w, NULL, OVERFLOW)
            w.depth = 0
            return row
        w.p = p
        end_slot(&e.messages, p - w.base)
        row += 1
    return count


cdef inline uint8_t* write_message(WriteOp* root, int64_t row, uint8_t* p, Writer* w) noexcept nogil:
    p = room(w, p, w.header_size + LEAST_ROOM)
    if unlikely(p is NULL):
        return NULL
    sns_copy(p, w.header, w.header_size)
    p += w.header_size
    if likely(root.kind == WRITE_RECORD and root.source == 0):
        return write_record(root, row, p, w)
    if root.kind == WRITE_INLINE:
        return write_inline(root, row, p, w)
    return write_values(&root, 1, 0, row, 0, &w.outside, 0, p, w)


# Blocks

cdef int write_next_block(Encoding e, int64_t row, int64_t count) noexcept nogil:
    """Encode the rows from ``row`` on as a block. Returns how many; 0: they have to be encoded one by one."""
    cdef WriteOp* root = e.plan.ops + e.plan.root
    cdef int rows
    if count - row < LEAST_ROWS:
        e.alone = count
        return 0
    while True:
        rows = begin_block(e, root, row, count)
        if rows == 0:
            # Rows that are too large for the stage: blocks are tried ever more rarely.
            e.refused = min(e.refused + 1, MOST_REFUSED)
            e.alone = row + (<int64_t>BLOCK_ROWS << e.refused)
            e.extra = e.w.items_extra = 0
            return 0
        e.w.depth, e.w.fault = 0, NO_FAULT
        if likely(write_block(e, root) and copy_block(e)):
            e.refused = 0
            return rows
        if e.w.fault != NO_MEMORY:
            e.alone = row + rows
            return 0
        if e.w.in_items:
            e.w.items_extra = max(2 * e.w.items_extra, <int64_t>SPILL)
        else:
            e.extra = max(2 * e.extra, e.usual)


cdef int begin_block(Encoding e, const WriteOp* root, int64_t row, int64_t count) noexcept nogil:
    """Set up the next block. Returns how many rows it has; 0 if they are too large."""
    cdef WriteBlock* b = &e.block
    cdef int64_t head = e.w.header_size, stride = head + root.room + e.extra + SPILL
    cdef int k
    if stride > MOST_STAGED:
        return 0
    b.count, b.dense, b.first = <int>min(STAGE_BYTES // stride, <int64_t>BLOCK_ROWS, count - row), True, row
    b.left = b.most_nulls = 0
    memset(b.nulls, 0, BLOCK_ROWS)
    if stride != e.stride:
        e.stride = stride
        for k in range(<int>min(STAGE_BYTES // stride, <int64_t>BLOCK_ROWS)):
            sns_copy(e.stage + k * stride, e.w.header, head)        # nothing overwrites it
            b.end[k], b.at[k] = e.stage + (k + 1) * stride - SPILL, k
    for k in range(b.count):
        b.p[k] = e.stage + k * stride + head
    return b.count


cdef bint write_block(Encoding e, WriteOp* root) noexcept nogil:
    """Write the rows of the block to the stage; False if a value cannot be written, or (NO_MEMORY) lacks room."""
    cdef Writer* w = &e.w
    cdef uint8_t* base = w.base
    cdef uint8_t* end = w.end
    cdef bint done
    w.staged, w.items, w.in_items = True, e.stage + STAGE_BYTES, False
    done = write_records(root, ~<uint64_t>0, &e.block, w)
    settle(&e.block)
    w.base, w.end, w.staged = base, end, False
    return done


cdef bint copy_block(Encoding e) noexcept nogil:
    """Append the rows of the block to the messages. False if they do not fit: the caller finds out what is too much."""
    cdef const WriteBlock* b = &e.block
    cdef Writer* w = &e.w
    cdef const uint8_t* row = e.stage
    cdef uint8_t* offsets = e.messages.offsets
    cdef bint large = e.messages.large
    cdef int64_t total = 0, size, used, slot = e.messages.length, stride = e.stride
    cdef uint8_t* p
    cdef int k, count = b.count
    for k in range(count):
        total += b.p[k] - row - k * stride
    p = room(w, w.p, total + SPILL)
    if p is NULL:
        e.extra = MOST_STAGED           # to encode them one by one asks for less memory
        return False
    w.p = p
    used = p - w.base
    if used + total > INT32_MAX and not large:
        return False
    for k in range(count):
        size = b.p[k] - row
        copy_over(p, row, size)
        p += size
        used += size
        slot += 1
        put_offset(offsets, large, slot, used)
        row += stride
    e.messages.length = slot
    w.p += total
    return True
