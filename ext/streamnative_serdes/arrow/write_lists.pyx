# Arrays and maps in a block of rows: the items of all its rows are blocks too, on a stage of their own, or are written
# where they belong at once.

cdef bint write_lists(WriteOp* op, const Source* s, uint64_t there, WriteBlock* b, Writer* w) noexcept nogil:
    cdef WriteStep* step
    cdef uint8_t* items = w.items
    cdef Chosen some
    there &= all_of(b)
    if not put_branches(op, there, b):
        return False
    step = enter_write(op, w)
    if step is NULL:
        return False
    w.items = NULL
    if there == all_of(b):
        if not write_items(op, s, step, b, items, w):
            return False
    elif there:
        choose(b, there, &some)
        if not write_items(op, s, step, &some.block, items, w):
            return False
        put_back(&some, b)
    w.items = items
    w.depth -= 1
    return True


cdef bint write_items(WriteOp* op, const Source* s, WriteStep* step, WriteBlock* b, uint8_t* stage,
                      Writer* w) noexcept nogil:
    """Write the list of each row: how many items, the items, and 0."""
    cdef int i, simple = 0
    for i in range(op.count):
        simple += is_simple(op.parts[i], &w.sources[op.parts[i].source])
    if simple < op.count:
        return write_staged_items(op, s, step, b, stage, w)
    if op.kind == WRITE_MAP:
        return put_items(op, op.parts[0], op.parts[1], s, b, w, True)
    return put_items(op, op.parts[0], op.parts[0], s, b, w, False)


cdef inline bint is_simple(const WriteOp* op, const Source* s) noexcept nogil:
    """Whether put_item() can write the values."""
    if op.branch >= 0 or s.slots.valid is not NULL:
        return False
    if op.kind == WRITE_TEXT or op.kind == WRITE_BYTES:
        return s.slots.how == SMALL_OFFSETS
    return op.kind == WRITE_LONG or op.kind == WRITE_INT or (op.kind == WRITE_DOUBLE and op.load == LOAD_DOUBLE)


cdef inline bint put_items(const WriteOp* op, const WriteOp* one, const WriteOp* other, const Source* s, WriteBlock* b,
                           Writer* w, bint pairs) noexcept nogil:
    """Write lists of simple values, or of pairs of them, where they belong at once."""
    cdef Source ones = w.sources[one.source], others = w.sources[other.source]
    cdef int64_t first = 0, count = 0, slot
    cdef const uint8_t* end
    cdef uint8_t* p
    cdef int k
    for k in range(b.count):
        list_at(s, op.load, b.first + b.at[k], &first, &count)
        p, end = b.p[k], b.end[k] - b.left
        if count:
            p = put_whole(p, count)
        for slot in range(first, first + count):
            p = put_item(one, &ones, slot, p, end, w)
            if pairs and likely(p is not NULL):
                p = put_item(other, &others, slot, p, end, w)
            if unlikely(p is NULL):
                return False
        p[0] = 0
        b.p[k] = p + 1
    return True


cdef inline uint8_t* put_item(const WriteOp* op, const Source* s, int64_t slot, uint8_t* p, const uint8_t* end,
                              Writer* w) noexcept nogil:
    """Write a value that is not null, up to ``end`` at most."""
    cdef int64_t size = 0
    cdef const uint8_t* data
    if op.kind == WRITE_TEXT or op.kind == WRITE_BYTES:
        data = small_bytes_at(&s.slots, slot, &size)
        if (likely(<uint64_t>size < SNS_MEDIUM and s.slots.limit - data >= SNS_MEDIUM and size + 1 < end - p)
                and likely(sns_copy_medium(p + 1, data, size) or op.kind == WRITE_BYTES)):
            p[0] = <uint8_t>(2 * size)
            return p + 1 + size
        return put_longer(op, data, size, p, end, w)
    if unlikely(end - p < 11):          # 10 for a number, and 1 for the end of the list
        return halt(w, NULL, NO_MEMORY)
    slot += s.slots.offset
    if op.kind == WRITE_LONG:
        return p + sns_put_wide_varint(p, sns_zigzag((<const int64_t*>s.slots.slots)[slot]))
    elif op.kind == WRITE_INT:
        return p + sns_put_wide_varint(p, sns_zigzag((<const int32_t*>s.slots.slots)[slot]))
    sns_put_double(p, (<const double*>s.slots.slots)[slot])
    return p + 8


cdef bint write_staged_items(WriteOp* op, const Source* s, WriteStep* step, WriteBlock* b, uint8_t* stage,
                             Writer* w) noexcept nogil:
    cdef int64_t stride = op.items_room + w.items_extra + SPILL, first = 0, count = 0, slot
    cdef int most = <int>min(ITEMS_BYTES // stride, <int64_t>BLOCK_ROWS), k
    cdef Chosen items
    if most == 0:
        return halt(w, NULL, NO_MEMORY) is not NULL
    items.block.count = 0
    for k in range(b.count):
        list_at(s, op.load, b.first + b.at[k], &first, &count)
        if count:
            b.p[k] = put_whole(b.p[k], count)
        for slot in range(first, first + count):
            if items.block.count == most or not add_item(&items, slot, k):
                if not write_some(op, step, &items, stage, stride, b, w):
                    return False
                add_item(&items, slot, k)
    if not write_some(op, step, &items, stage, stride, b, w):
        return False
    put_byte(0, b)
    return True


cdef inline bint add_item(Chosen* items, int64_t slot, int row) noexcept nogil:
    """Add an item to the block; False if it is too far away from its first."""
    cdef WriteBlock* b = &items.block
    if b.count == 0:
        b.first, b.dense = slot, True
    if unlikely(slot - b.first != <int32_t>(slot - b.first)):
        return False
    b.at[b.count] = <int32_t>(slot - b.first)
    b.dense = b.dense and b.at[b.count] == b.count
    items.row[b.count] = <uint8_t>row
    b.count += 1
    return True


cdef bint write_some(WriteOp* op, WriteStep* step, Chosen* items, uint8_t* stage, int64_t stride, WriteBlock* b,
                     Writer* w) noexcept nogil:
    """Write items to their stage, copy them to their rows, and begin another block of them."""
    cdef WriteBlock* block = &items.block
    cdef int64_t size, left = b.left
    cdef uint8_t* p
    cdef int i, j, k
    if block.count == 0:
        return True
    for j in range(block.count):
        block.p[j] = stage + j * stride
        block.end[j] = block.p[j] + stride - SPILL
    block.left, block.most_nulls = op.items_room, 0
    memset(block.nulls, 0, BLOCK_ROWS)
    w.in_items = True
    for i in range(op.count):
        if not write_field(op.parts[i], step, block, w):
            return False
    settle(block)
    w.in_items = False
    sns_check_rooms(block.p, block.end, block.count, 0)
    for j in range(block.count):
        k, p = items.row[j], stage + j * stride
        size = block.p[j] - p
        if unlikely(size + 1 > b.end[k] - left - b.p[k]):       # 1: the end of the list
            return halt(w, NULL, NO_MEMORY) is not NULL
        copy_over(b.p[k], p, size)
        b.p[k] += size
    block.count = 0
    return True
