# Decodes a block of messages column by column, where read.pyx decodes message by message. All are records of one schema
# version, in one buffer.
#
# What a field is has to be found out once for a block, and its rows do not depend on each other, so the processor works
# on several of them at a time. A block is read as a whole or not at all: where a message is damaged, or a limit is
# reached, its slots are removed again, and read.pyx finds out what is wrong with which message.
#
# Most steps compare with the end of all messages (Reader.limit), not with that of the message. So a row may leave its
# message, but it never goes back: if it is at the end of its message after the last field, all its values were within.

cdef enum:
    BLOCK_ROWS = 64             # bits of a word
    LEAST_ROWS = 8              # fewer are read one by one
    BLOCK_BYTES = 16 << 10      # of messages, so that a block stays in the processor's first cache
    LEAST_PREFETCHED = 256      # bytes of a message
    LEAST_RUN = 4               # optional fields that may be read as a run
    MOST_RUN = 64
    UUID_TEXT = 36              # bytes
    MOST_REFUSED = 10           # doublings of the rows that are read one by one after blocks that were refused
    CACHE_LINE = 64             # bytes

cdef struct Budget:             # what is left for a message, as in Reader
    int64_t empty, items, slots

cdef struct Block:              # messages, or values of some of them
    int count                   # rows
    bint counted                # values are counted against the limits for each row; else ``left`` is not used
    const uint8_t* p[BLOCK_ROWS]        # where each row is
    const uint8_t* end[BLOCK_ROWS]      # of its message, or of an item
    uint8_t row[BLOCK_ROWS]     # of its message
    Budget* left                # of each message


cdef bint read_block(Op* op, Column* c, Block* b, Budget* left, const bint* trailing, Reader* r) noexcept nogil:
    """Decode the messages of a block by the op of their record. After False, slots of them remain in the columns.

    ``trailing`` is read only if there are extra bytes; ``left`` is the memory for what is left for each message.
    """
    cdef int k
    b.counted, b.left = op.counted, left
    if b.counted:
        for k in range(b.count):
            b.left[k].empty, b.left[k].items = r.empty_left, r.items_left
            b.left[k].slots = (b.end[k] - b.p[k]) * FREE_SLOTS
            b.row[k] = <uint8_t>k
    if not read_records(op, c, b, r):
        return False
    for k in range(b.count):
        if unlikely(b.p[k] != b.end[k]) and not (trailing[0] and b.p[k] < b.end[k]):
            return False
    return True


cdef bint read_records(Op* op, Column* c, Block* b, Reader* r) noexcept nogil:
    """Append a record for each row."""
    if not read_fields_of_all(op, b, r) or not has_slots(c, b.count):
        return False
    c.length += b.count
    return True


cdef bint read_fields_of_all(Op* op, Block* b, Reader* r) noexcept nogil:
    cdef Step* step = enter(op, r)
    cdef int i = 0, tried = 0, done
    if step is NULL or not pay_all(op, b, r):
        return False
    while i < op.count:
        done = 0
        if i >= tried and op.parts[i].run >= LEAST_RUN:
            done = read_run(op, i, step, b, r)
            tried = i + op.parts[i].run
        if done < 0 or not (done or read_part(op.parts[i], i, step, b, r)):
            return False
        i += max(done, 1)
    r.depth -= 1
    return True


cdef bint read_part(Op* part, int i, Step* step, Block* b, Reader* r) noexcept nogil:
    """Append, or skip, field ``i`` of each row."""
    cdef uint64_t nulls = 0
    if part.kind == READ_SKIPPED:
        return skip_fields_of_all(part, b, r)
    step.index = i
    if not part.in_blocks:
        return read_one_by_one(part, step, b, r)
    if part.null_index >= 0 and not read_branches(part, b, &nulls, r.limit):
        return False
    return read_field_of_all(part, &r.columns[part.column], nulls, step, b, r)


cdef bint pay_all(const Op* op, Block* b, Reader* r) noexcept nogil:
    """Count the values of a record that take no bytes, and those from defaults, against the limits of each message."""
    cdef Budget* left
    cdef int k
    if not b.counted:                   # all messages pay the same
        return pay_empty(r, op.empty_fields) and pay_items(r, op.filled)
    if op.empty_fields or op.filled:
        for k in range(b.count):
            left = &b.left[b.row[k]]
            left.empty -= op.empty_fields
            left.items -= op.filled
            if unlikely(left.empty < 0 or left.items < 0):
                return False
    return True


