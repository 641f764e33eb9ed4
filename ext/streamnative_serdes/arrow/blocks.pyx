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


# --- some of the rows -------------------------------------------------------------------------------------------------
#
# Where a record is null in some rows, the others make a block of their own. They append to the columns below without
# gaps, as these are while they grow (columns.pyx).

cdef inline uint64_t all_rows(const Block* b) noexcept nogil:
    return (<uint64_t>-1) >> (BLOCK_ROWS - b.count)


cdef void take_rows(Block* out, const Block* b, uint64_t rows) noexcept nogil:
    """Make a block of the rows of ``b`` whose bits are set in ``rows``."""
    cdef int k, count = 0
    out.counted, out.left = b.counted, b.left
    while rows:
        k = sns_first_bit(rows)
        out.p[count], out.end[count], out.row[count] = b.p[k], b.end[k], b.row[k]
        count += 1
        rows &= rows - 1
    out.count = count


cdef void give_back(const Block* taken, Block* b, uint64_t rows) noexcept nogil:
    """Set how far the rows were read that take_rows() took."""
    cdef int count = 0
    while rows:
        b.p[sns_first_bit(rows)] = taken.p[count]
        count += 1
        rows &= rows - 1


cdef bint read_some_records(Op* op, Column* c, uint64_t nulls, Block* b, Reader* r) noexcept nogil:
    """Append a record for each row that is not null, and null for the others."""
    cdef Block there
    cdef uint64_t rows = ~nulls & all_rows(b)
    take_rows(&there, b, rows)
    if not read_fields_of_all(op, &there, r):
        return False
    give_back(&there, b, rows)
    return put_structs(c, b.count, nulls)


cdef bint put_structs(Column* c, int count, uint64_t nulls) noexcept nogil:
    """Append ``count`` slots of a struct, whose children have theirs."""
    if not has_slots(c, count):
        return False
    c.length += count
    return nulls == 0 or mark_nulls(c, c.length - count, count, nulls)


cdef bint put_nulls_of_all(Column* c, int count) noexcept nogil:
    """Append ``count`` nulls, up to a block of them."""
    cdef int64_t first = c.length
    cdef int k
    if not has_slots(c, count):
        return False
    if c.storage == FIXED_WIDTH:
        memset(c.data + first * c.width, 0, count * c.width)
    elif c.storage == VARIABLE or c.storage == LIST:
        for k in range(count):
            put_offset(c.offsets, c.large, first + k + 1, offset_of(c, first))
    c.length += count
    return mark_nulls(c, first, count, (<uint64_t>-1) >> (BLOCK_ROWS - count))


cdef bint read_unions(Op* op, Column* c, uint64_t nulls, Step* step, Block* b, Reader* r) noexcept nogil:
    """Append a struct with a member for each branch, or null for null; ``nulls`` are null before."""
    cdef Block there
    cdef uint64_t rows
    cdef int k
    for k in range(b.count if op.member >= 0 else 0):
        if not nulls >> k & 1 and b.p[k] < r.limit and b.p[k][0] == 2 * op.member:
            nulls |= <uint64_t>1 << k
            b.p[k] += 1
    if nulls == 0:
        return read_members(op, c, step, b, r) and put_structs(c, b.count, 0)
    rows = ~nulls & all_rows(b)
    if rows:
        take_rows(&there, b, rows)
        if not read_members(op, c, step, &there, r):
            return False
        give_back(&there, b, rows)
    return put_structs(c, b.count, nulls)


