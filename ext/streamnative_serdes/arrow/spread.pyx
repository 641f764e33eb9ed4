# Gives the children of null structs their slots, which they have none for while a batch is built (columns.pyx).

cdef enum:
    MOST_WIDTH = 16             # bytes of a slot
    SPREAD_ROWS = 512           # whose slots stay in the processor's first cache
    FILLED = 8                  # offsets at a time

cdef bint spread_structs(Column* c) noexcept nogil:
    """Do so in this column and all below. False if out of memory; then the columns can only be freed."""
    cdef int64_t* places = NULL         # and behind them, memory for as many slots of any column
    cdef bint done = True
    cdef int i
    if c.storage == LIST:
        return spread_structs(&c.children[0])
    if c.storage != STRUCT:
        return True
    if c.nulls:
        places = places_of(c.valid, c.length, c.length - c.nulls)
        if places is NULL:
            return False
    for i in range(c.count):
        done = done and (spread_structs(&c.children[i]) if places is NULL
                         else move_slots(&c.children[i], c.valid, places, c.length))
    free(places)
    return done


cdef int64_t* places_of(const uint8_t* there, int64_t rows, int64_t count) noexcept nogil:
    """Return the places of the ``count`` bits that are set among the first ``rows``, which the caller frees.

    Behind them there is room for as many slots.
    """
    cdef int64_t* places = <int64_t*>malloc((count + 1) * (sizeof(int64_t) + MOST_WIDTH))
    cdef int64_t* next = places
    cdef int64_t row
    cdef uint8_t bits
    if places is NULL:
        return NULL
    for row in range(0, rows, 8):
        bits = there[row >> 3]
        if rows - row < 8:
            bits &= (1 << (rows - row)) - 1
        while bits:
            next[0] = row + sns_first_bit(bits)
            next += 1
            bits &= bits - 1
    return places


cdef bint move_slots(Column* c, const uint8_t* there, const int64_t* places, int64_t rows) noexcept nogil:
    """Move the slots of a column to their ``places`` among ``rows``, the bits of ``there``; the others are null."""
    cdef int64_t count = c.length
    cdef int i
    if rows > c.capacity and not resize(c, rows):
        return False
    if c.storage == FIXED_WIDTH:
        spread_slots(c, places, count, rows)
    elif c.storage == BITS:
        spread_bits(c.data, places, count, rows)
    elif c.storage == VARIABLE or c.storage == LIST:
        spread_offsets(c, places, count, rows)
    c.length = rows
    if c.storage == NOTHING:
        c.nulls = rows
    elif c.nullable:
        return spread_valid(c, there, places, count) and spread_structs(c)
    for i in range(c.count if c.storage == STRUCT else 0):      # null together with the struct around it
        if not move_slots(&c.children[i], there, places, rows):
            return False
    return c.storage != LIST or spread_structs(c)


cdef void spread_slots(Column* c, const int64_t* places, int64_t count, int64_t rows) noexcept nogil:
    cdef uint8_t* slots = <uint8_t*>(places + count)
    cdef int64_t i = 0, row = 0, end
    memcpy(slots, c.data, count * c.width)
    while row < rows:
        end = min(row + SPREAD_ROWS, rows)
        memset(c.data + row * c.width, 0, (end - row) * c.width)
        while i < count and places[i] < end:
            if c.width == 8:
                (<uint64_t*>c.data)[places[i]] = (<uint64_t*>slots)[i]
            elif c.width == 4:
                (<uint32_t*>c.data)[places[i]] = (<uint32_t*>slots)[i]
            else:
                memcpy(c.data + places[i] * c.width, slots + i * c.width, c.width)
            i += 1
        row = end


cdef void spread_bits(uint8_t* bitmap, const int64_t* places, int64_t count, int64_t rows) noexcept nogil:
    cdef uint8_t* bits = <uint8_t*>(places + count)
    cdef int64_t i
    memcpy(bits, bitmap, (count + 7) >> 3)
    memset(bitmap, 0, (rows + 7) >> 3)
    for i in range(count):
        bitmap[places[i] >> 3] |= <uint8_t>((bits[i >> 3] >> (i & 7) & 1) << (places[i] & 7))


cdef void spread_offsets(Column* c, const int64_t* places, int64_t count, int64_t rows) noexcept nogil:
    if c.large:
        fill_offsets(c.offsets, True, places, count, rows)
    else:
        fill_offsets(c.offsets, False, places, count, rows)


cdef inline void fill_offsets(uint8_t* offsets, bint large, const int64_t* places, int64_t count,
                              int64_t rows) noexcept nogil:
    """Let the slots between two places begin where that of the second one does."""
    cdef uint8_t* before = <uint8_t*>(places + count)       # one offset more than there are places
    cdef int64_t i, row = 0, end, offset
    cdef int j
    memcpy(before, offsets, (count + 1) * (8 if large else 4))
    for i in range(count + 1):
        end = places[i] + 1 if i < count else rows + 1
        offset = (<const int64_t*>before)[i] if large else (<const int32_t*>before)[i]
        while row < end:
            if likely(rows - row >= FILLED):        # perhaps behind the end, where others are written next
                for j in range(FILLED):
                    put_offset(offsets, large, row + j, offset)
                row += FILLED
            else:
                put_offset(offsets, large, row, offset)
                row += 1
        row = end


cdef bint spread_valid(Column* c, const uint8_t* there, const int64_t* places, int64_t count) noexcept nogil:
    cdef uint8_t* valid = c.valid
    cdef int64_t i
    c.valid = NULL
    if not begin_valid(c):
        c.valid = valid
        return False
    memcpy(c.valid, there, (c.length + 7) >> 3)
    for i in range(count if c.nulls else 0):
        c.valid[places[i] >> 3] &= <uint8_t>~((~valid[i >> 3] >> (i & 7) & 1) << (places[i] & 7))
    c.nulls += c.length - count
    drop(c, valid)
    return True