cdef inline bint has_slots(Column* c, int64_t count) noexcept nogil:
    return likely(count <= c.capacity - c.length) or resize(c, max(2 * c.capacity, c.length + count, LEAST_SLOTS))


cdef bint read_field_of_all(Op* op, Column* c, uint64_t nulls, Step* step, Block* b, Reader* r) noexcept nogil:
    """Append one field of each row, or null where a bit of ``nulls`` is set: there are no bytes of it."""
    cdef int64_t first = c.length
    if nulls and nulls == all_rows(b):
        return put_nulls_of_all(c, b.count)
    if op.kind == READ_RECORD:
        return read_records(op, c, b, r) if nulls == 0 else read_some_records(op, c, nulls, b, r)
    if op.kind == READ_UNION:
        return read_unions(op, c, nulls, step, b, r)
    if not has_slots(c, b.count):
        return False
    if op.kind == READ_STRING or op.kind == READ_BYTES:
        if not read_texts(op, c, nulls, b, r):
            return False
    elif op.kind == READ_LONG:
        if not read_longs(c, nulls, b, r.limit):
            return False
    elif op.kind == READ_INT:
        if not read_ints(c, nulls, b, r.limit):
            return False
    elif op.kind == READ_NUMBER:
        if not read_numbers(op, c, nulls, b, r.limit):
            return False
    elif op.kind == READ_DOUBLE:
        if not read_doubles(c, nulls, b, r.limit):
            return False
    elif op.kind == READ_FLOAT or op.kind == READ_WIDENED:
        if not read_floats(op, c, nulls, b, r.limit):
            return False
    elif op.kind == READ_BOOLEAN:
        if not read_booleans(c, nulls, b, r.limit):
            return False
    elif op.kind == READ_ENUM:
        if not read_symbols(op, c, nulls, b, r.limit):
            return False
    elif op.kind == READ_ARRAY or op.kind == READ_MAP:
        if not read_lists(op, c, nulls, b, r):
            return False
    elif op.kind == READ_UUID:
        if not read_uuids(c, nulls, b, r):
            return False
    elif not read_others(op, c, nulls, b, r):
        return False
    return nulls == 0 or mark_nulls(c, first, b.count, nulls)


cdef bint read_one_by_one(Op* op, Step* step, Block* b, Reader* r) noexcept nogil:
    """The same for types without a loop of their own."""
    cdef int k
    for k in range(b.count):
        if unlikely(b.p[k] > b.end[k]):
            return False
        r.p, r.end = b.p[k], b.end[k]
        use_budget(b, k, r)
        if not read_values(&op, 1, 0, step, step.index, r):
            return False
        keep_budget(b, k, r)
        b.p[k] = r.p
    return True


cdef inline void use_budget(const Block* b, int k, Reader* r) noexcept nogil:
    cdef const Budget* left
    if b.counted:
        left = &b.left[b.row[k]]
        r.empty_left, r.items_left, r.slots_left = left.empty, left.items, left.slots


cdef inline void keep_budget(Block* b, int k, const Reader* r) noexcept nogil:
    cdef Budget* left
    if b.counted:
        left = &b.left[b.row[k]]
        left.empty, left.items, left.slots = r.empty_left, r.items_left, r.slots_left


# --- unions with null -------------------------------------------------------------------------------------------------
#
# Which rows are null cannot be foreseen, so most loops do not branch for it: null rows read what follows, in vain.

cdef bint read_branches(const Op* op, Block* b, uint64_t* nulls, const uint8_t* limit) noexcept nogil:
    """Read the index of the branch in each row. Bit k of ``nulls`` is set if row k is null.

    False also for an index in more than one byte, which is valid, but unusual.
    """
    cdef uint8_t null = <uint8_t>(2 * op.null_index), odd = 0
    cdef uint64_t found = 0
    cdef const uint8_t* p
    cdef int k
    for k in range(b.count):
        p = b.p[k]
        if unlikely(p >= limit):
            return False
        odd |= p[0]
        found |= <uint64_t>(p[0] == null) << k
        b.p[k] = p + 1
    nulls[0] = found
    return not odd & ~2


cdef inline uint64_t if_there(uint64_t nulls, int k) noexcept nogil:
    """All bits if row k is not null, else none."""
    return (nulls >> k & 1) - 1