cdef bint read_members(Op* op, Column* c, Step* step, Block* b, Reader* r) noexcept nogil:
    """Append to the member of each row's branch, and nulls to the others."""
    cdef uint64_t[BLOCK_ROWS] rows      # of each branch
    cdef int64_t before = c.length - c.nulls
    cdef const uint8_t* p
    cdef int i, k
    memset(rows, 0, op.count * sizeof(uint64_t))
    for k in range(b.count):
        p = b.p[k]
        if unlikely(p >= r.limit or p[0] & 0x81 or p[0] >> 1 >= op.count):
            return False
        rows[p[0] >> 1] |= <uint64_t>1 << k
        b.p[k] = p + 1
    for i in range(op.count):
        if op.parts[i].kind != READ_MEMBER:
            if rows[i]:
                return False
        elif not read_field_of_all(op.parts[i].parts[0], &c.children[op.parts[i].member], ~rows[i] & all_rows(b), step,
                                   b, r):
            return False
    for i in range(c.count):            # members that the writer has no branch for
        if c.children[i].length == before and not put_nulls_of_all(&c.children[i], b.count):
            return False
    return True


# --- runs of null -----------------------------------------------------------------------------------------------------
#
# Where most of many neighbouring fields are null, each row goes from one that is not to the next, past eight nulls at a
# time; and only those rows are looked at that have a value.

cdef int read_run(Op* op, int first, Step* step, Block* b, Reader* r) noexcept nogil:
    """Read the optional fields from ``first`` on. Returns how many; 0: too few are null; -1: the block is refused."""
    cdef uint64_t[MOST_RUN + 1] rows    # those whose next field with a value it is
    cdef int count = min(op.parts[first].run, <int>MOST_RUN), i
    cdef Op* part
    if not find_values(op, first, count, rows, b, r.limit):
        return 0
    for i in range(count):
        part = op.parts[first + i]
        step.index = first + i
        if rows[i] and not pass_branches(<uint8_t>(2 - 2 * part.null_index), rows[i], b, r.limit):
            return -1
        if not read_field_of_all(part, &r.columns[part.column], ~rows[i] & all_rows(b), step, b, r):
            return -1
        if rows[i]:
            pass_nulls(op.nulls + first, i + 1, count, rows, rows[i], b, r.limit)
    return count


cdef bint find_values(const Op* op, int first, int count, uint64_t* rows, Block* b,
                      const uint8_t* limit) noexcept nogil:
    """Pass the nulls before the first value of each row, if they are many. Returns whether they are."""
    cdef const uint8_t* before[BLOCK_ROWS]
    cdef int64_t passed = 0
    cdef int k
    memcpy(before, b.p, b.count * sizeof(before[0]))
    memset(rows, 0, (count + 1) * sizeof(uint64_t))
    pass_nulls(op.nulls + first, 0, count, rows, all_rows(b), b, limit)
    for k in range(b.count):
        passed += b.p[k] - before[k]
    if passed >= 2 * b.count:
        return True
    memcpy(b.p, before, b.count * sizeof(before[0]))
    return False


cdef void pass_nulls(const uint8_t* nulls, int i, int count, uint64_t* rows, uint64_t chosen, Block* b,
                     const uint8_t* limit) noexcept nogil:
    """Let each of the ``chosen`` rows, which are at field ``i`` of ``count``, go on to its next value, or behind the last.

    ``nulls`` has the byte of null for each of the fields, and 8 bytes more.
    """
    cdef int k, next
    while chosen:
        k = sns_first_bit(chosen)
        next = i + sns_same_until(b.p[k], limit, nulls + i, count - i)
        rows[next] |= <uint64_t>1 << k
        b.p[k] += next - i
        chosen &= chosen - 1


cdef bint pass_branches(uint8_t branch, uint64_t chosen, Block* b, const uint8_t* limit) noexcept nogil:
    """Pass the index of the branch that is not null; False if there is something else in one of the rows."""
    cdef int k
    while chosen:
        k = sns_first_bit(chosen)
        if unlikely(b.p[k] >= limit or b.p[k][0] != branch):
            return False
        b.p[k] += 1
        chosen &= chosen - 1
    return True


# --- arrays and maps --------------------------------------------------------------------------------------------------
#
# Where the items are is found out by skipping them: the first of all rows, then the second, and so on. Then they make
# blocks, in the order of the rows. Items that are leaves are read at once: to find them takes as long.

