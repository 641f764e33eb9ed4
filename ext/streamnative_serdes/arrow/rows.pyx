# The loop over the rows of a batch, without the GIL: which messages make a block (blocks.pyx), which are read one by
# one, which route reads a message, and when one is read without a header.

cdef int64_t read_rows(Batch batch, int64_t row, int* why) noexcept nogil:
    """Decode rows from ``row`` on, without the GIL. Returns the row where it stopped."""
    cdef BytesArray rows = batch.rows   # a copy that no pointer reaches stays in registers
    cdef const uint8_t* p
    cdef int64_t size = 0, first = batch.done
    cdef Route* route = NULL
    cdef uint8_t[HEADER_SIZE] head      # of the last message, if messages have headers
    cdef bint headed = False            # a message with the same header, or without one, is read by ``route`` too
    cdef int count
    why[0] = DONE
    while row < rows.length:
        if headed and route.blocks and first + row >= batch.alone and rows.limit is not NULL:
            count = read_next_block(batch, row, head, route)
            if count:
                route.rows += count
                row += count
                continue
        batch.row, batch.absent = first + row, not is_valid(rows.valid, rows.offset + row)
        if unlikely(batch.absent):
            if not has_key(batch, batch.row):
                if put_null(batch.columns):
                    return stop_at(batch, row, why)
                row += 1
                continue
            p, size = &NO_MESSAGE, 0
        elif likely(rows.how == SMALL_OFFSETS):
            p = small_bytes_at(&rows, row, &size)
        else:
            p = bytes_at(&batch.rows, row, &size)
        # Mostly the header is that of the message before. Compared as a whole, it need not be read before the body is.
        if not (headed and (not batch.framed or has_head(p, size, head))):
            headed = False
            batch.version = version_of(p, size) if batch.framed else HEADERLESS
            if unlikely(batch.signs and batch.version == HEADERLESS):
                why[0] = read_bare(batch, p, size, row)
                if why[0] == BARE or why[0] == FAILED or why[0] == NEW_SIGN:
                    return row
                if why[0] == DONE:
                    row += 1
                    continue
                why[0] = DONE
            route = &batch.routes[batch.version & (ROUTES - 1)]
            if unlikely(not route.there or route.version != batch.version):
                route = route_of(batch, batch.version)
                if route is NULL:
                    why[0] = UNKNOWN
                    return row
            # What shows a sign of Confluent's may be shorter, and be read in other ways.
            headed = batch.version >= 0 or not (batch.framed or batch.signs)
            if batch.version >= 0:
                memcpy(head, p, HEADER_SIZE)
        set_bytes(batch, p + route.offset, p + size)
        if unlikely(route.root is NULL or not read_row(batch, route.root, &route.trailing)):
            why[0] = FAILED
            return row
        route.rows += 1
        row += 1
        if unlikely(route.other is not NULL):
            route.ambiguous += is_datum(batch, route.other, p, p + size)
    return row


# Blocks of messages of one schema version

cdef int read_next_block(Batch batch, int64_t row, const uint8_t* head, const Route* route) noexcept nogil:
    """Decode the messages from ``row`` on column by column. Returns how many; 0: they have to be read one by one."""
    cdef int count = find_block(batch, &batch.rows, row, head, route.offset)
    if count < LEAST_ROWS:
        batch.alone = batch.done + row + max(count, 1)
        return 0
    if likely(reads_block(batch, route)):
        batch.refused = 0
        batch.in_blocks += count
        return count
    # Where many messages are damaged, blocks are tried ever more rarely.
    batch.refused = min(batch.refused + 1, MOST_REFUSED)
    batch.alone = batch.done + row + (<int64_t>count << batch.refused)
    return 0


