# Gives the children of null structs their slots, which they have none for while a batch is built (columns.pyx).

cdef enum:
    MOST_WIDTH = 16             # bytes of a slot

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
    cdef int64_t* places = <int64_t*>malloc(max(count, 1) * (sizeof(int64_t) + MOST_WIDTH))
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
    cdef int64_t i
    memcpy(slots, c.data, count * c.width)
    memset(c.data, 0, rows * c.width)
    if c.width == 8:
        for i in range(count):
            (<uint64_t*>c.data)[places[i]] = (<uint64_t*>slots)[i]
    elif c.width == 4:
        for i in range(count):
            (<uint32_t*>c.data)[places[i]] = (<uint32_t*>slots)[i]
    else:
        for i in range(count):
            memcpy(c.data + places[i] * c.width, slots + i * c.width, c.width)


cdef void spread_bits(uint8_t* bitmap, const int64_t* places, int64_t count, int64_t rows) noexcept nogil:
    cdef uint8_t* bits = <uint8_t*>(places + count)
    cdef int64_t i
    memcpy(bits, bitmap, (count + 7) >> 3)
    memset(bitmap, 0, (rows + 7) >> 3)
    for i in range(count):
        bitmap[places[i] >> 3] |= <uint8_t>((bits[i >> 3] >> (i & 7) & 1) << (places[i] & 7))


cdef void spread_offsets(Column* c, const int64_t* places, int64_t count, int64_t rows) noexcept nogil:
    """From the last slot on, so that none is overwritten before it is read: a place is never before its slot."""
    cdef int64_t i = count, row = rows, offset
    cdef int64_t* large = <int64_t*>c.offsets
    cdef int32_t* small = <int32_t*>c.offsets
    while row > 0:
        offset = large[i] if c.large else small[i]
        i -= 1
        while row > (places[i] if i >= 0 else 0):
            if c.large:
                large[row] = offset
            else:
                small[row] = <int32_t>offset
            row -= 1


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