cdef enum:
    MOST_ITEMS = BLOCK_BYTES    # of a block of messages: each takes a byte

cdef Op TEXT                    # of a map's keys
TEXT.kind, TEXT.null_index = READ_STRING, -1

cdef struct Lists:              # of each row
    int64_t count[BLOCK_ROWS]           # items
    int64_t first[BLOCK_ROWS]           # its first item among all of them
    const uint8_t* declared[BLOCK_ROWS] # end that the message declares, or NULL
    const uint8_t* base         # where the first row begins
    int64_t total


cdef bint read_lists(Op* op, Column* c, uint64_t nulls, Block* b, Reader* r) noexcept nogil:
    """Append the items of each row; none where a bit of ``nulls`` is set."""
    cdef Lists lists
    cdef Step* step
    cdef int64_t end = c.children[0].length
    cdef int k
    if not reserve_items(&c.children[0], min(expected(c, end), MOST_EXPECTED / max(op.slots, 1))):
        return False
    if is_leaf(op.parts[0]):
        return read_lists_of_leaves(op, c, nulls, b, r)
    step = enter(op, r)
    if step is NULL or not count_items(op, &lists, nulls, b, r) or lists.total > INT32_MAX - end:
        return False
    if r.places is NULL:
        r.places = <Item*>malloc(MOST_ITEMS * sizeof(Item))
        if r.places is NULL:
            return False
    for k in range(b.count):
        end += lists.count[k]
        end_slot(c, end)
    if lists.total and not (find_items(op, &lists, b, r) and read_items(op, &c.children[0], step, &lists, b, r)):
        return False
    r.depth -= 1
    return end_lists(&lists, b)


cdef bint reserve_items(Column* c, int64_t count) noexcept nogil:
    """Make room for so many items, if there is far too little: what grows step by step is copied each time."""
    cdef int i
    if 2 * c.capacity >= count:
        return True
    for i in range(c.count if c.storage == STRUCT else 0):
        if not reserve_items(&c.children[i], count):
            return False
    return resize(c, count)


cdef bint read_lists_of_leaves(Op* op, Column* c, uint64_t nulls, Block* b, Reader* r) noexcept nogil:
    """The same, row by row."""
    cdef Column* items = &c.children[0]
    cdef Step* step = enter(op, r)
    cdef int k
    if step is NULL:
        return False
    for k in range(b.count):
        if not nulls >> k & 1:
            if unlikely(b.p[k] > b.end[k]):
                return False
            r.p, r.end = b.p[k], b.end[k]
            use_budget(b, k, r)
            if not read_list_of_leaves(op, items, step, r):
                return False
            keep_budget(b, k, r)
            b.p[k] = r.p
            if unlikely(items.length > INT32_MAX):
                return False
        end_slot(c, items.length)
    r.depth -= 1
    return True


cdef bint read_list_of_leaves(Op* op, Column* items, Step* step, Reader* r) noexcept nogil:
    cdef Py_ssize_t least = op.parts[0].min_size + (op.kind == READ_MAP)
    cdef const uint8_t* block_end = NULL
    cdef int64_t count
    while True:
        count = read_count(op, least, &block_end, r)
        if count <= 0:
            return count == 0
        if not (read_entries(op.parts[0], items, count, step, r) if op.kind == READ_MAP
                else read_leaves(op.parts[0], items, count, step, r)):
            return False
        if not ends_block(r, block_end):
            return False