cdef int find_block(Batch batch, const BytesArray* rows, int64_t row, const uint8_t* head,
                    int64_t offset) noexcept nogil:
    """Find the messages from ``row`` on that make a block: with the header ``head``, if messages have headers.

    ``offset``: of the datum in a message. Returns how many there are.
    """
    cdef Block* b = &batch.block
    cdef int count = 0, most = <int>min(rows.length - row, <int64_t>BLOCK_ROWS)
    cdef int64_t size = 0, left = BLOCK_BYTES
    cdef bint framed = batch.framed, small = rows.how == SMALL_OFFSETS
    cdef const uint8_t* p
    if small and rows.valid is NULL and are_short(rows, row, most):
        b.count = find_short(b, rows, row, most, head if framed else NULL, offset)
        return b.count
    while count < most and is_valid(rows.valid, rows.offset + row + count):
        p = (small_bytes_at(rows, row + count, &size) if small
             else other_bytes_at(rows, rows.offset + row + count, &size))
        left -= size
        if left < 0 or (framed and not has_head(p, size, head)):
            break
        b.p[count], b.end[count] = p + offset, p + size
        if size >= LEAST_PREFETCHED:
            prefetch_all(p + BLOCK_BYTES, size)
        count += 1
    b.count = count
    return count


cdef inline bint are_short(const BytesArray* rows, int64_t row, int count) noexcept nogil:
    """Whether all of the messages make a block, and none is worth prefetching."""
    cdef const int32_t* offsets = <const int32_t*>rows.slots + rows.offset + row
    return offsets[count] - offsets[0] < count * LEAST_PREFETCHED and count * LEAST_PREFETCHED <= BLOCK_BYTES


cdef int find_short(Block* b, const BytesArray* rows, int64_t row, int most, const uint8_t* head,
                    int64_t offset) noexcept nogil:
    """As find_block, of messages without nulls that are short on average."""
    cdef const int32_t* offsets = <const int32_t*>rows.slots + rows.offset + row
    cdef const uint8_t* data = rows.data
    cdef const uint8_t* p
    cdef int count = 0
    while count < most:
        p = data + offsets[count]
        if head is not NULL and not has_head(p, offsets[count + 1] - offsets[count], head):
            break
        b.p[count], b.end[count] = p + offset, data + offsets[count + 1]
        count += 1
    return count


cdef inline bint has_head(const uint8_t* p, int64_t size, const uint8_t* head) noexcept nogil:
    return likely(size >= HEADER_SIZE and memcmp(p, head, HEADER_SIZE) == 0)


cdef inline void prefetch_all(const uint8_t* p, int64_t size) noexcept nogil:
    """Prefetch bytes of the next block: its first fields lie too far apart for the processor to foresee them."""
    cdef int64_t at = 0
    while at < size:
        prefetch(p + at)
        at += CACHE_LINE


cdef bint reads_block(Batch batch, const Route* route) noexcept nogil:
    """Decode the messages of the block. After False nothing has changed."""
    cdef Reader* r = &batch.r
    cdef int64_t before = batch.columns.length
    batch.absent = False
    batch.pool = r.batch_slots_left
    r.depth, r.fault, r.limit = 0, NO_FAULT, batch.rows.limit
    r.empty_left, r.items_left = batch.empty, batch.items
    if likely(read_block(route.root, batch.columns + route.root.column, &batch.block, batch.left,
                         &route.trailing, r)):
        return True
    truncate(batch.columns, before)
    r.batch_slots_left = batch.pool
    return False


cdef Route* route_of(Batch batch, int64_t version) noexcept nogil:
    """The route of a version, or NULL if it has none."""
    cdef Route* route
    cdef int i
    for i in range(PROBES):
        route = &batch.routes[(version + i) & (ROUTES - 1)]
        if route.there and route.version == version:
            return route
    return NULL


cdef Route* route_for(Batch batch, int64_t version) noexcept:
    """Where the route of a version is, or goes: the first of its places if all of them are taken."""
    cdef Route* route = route_of(batch, version)
    cdef int i
    if route is not NULL:
        return route
    for i in range(PROBES):
        route = &batch.routes[(version + i) & (ROUTES - 1)]
        if not route.there:
            return route
    return &batch.routes[version & (ROUTES - 1)]


# Messages without our header, where other framings are read too.