cdef bint mark_nulls(Column* c, int64_t first, int count, uint64_t nulls) noexcept nogil:
    """Clear the valid bits of the null ones of ``count`` slots from ``first`` on."""
    if c.valid is NULL and not begin_valid(c):
        return False
    flip_bits(c.valid, first, count, nulls)
    c.nulls += sns_count_bits(nulls)
    return True


cdef inline void flip_bits(uint8_t* bitmap, int64_t first, int count, uint64_t bits) noexcept nogil:
    """Change the bits that are set in ``bits``, whose lowest one is that of slot ``first``."""
    cdef int done = 8 - (first & 7)
    bitmap += first >> 3
    bitmap[0] ^= <uint8_t>(bits << (first & 7))
    while done < count:
        bitmap += 1
        bitmap[0] ^= <uint8_t>(bits >> done)
        done += 8


# --- fields with a column: each function appends a value for each row, zeros or nothing for null ----------------------

cdef bint read_texts(Op* op, Column* c, uint64_t nulls, Block* b, Reader* r) noexcept nogil:
    if is_wide(c):
        return copy_texts(op, c, nulls, b, SNS_MEDIUM, r)
    return copy_texts(op, c, nulls, b, SNS_SHORT, r)


cdef inline bint copy_texts(Op* op, Column* c, uint64_t nulls, Block* b, int most, Reader* r) noexcept nogil:
    """The same; ``most`` bytes, a constant in each call, are copied whatever the size of a text is."""
    cdef const uint8_t* limit = r.limit
    cdef uint8_t* data = c.data
    cdef uint8_t* offsets = c.offsets
    cdef bint large = c.large, binary = op.kind == READ_BYTES, ascii
    cdef int64_t used = c.used, full = c.room - most, slot = c.length, size
    cdef const uint8_t* p
    cdef uint64_t there
    cdef int k
    for k in range(b.count):
        p = b.p[k]
        there = if_there(nulls, k)
        if likely(limit - p > most and used <= full):
            size = p[0] & there
            if likely(size <= (2 * SNS_SHORT if most == SNS_SHORT else 2 * SNS_MEDIUM - 1) and not size & 1):
                ascii = (sns_copy_short(data + used, p + 1, size >> 1) if most == SNS_SHORT
                         else sns_copy_medium(data + used, p + 1, size >> 1))
                if likely(ascii or binary):
                    used += size >> 1
                    b.p[k] = p + ((1 + (size >> 1)) & there)
                    slot += 1
                    put_offset(offsets, large, slot, used)
                    continue
        c.used, c.length = used, slot
        if there:
            p = read_long_text(op, c, p, b.end[k], r)
            if unlikely(p is NULL):
                return False
            b.p[k] = p
            data, used, full = c.data, c.used, c.room - most
        else:
            put_offset(offsets, large, slot + 1, used)
        slot += 1
    c.used, c.length = used, slot
    return True


cdef inline const uint8_t* read_long_text(Op* op, Column* c, const uint8_t* p, const uint8_t* end,
                                          Reader* r) noexcept nogil:
    """Append a text; returns its end, or NULL."""
    cdef int64_t size
    if likely(end - p > SNS_MEDIUM and p[0] & 0x81 == 0x80 and p[1] < 0x80):       # a length of two bytes
        size = <int64_t>p[1] << 6 | (p[0] & 0x7E) >> 1
        if likely(SNS_SHORT < size <= end - p - 2 and size <= c.room - c.used and c.length < c.capacity
                  and sns_copy_ascii(c.data + c.used, p + 2, size)):
            c.used += size
            end_slot(c, c.used)
            return p + 2 + size
    return read_bytes(op, c, p, end, r)


cdef inline void put_offset(uint8_t* offsets, bint large, int64_t slot, int64_t offset) noexcept nogil:
    if large:
        (<int64_t*>offsets)[slot] = offset
    else:
        (<int32_t*>offsets)[slot] = <int32_t>offset


cdef inline bint read_varint(uint64_t* value, uint64_t nulls, int k, Block* b, const uint8_t* limit) noexcept nogil:
    """Read a number of row k; 0 if the row is null."""
    cdef const uint8_t* p = b.p[k]
    cdef const uint8_t* behind = sns_get_wide_varint(p, limit, value)
    cdef uint64_t there = if_there(nulls, k)
    if unlikely(behind is NULL):
        if there:
            return False
        behind = p
    value[0] &= there
    b.p[k] = p + (<uint64_t>(behind - p) & there)
    return True