cdef inline const uint8_t* read_text(Column* c, bint wide, const uint8_t* p, Reader* r) noexcept nogil:
    """Append a text; returns its end, or NULL. With ``wide``, longer ones are usual."""
    cdef int64_t size
    if not wide:
        if likely(r.limit - p > SNS_SHORT and p[0] <= 2 * SNS_SHORT and not p[0] & 1 and p[0] >> 1 < r.end - p
                  and put_short(c, p + 1, p[0] >> 1)):
            return p + 1 + (p[0] >> 1)
    elif likely(r.limit - p > SNS_MEDIUM and not p[0] & 0x81 and p[0] >> 1 < r.end - p
                and c.room - c.used >= SNS_MEDIUM and c.length < c.capacity):
        size = p[0] >> 1
        if likely(sns_copy_medium(c.data + c.used, p + 1, size)):
            c.used += size
            end_slot(c, c.used)
            return p + 1 + size
    return read_long_text(&TEXT, c, p, r.end, r)


cdef inline bint is_wide(const Column* c) noexcept nogil:
    """Whether its texts so far are so long that it is best to expect others of more than 32 bytes."""
    return c.used >> 4 > c.length


cdef bint read_leaves(Op* item, Column* c, int64_t count, Step* step, Reader* r) noexcept nogil:
    """Append so many items of one row."""
    cdef const uint8_t* p = r.p
    cdef const uint8_t* end = r.end
    cdef int64_t* out
    cdef uint64_t value = 0
    cdef bint wide = is_wide(c)
    cdef int64_t i
    if item.kind == READ_STRING:
        for i in range(count):
            p = read_text(c, wide, p, r)
            if unlikely(p is NULL):
                return False
    elif item.kind == READ_LONG:
        if not has_slots(c, count):
            return False
        out = <int64_t*>c.data + c.length
        for i in range(count):
            p = sns_get_wide_varint(p, end, &value)
            if unlikely(p is NULL):
                return False
            out[i] = sns_unzigzag(value)
        c.length += count
    else:
        return read_values(&item, count, 0, step, 0, r)
    r.p = p
    return True


cdef bint read_entries(Op* item, Column* entries, int64_t count, Step* step, Reader* r) noexcept nogil:
    """Append so many keys and values of one row."""
    cdef Column* keys = entries.children
    cdef Column* values = keys + 1
    cdef const uint8_t* p = r.p
    cdef bint wide = is_wide(values)
    cdef int64_t i
    if not has_slots(entries, count):
        return False
    for i in range(count):
        p = read_text(keys, False, p, r)
        if unlikely(p is NULL):
            return False
        if item.kind == READ_STRING:
            p = read_text(values, wide, p, r)
        elif item.kind == READ_LONG:
            p = read_long(values, p, r.end, r)
        else:
            r.p = p
            p = r.p if read_values(&item, 1, 0, step, 0, r) else NULL
        if unlikely(p is NULL):
            return False
    entries.length += count
    r.p = p
    return True


cdef bint count_items(Op* op, Lists* lists, uint64_t nulls, Block* b, Reader* r) noexcept nogil:
    """Read the number of items of each row. Lists in several parts are unusual."""
    cdef Py_ssize_t least = op.parts[0].min_size + (op.kind == READ_MAP)
    cdef int k
    lists.total = 0
    for k in range(b.count):
        lists.first[k], lists.count[k] = lists.total, 0
        if nulls >> k & 1:
            continue
        if unlikely(b.p[k] > b.end[k]):
            return False
        r.p, r.end = b.p[k], b.end[k]
        use_budget(b, k, r)
        lists.count[k] = read_count(op, least, &lists.declared[k], r)
        keep_budget(b, k, r)
        if unlikely(lists.count[k] < 0):
            return False
        lists.total += lists.count[k]
        b.p[k] = r.p
    lists.base = b.p[0]
    return lists.total <= MOST_ITEMS