cdef int read_bare(Batch batch, const uint8_t* p, int64_t size, int64_t row) noexcept nogil:
    """Read a message without a header first, if that is the order of its two readings.

    Returns DONE if it is read, UNKNOWN if it is to be read under ``batch.version`` now, BARE if no route is there yet,
    NEW_SIGN if the key of its prefix is not known yet, or FAILED if memory ran out.
    """
    cdef Route* route
    batch.version = sign_of(batch, p, size, row)
    if batch.version == 0:
        return NEW_SIGN
    if batch.version == NO_FRAMING:
        batch.version = HEADERLESS if batch.bare else NO_FRAMING
        return UNKNOWN
    if not batch.bare or not (bare_first(batch.version, batch.prefix_second)
                              or (prefix_of(batch.version) > 0 and batch.unknown >= MOST_UNKNOWN)):
        return UNKNOWN
    if not batch.bare_route.there:
        return BARE
    if batch.bare_route.root is NULL:
        return UNKNOWN
    set_bytes(batch, p, p + size)
    if read_row(batch, batch.bare_route.root, &batch.bare_route.trailing):
        batch.bare_route.rows += 1
        route = route_of(batch, batch.version)
        if route is not NULL and route.own is not NULL:
            route.ambiguous += is_datum(batch, route.own, p + prefix_of(batch.version), p + size)
        return DONE
    if batch.r.fault == NO_MEMORY:
        return FAILED
    truncate(batch.columns, batch.done + row)
    batch.r.batch_slots_left = batch.pool
    return UNKNOWN


cdef inline int64_t sign_of(Batch batch, const uint8_t* p, int64_t size, int64_t row) noexcept nogil:
    """The key of the sign that a message shows, NO_FRAMING without one, or 0 if that is not known yet."""
    cdef int64_t number
    if batch.keyed and batch.keys[batch.done + row]:
        return batch.keys[batch.done + row]
    if batch.foreign:
        number = key_of_prefix(batch.prefixes, p, size)
        if number != NO_FRAMING:
            return number
    number = confluent_id_of(p, size) if batch.prefix else NO_VERSION
    return NO_FRAMING if number == NO_VERSION else FIRST_PREFIXED + number


cdef inline Op* skipper(Plan plan) noexcept:
    return NULL if plan.skipped < 0 else plan.ops + plan.skipped


cdef bint is_datum(Batch batch, Op* op, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether the bytes are one datum, as a whole."""
    cdef Reader* r = &batch.r
    r.p, r.end, r.depth, r.fault = p, end, 0, NO_FAULT
    r.empty_left, r.items_left = batch.empty, batch.items
    return skip_value(op, r) and r.p == r.end


cdef int64_t stop_at(Batch batch, int64_t row, int* why) noexcept nogil:
    batch.r.fault = NO_MEMORY
    why[0] = FAILED
    return row


cdef inline void set_bytes(Batch batch, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Let the reader read the current row from ``p`` to ``end``."""
    batch.r.p, batch.r.end = p, end
    batch.r.limit = end if batch.rows.limit is NULL or batch.absent else batch.rows.limit


cdef inline bint read_row(Batch batch, Op* root, const bint* trailing) noexcept nogil:
    """Decode the message from ``r.p`` to ``r.end``, all of which it must take up unless trailing bytes are allowed.

    After a fault, slots of the message remain in the columns. ``trailing`` is read only if there are extra bytes.
    """
    cdef Reader* r = &batch.r
    r.depth, r.fault = 0, NO_FAULT
    r.empty_left, r.items_left = batch.empty, batch.items
    r.slots_left = (r.end - r.p) * FREE_SLOTS
    batch.pool = r.batch_slots_left
    if likely(root.kind == READ_RECORD and root.null_index < 0):
        if unlikely(not read_record(root, batch.columns + root.column, r)):
            return False
    elif root.kind == READ_INLINE or root.kind == READ_SEPARATED:
        return read_pair(batch, root, trailing)
    elif unlikely(not read_values(&root, 1, 0, &r.outside, 0, r)):
        return False
    if unlikely(r.p != r.end and not trailing[0]):
        r.depth = 0
        return fail(r, TRAILING, r.end - r.p)
    if batch.wrapped:
        if not has_room(batch.columns, r):
            return False
        batch.columns.length += 1
    return True