cdef bint read_longs(Column* c, uint64_t nulls, Block* b, const uint8_t* limit) noexcept nogil:
    cdef int64_t* out = <int64_t*>c.data + c.length
    cdef uint64_t value = 0
    cdef int k
    for k in range(b.count):
        if unlikely(not read_varint(&value, nulls, k, b, limit)):
            return False
        out[k] = sns_unzigzag(value)
    c.length += b.count
    return True


cdef bint read_ints(Column* c, uint64_t nulls, Block* b, const uint8_t* limit) noexcept nogil:
    cdef int32_t* out = <int32_t*>c.data + c.length
    cdef uint64_t value = 0, bits = 0
    cdef int k
    for k in range(b.count):
        if unlikely(not read_varint(&value, nulls, k, b, limit)):
            return False
        bits |= value
        out[k] = <int32_t>sns_unzigzag(value)
    c.length += b.count
    return bits <= 0xFFFFFFFFUL


cdef bint read_numbers(Op* op, Column* c, uint64_t nulls, Block* b, const uint8_t* limit) noexcept nogil:
    cdef uint64_t value = 0
    cdef int64_t number
    cdef int k
    for k in range(b.count):
        if unlikely(not read_varint(&value, nulls, k, b, limit) or (op.narrow and value > 0xFFFFFFFFUL)):
            return False
        number = sns_unzigzag(value)
        if unlikely(convert(op, &number) != NO_FAULT):          # of 0, as of null, it never is one
            return False
        put_number(c, op.out, number * op.unit)
    return True


cdef bint read_doubles(Column* c, uint64_t nulls, Block* b, const uint8_t* limit) noexcept nogil:
    cdef double* out = <double*>c.data + c.length
    cdef const uint8_t* p
    cdef int k
    for k in range(b.count):
        p = b.p[k]
        if nulls >> k & 1:
            out[k] = 0
        elif likely(limit - p >= 8):
            out[k] = sns_get_double(p)
            b.p[k] = p + 8
        else:
            return False
    c.length += b.count
    return True


cdef bint read_floats(const Op* op, Column* c, uint64_t nulls, Block* b, const uint8_t* limit) noexcept nogil:
    cdef const uint8_t* p
    cdef float value
    cdef int k
    for k in range(b.count):
        p = b.p[k]
        value = 0
        if not nulls >> k & 1:
            if unlikely(limit - p < 4):
                return False
            value = sns_get_float(p)
            b.p[k] = p + 4
        if op.kind == READ_FLOAT:
            (<float*>c.data)[c.length] = value
        else:
            (<double*>c.data)[c.length] = value
        c.length += 1
    return True


cdef bint read_booleans(Column* c, uint64_t nulls, Block* b, const uint8_t* limit) noexcept nogil:
    cdef uint64_t there, bits = 0
    cdef uint8_t value, odd = 0
    cdef const uint8_t* p
    cdef int k
    for k in range(b.count):
        p = b.p[k]
        there = if_there(nulls, k)
        if unlikely(p >= limit):
            if there:
                return False
            continue
        value = p[0] & <uint8_t>there
        odd |= value
        bits |= <uint64_t>(value & 1) << k
        b.p[k] = p + (1 & there)
    if unlikely(odd > 1):
        return False
    flip_bits(c.data, c.length, b.count, bits)
    c.length += b.count
    return True


cdef bint read_symbols(Op* op, Column* c, uint64_t nulls, Block* b, const uint8_t* limit) noexcept nogil:
    cdef const uint8_t* p
    cdef Symbol* symbol
    cdef int k
    for k in range(b.count):
        p = b.p[k]
        if nulls >> k & 1:
            end_slot(c, c.used)
            continue
        if unlikely(p >= limit or p[0] & 0x81 or p[0] >> 1 >= op.member):
            return False
        symbol = &op.symbols[p[0] >> 1]
        if unlikely(symbol.size < 0):
            return False
        if not (likely(symbol.size <= SNS_SHORT and put_short(c, symbol.text, symbol.size))
                or put_bytes(c, symbol.text, symbol.size) == NO_FAULT):
            return False
        b.p[k] = p + 1
    return True