cdef bint find_items(Op* op, const Lists* lists, Block* b, Reader* r) noexcept nogil:
    """Find out where each item is, by skipping them all."""
    cdef Block lane                     # the rows with more items; ``row`` is that in ``b``
    cdef int64_t item = 0, least
    cdef int k
    lane.count, lane.counted = b.count, False
    memcpy(lane.p, b.p, b.count * sizeof(lane.p[0]))
    memcpy(lane.end, b.end, b.count * sizeof(lane.end[0]))
    for k in range(b.count):
        lane.row[k] = <uint8_t>k
    r.empty_left = r.items_left = r.slots_left = INT64_MAX      # they are counted when they are read
    while True:
        least = leave_lane(&lane, lists, item, b)
        if lane.count == 0:
            return True
        while item < least:
            if not (note_starts(&lane, lists, b, item, r.places) and skip_fields_of_all(op.parts[1], &lane, r)):
                return False
            for k in range(lane.count):     # in a function of its own, gcc 12 takes these stores for dead ones
                r.places[lists.first[lane.row[k]] + item].end = <uint16_t>(lane.p[k] - lists.base)
            item += 1


cdef int64_t leave_lane(Block* lane, const Lists* lists, int64_t item, Block* b) noexcept nogil:
    """Keep the rows with more than ``item`` items; others are behind their last one. Returns how many all of them have."""
    cdef int64_t least = INT64_MAX
    cdef int i, k, count = 0
    for i in range(lane.count):         # without branches, since all of them would be surprising
        k = lane.row[i]
        b.p[k] = lane.p[i]
        lane.p[count], lane.end[count], lane.row[count] = lane.p[i], lane.end[i], lane.row[i]
        count += lists.count[k] > item
        least = min(least, lists.count[k] if lists.count[k] > item else INT64_MAX)
    lane.count = count
    return least


cdef bint note_starts(const Block* lane, const Lists* lists, const Block* b, int64_t item, Item* items) noexcept nogil:
    """Note where an item of each row starts. False if one does behind its message: there may be far more bytes there."""
    cdef bint odd = False
    cdef Item* one
    cdef int i
    for i in range(lane.count):
        odd |= lane.p[i] > lane.end[i]
        one = &items[lists.first[lane.row[i]] + item]
        one.start, one.row = <uint16_t>(lane.p[i] - lists.base), b.row[lane.row[i]]
    return not odd


cdef bint read_items(Op* op, Column* c, Step* step, const Lists* lists, Block* b, Reader* r) noexcept nogil:
    """Append the items of all rows, in blocks."""
    cdef const Item* item = r.places
    cdef Block items
    cdef int64_t left = lists.total
    cdef int i
    items.counted, items.left = b.counted, b.left
    while left:
        items.count = <int>min(left, <int64_t>BLOCK_ROWS)
        left -= items.count
        for i in range(items.count):
            items.p[i], items.end[i] = lists.base + item.start, lists.base + item.end
            items.row[i] = <uint8_t>item.row
            item += 1
        if not read_block_of_items(op, c, step, &items, r):
            return False
    return True


cdef bint read_block_of_items(Op* op, Column* c, Step* step, Block* items, Reader* r) noexcept nogil:
    """Append items, each of which has to end where it was found to end."""
    cdef Op* item = op.parts[0]
    cdef Column* values = c
    cdef uint64_t nulls = 0
    cdef int k
    if op.kind == READ_MAP:
        values = &c.children[1]
        if not has_slots(c, items.count) or not has_slots(&c.children[0], items.count):
            return False
        if not read_texts(&TEXT, &c.children[0], 0, items, r):
            return False
        c.length += items.count
    if item.null_index >= 0 and not read_branches(item, items, &nulls, r.limit):
        return False
    if not read_field_of_all(item, values, nulls, step, items, r):
        return False
    for k in range(items.count):
        if unlikely(items.p[k] != items.end[k]):
            return False
    return True


cdef bint end_lists(const Lists* lists, Block* b) noexcept nogil:
    """Pass the ends of lists: those of no items are read."""
    cdef int k
    for k in range(b.count):
        if lists.count[k]:
            if unlikely(b.p[k] >= b.end[k] or b.p[k][0] or (lists.declared[k] is not NULL
                                                          and lists.declared[k] != b.p[k])):
                return False
            b.p[k] += 1
    return True


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
