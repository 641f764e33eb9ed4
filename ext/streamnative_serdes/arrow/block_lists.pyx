# Decodes arrays and maps in a block of messages (blocks.pyx).
#
# Where the items are is found out by skipping them: the first of all rows, then the second, and so on. Then they make
# blocks, in the order of the rows. Items that are leaves are read at once: to find them takes as long.

cdef enum:
    MOST_ITEMS = BLOCK_BYTES    # of a block of messages: each takes a byte

cdef Op TEXT  # of a map's keys
TEXT.kind, TEXT.null_index = READ_STRING, -1

cdef struct Lists:              # of each row
    int64_t count[BLOCK_ROWS]           # items
    int64_t first[BLOCK_ROWS]           # its first item among all of them
    const uint8_t* declared[BLOCK_ROWS]  # end that the message declares, or NULL
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


cdef struct Texts:              # where a column of texts ends: what a loop keeps in registers
    uint8_t* data
    uint8_t* offsets
    int64_t used, room, slot
    bint large


cdef inline Texts end_of(const Column* c) noexcept nogil:
    cdef Texts out
    out.data, out.offsets, out.used, out.room, out.slot, out.large = (
        c.data, c.offsets, c.used, c.room, c.length, c.large)
    return out


cdef inline void set_end(Column* c, const Texts* texts) noexcept nogil:
    c.used, c.length = texts.used, texts.slot


cdef inline const uint8_t* read_text(Column* c, Texts* texts, bint wide, const uint8_t* p, Reader* r) noexcept nogil:
    """Append a text, for which there is a slot; returns its end, or NULL. With ``wide``, longer ones are usual."""
    cdef int most = SNS_MEDIUM if wide else SNS_SHORT
    cdef int64_t size
    if likely(r.limit - p > most and texts.room - texts.used >= most):
        size = p[0] >> 1
        if (likely(p[0] <= (2 * SNS_MEDIUM - 1 if wide else 2 * SNS_SHORT) and not p[0] & 1 and size < r.end - p)
                and likely(sns_copy_medium(texts.data + texts.used, p + 1, size) if wide
                           else sns_copy_short(texts.data + texts.used, p + 1, size))):
            texts.used += size
            texts.slot += 1
            put_offset(texts.offsets, texts.large, texts.slot, texts.used)
            return p + 1 + size
    set_end(c, texts)
    p = read_long_text(&TEXT, c, p, r.end, r)
    texts[0] = end_of(c)
    return p


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
    cdef Texts texts
    cdef int64_t i, _
    if item.kind == READ_STRING:
        if not has_slots(c, count):
            return False
        texts = end_of(c)
        for _ in range(count):
            p = read_text(c, &texts, wide, p, r)
            if unlikely(p is NULL):
                return False
        set_end(c, &texts)
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
    # The kind is a constant in each call, so that compilers make a loop for each of them.
    if item.kind == READ_STRING:
        return read_pairs(item, READ_STRING, entries, count, step, r)
    elif item.kind == READ_LONG:
        return read_pairs(item, READ_LONG, entries, count, step, r)
    return read_pairs(item, READ_NULL, entries, count, step, r)


cdef inline bint read_pairs(Op* item, int kind, Column* entries, int64_t count, Step* step, Reader* r) noexcept nogil:
    """The same; ``kind`` is READ_NULL for values that have no code here."""
    cdef Column* keys = entries.children
    cdef Column* values = keys + 1
    cdef const uint8_t* p = r.p
    cdef const uint8_t* end = r.end
    cdef uint64_t value = 0
    cdef bint wide = is_wide(values)
    cdef Texts first, second
    cdef int64_t* out = NULL
    cdef int64_t i
    if not (has_slots(entries, count) and has_slots(keys, count) and has_slots(values, count)):
        return False
    first, second = end_of(keys), end_of(values)
    if kind == READ_LONG:
        out = <int64_t*>values.data + values.length
    for i in range(count):
        p = read_text(keys, &first, False, p, r)
        if unlikely(p is NULL):
            return False
        if kind == READ_STRING:
            p = read_text(values, &second, wide, p, r)
        elif kind == READ_LONG:
            p = sns_get_wide_varint(p, end, &value)
            out[i] = sns_unzigzag(value)
        else:
            r.p = p
            p = r.p if read_values(&item, 1, 0, step, 0, r) else NULL
        if unlikely(p is NULL):
            return False
    set_end(keys, &first)
    if kind == READ_STRING:
        set_end(values, &second)
    elif kind == READ_LONG:
        values.length += count
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
    """Keep the rows with more than ``item`` items; others are behind their last one. Returns how many all have."""
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
    """Note where an item of each row starts. False if one does behind its message: more may be there than fits."""
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
            if unlikely(b.p[k] >= b.end[k] or b.p[k][0]):
                return False
            if lists.declared[k] is not NULL and lists.declared[k] != b.p[k]:
                return False
            b.p[k] += 1
    return True