cdef bint read_uuids(Column* c, uint64_t nulls, Block* b, Reader* r) noexcept nogil:
    cdef const uint8_t* p
    cdef int k
    for k in range(b.count):
        p = b.p[k]
        if nulls >> k & 1:
            end_slot(c, c.used)
        elif likely(r.limit - p > UUID_TEXT and p[0] == 2 * UUID_TEXT and c.room - c.used >= UUID_TEXT
                    and sns_copy_uuid(c.data + c.used, p + 1)):
            c.used += UUID_TEXT
            end_slot(c, c.used)
            b.p[k] = p + 1 + UUID_TEXT
        elif not read_in_full(READ_UUID, NULL, c, b, k, r):
            return False
    return True


cdef bint read_others(Op* op, Column* c, uint64_t nulls, Block* b, Reader* r) noexcept nogil:
    """The same for leaves without a loop of their own."""
    cdef int k
    for k in range(b.count):
        if nulls >> k & 1:
            if put_blank(c):
                return False
        elif not read_in_full(op.kind, op, c, b, k, r):
            return False
    return True


cdef inline bint read_in_full(int kind, Op* op, Column* c, Block* b, int k, Reader* r) noexcept nogil:
    """Read a leaf of one row with all checks."""
    if unlikely(b.p[k] > b.end[k]):
        return False
    r.p, r.end = b.p[k], b.end[k]
    if kind == READ_DECIMAL:
        b.p[k] = read_decimal(op, c, r.p, r.end, r)
        return b.p[k] is not NULL
    if not (read_uuid(c, r) if kind == READ_UUID else read_other(op, c, &r.outside, r)):
        return False
    b.p[k] = r.p
    return True


# --- fields without a column ------------------------------------------------------------------------------------------

cdef bint skip_fields_of_all(Op* op, Block* b, Reader* r) noexcept nogil:
    """Skip neighbouring fields of all rows, step by step of their program (skip.h)."""
    cdef const Skip* skip = op.skips
    while skip.kind != SKIP_END:
        if not skip_step(op, skip, b, r):
            return False
        skip += 1
    return True


cdef bint skip_step(Op* op, const Skip* skip, Block* b, Reader* r) noexcept nogil:
    # The kind is a constant in each call, so that compilers make a loop for each of them.
    if skip.kind == SKIP_TEXT:
        return skip_rows(op, skip, SKIP_TEXT, b, r)
    elif skip.kind == SKIP_NUMBER:
        return skip_rows(op, skip, SKIP_NUMBER, b, r)
    elif skip.kind == SKIP_BYTE:
        return skip_rows(op, skip, SKIP_BYTE, b, r)
    elif skip.kind == SKIP_FIXED:
        return skip_rows(op, skip, SKIP_FIXED, b, r)
    elif skip.kind == SKIP_OPTIONAL_TEXT:
        return skip_rows(op, skip, SKIP_OPTIONAL_TEXT, b, r)
    elif skip.kind == SKIP_OPTIONAL_NUMBER:
        return skip_rows(op, skip, SKIP_OPTIONAL_NUMBER, b, r)
    elif skip.kind == SKIP_OPTIONAL_BYTE:
        return skip_rows(op, skip, SKIP_OPTIONAL_BYTE, b, r)
    return skip_rows(op, skip, skip.kind, b, r)


cdef inline bint skip_rows(Op* op, const Skip* skip, int kind, Block* b, Reader* r) noexcept nogil:
    cdef const uint8_t* limit = r.limit
    cdef const uint8_t* p
    cdef int64_t after = skip.after, reach = after + skip.size + SNS_SKIP_REACH, size
    cdef int k
    for k in range(b.count):
        p = b.p[k]
        size = sns_step_size(skip, kind, p) if likely(limit - p >= reach) else -1
        if likely(size >= 0):
            b.p[k] = p + after + size
        elif not skip_one(op, skip, k, b, r):
            return False
    return True


cdef bint skip_one(Op* op, const Skip* skip, int k, Block* b, Reader* r) noexcept nogil:
    """Skip the fields of one step in one row, with all checks."""
    cdef const uint8_t* p = b.p[k]
    cdef int i
    if unlikely(p > b.end[k]):
        return False
    r.end = b.end[k]
    use_budget(b, k, r)
    for i in range(skip.first, skip.first + skip.count):
        p = skip_at(op.parts[i], p, r.end, r)
        if unlikely(p is NULL):
            return False
    keep_budget(b, k, r)
    b.p[k] = p
    return True
