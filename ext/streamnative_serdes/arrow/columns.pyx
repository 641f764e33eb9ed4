# Columns and their slots: append, append null, truncate after a row that failed, and export the result as Arrow arrays.
# Included by each module that builds arrays. Buffers come from malloc, since consumers may free them without the GIL.
#
# A column has no null bitmap until its first null. Bits beyond the length of a bitmap are always 1.
#
# While a struct grows, its children have slots only for those of its slots that are not null: so a null costs the same,
# however many columns are below. spread.pyx gives them the others before the export.

cdef enum:
    LEAST_SLOTS = 64            # initial capacity of a column of items
    LEAST_BYTES = 1024          # initial capacity for text or bytes
    MOST_EXPECTED = 1 << 20     # slots or bytes that are extrapolated
    KEPT_BYTES = 31 << 20       # glibc adapts its thresholds to freed blocks of up to 32 MB

cdef enum Storage:              # how a column stores its slots, besides the null bitmap
    NOTHING                     # the null type
    BITS
    FIXED_WIDTH
    VARIABLE                    # offsets, and bytes
    LIST                        # offsets into the one child; a map is a list of entries
    STRUCT                      # one slot in each child

cdef enum:                      # why nothing was appended; other faults have higher numbers
    NO_FAULT
    NO_MEMORY
    OVERFLOW                    # of 32-bit offsets

cdef struct Slab:               # one block for buffers of many columns, from which they take what they need
    uint8_t* start
    uint8_t* next
    uint8_t* end

cdef struct Column:
    int64_t length
    int64_t capacity            # slots
    int64_t nulls
    uint8_t* valid              # null bitmap, or NULL while there are no nulls
    uint8_t* data               # bits, slots of ``width`` bytes, or the bytes of VARIABLE
    uint8_t* offsets            # VARIABLE and LIST: capacity + 1 offsets of 32 bits, or of 64 bits if ``large``
    int64_t used, room          # VARIABLE: bytes
    Column* children
    int count
    int storage
    int width
    bint nullable
    bint large
    Slab* slab                  # or NULL


cdef bint begin_offsets(Column* columns, int count) noexcept nogil:
    cdef int i
    for i in range(count):
        if columns[i].storage == VARIABLE or columns[i].storage == LIST:
            if columns[i].offsets is NULL and not resize(&columns[i], 0):
                return False
            memset(columns[i].offsets, 0, 8 if columns[i].large else 4)
    return True


cdef void free_columns(Column* columns, int count) noexcept nogil:
    cdef int i
    for i in range(count):
        drop(&columns[i], columns[i].valid)
        drop(&columns[i], columns[i].data)
        drop(&columns[i], columns[i].offsets)
    if count and columns[0].slab is not NULL:
        free(columns[0].slab.start)
    free(columns)


sns_keep_freed_memory(KEPT_BYTES)


# --- memory -----------------------------------------------------------------------------------------------------------

cdef inline bint is_in_slab(const Column* c, const uint8_t* buffer) noexcept nogil:
    return c.slab is not NULL and c.slab.start <= buffer < c.slab.end


cdef inline void drop(const Column* c, uint8_t* buffer) noexcept nogil:
    if not is_in_slab(c, buffer):
        sns_free(buffer)


cdef inline int64_t padded(int64_t size) noexcept nogil:
    return (size + 63) & ~63


cdef uint8_t* resized(Column* c, uint8_t* buffer, int64_t used, int64_t size) noexcept nogil:
    """Return the buffer with room for ``size`` bytes, and its first ``used`` bytes as they were; or NULL."""
    cdef uint8_t* made
    if buffer is NULL and c.slab is not NULL and size <= c.slab.end - c.slab.next:
        made = c.slab.next
        c.slab.next += min(padded(size), c.slab.end - made)
        return made
    if not is_in_slab(c, buffer):
        return <uint8_t*>sns_resized(buffer, size)
    made = <uint8_t*>sns_resized(NULL, size)
    if made is not NULL:
        memcpy(made, buffer, used)
    return made


# --- room -------------------------------------------------------------------------------------------------------------

cdef bint resize(Column* c, int64_t capacity) noexcept nogil:
    """Grow to ``capacity`` slots, never fewer than before. False if out of memory; then nothing has changed."""
    cdef int64_t before = c.capacity, bits = (capacity + 7) >> 3, bits_before = (before + 7) >> 3
    cdef uint8_t* made
    if c.storage == FIXED_WIDTH or c.storage == BITS:
        made = (resized(c, c.data, bits_before, max(bits, 1)) if c.storage == BITS
                else resized(c, c.data, before * c.width, max(capacity * c.width, 1)))
        if made is NULL:
            return False
        c.data = made
        if c.storage == BITS:
            memset(made + bits_before, 0, bits - bits_before)
    elif c.storage == VARIABLE or c.storage == LIST:
        made = resized(c, c.offsets, (before + 1) * (8 if c.large else 4), (capacity + 1) * (8 if c.large else 4))
        if made is NULL:
            return False
        c.offsets = made
    if c.valid is not NULL:
        made = resized(c, c.valid, bits_before, max(bits, 1))
        if made is NULL:
            return False
        c.valid = made
        memset(made + bits_before, 0xFF, bits - bits_before)
    c.capacity = capacity
    return True


cdef bint resize_bytes(Column* c, int64_t room) noexcept nogil:
    cdef uint8_t* made = resized(c, c.data, c.used, max(room, 1))
    if made is NULL:
        return False
    c.data, c.room = made, room
    return True


cdef bint grow(Column* c) noexcept nogil:
    return resize(c, max(2 * c.capacity, LEAST_SLOTS))


cdef int grow_bytes(Column* c, int64_t more) noexcept nogil:
    """Make room for ``more`` bytes. Returns 0 or the fault."""
    cdef int64_t need = c.used + more
    cdef int64_t limit = INT64_MAX if c.large else INT32_MAX
    if need > limit:
        return OVERFLOW
    return 0 if resize_bytes(c, min(max(need, expected(c, c.used), 2 * c.room, LEAST_BYTES), limit)) else NO_MEMORY


cdef inline int64_t expected(const Column* c, int64_t used) noexcept nogil:
    """What the whole capacity takes, and an eighth more, if the slots so far take ``used``; 0 if few are known yet."""
    cdef int64_t all
    if c.length < LEAST_SLOTS or used > MOST_EXPECTED or c.capacity > INT32_MAX:
        return 0
    all = used * c.capacity / c.length
    return min(all + all / 8, <int64_t>MOST_EXPECTED)


cdef int grow_both(Column* c, int64_t size) noexcept nogil:
    """Make room for one more VARIABLE slot of ``size`` bytes. Returns 0 or the fault."""
    if not has_slot(c):
        return NO_MEMORY
    return grow_bytes(c, size) if size > c.room - c.used else 0


cdef inline bint has_slot(Column* c) noexcept nogil:
    return likely(c.length < c.capacity) or grow(c)


# --- slots ------------------------------------------------------------------------------------------------------------

cdef inline int64_t offset_of(Column* c, int64_t slot) noexcept nogil:
    return (<int64_t*>c.offsets)[slot] if c.large else (<int32_t*>c.offsets)[slot]


cdef inline void end_slot(Column* c, int64_t offset) noexcept nogil:
    """Append a slot that ends at ``offset``."""
    c.length += 1
    if c.large:
        (<int64_t*>c.offsets)[c.length] = offset
    else:
        (<int32_t*>c.offsets)[c.length] = <int32_t>offset


cdef inline int put_bytes(Column* c, const uint8_t* data, int64_t size) noexcept nogil:
    """Append a VARIABLE slot. Returns 0 or the fault."""
    cdef int fault
    if unlikely(size > c.room - c.used or c.length == c.capacity):
        fault = grow_both(c, size)
        if fault:
            return fault
    sns_copy(c.data + c.used, data, size)
    c.used += size
    end_slot(c, c.used)
    return 0


cdef inline bint put_short(Column* c, const uint8_t* data, int64_t size) noexcept nogil:
    """Append a VARIABLE slot of up to 32 bytes of ASCII, in one step. Returns False for other text, and without room.

    32 bytes are read and written, whatever the size is.
    """
    if unlikely(c.room - c.used < SNS_SHORT or c.length == c.capacity):
        return False
    if unlikely(not sns_copy_short(c.data + c.used, data, size)):
        return False                    # what was written is beyond the used bytes
    c.used += size
    end_slot(c, c.used)
    return True


cdef inline void put_bit(Column* c, bint value) noexcept nogil:
    """Append a BITS slot, whose bit is 0 so far; the caller has made room."""
    c.data[c.length >> 3] |= <uint8_t>(value << (c.length & 7))
    c.length += 1


cdef int put_null(Column* c) noexcept nogil:
    """Append a null. Returns 0 or the fault."""
    cdef int64_t slot = c.length
    cdef int fault = put_blank(c)
    if fault:
        return fault
    c.nulls += 1
    if c.storage == NOTHING:
        return 0
    if c.valid is NULL and not begin_valid(c):
        return NO_MEMORY
    c.valid[slot >> 3] &= <uint8_t>~(1 << (slot & 7))
    return 0


cdef bint begin_valid(Column* c) noexcept nogil:
    """Allocate the null bitmap, without nulls."""
    cdef int64_t size = max((c.capacity + 7) >> 3, 1)
    c.valid = resized(c, NULL, 0, size)
    if c.valid is NULL:
        return False
    memset(c.valid, 0xFF, size)
    return True


cdef int put_blank(Column* c) noexcept nogil:
    """Append a slot of zeros. Returns 0 or the fault."""
    if not has_slot(c):
        return NO_MEMORY
    if c.storage == FIXED_WIDTH:
        memset(c.data + c.length * c.width, 0, c.width)
    elif c.storage == BITS:
        put_bit(c, False)
        return 0
    elif c.storage == VARIABLE or c.storage == LIST:
        end_slot(c, offset_of(c, c.length))
        return 0
    c.length += 1
    return 0


cdef void truncate(Column* c, int64_t length) noexcept nogil:
    """Remove all slots from ``length`` on, in this column and its children; a column not reached yet has fewer."""
    cdef int i
    while c.length > length:
        c.length -= 1
        if c.storage == BITS:
            c.data[c.length >> 3] &= <uint8_t>~(1 << (c.length & 7))
        if c.valid is not NULL and not c.valid[c.length >> 3] >> (c.length & 7) & 1:
            c.valid[c.length >> 3] |= <uint8_t>(1 << (c.length & 7))
            c.nulls -= 1
    if c.storage == NOTHING:
        c.nulls = c.length
    elif c.storage == VARIABLE:
        c.used = offset_of(c, c.length)
    elif c.storage == LIST:
        truncate(&c.children[0], offset_of(c, c.length))
    elif c.storage == STRUCT:
        for i in range(c.count):
            truncate(&c.children[i], c.length - c.nulls)


# --- export -----------------------------------------------------------------------------------------------------------

cdef int give_away(Column* c, ArrowArray* out, int extra) except -1:
    """Move the buffers of ``c`` and its children into ``out``, with room for ``extra`` more children."""
    cdef int64_t structs = extra, pointers = extra
    cdef sns_tree* tree
    count_parts(c, &structs, &pointers)
    tree = sns_new_tree(structs, pointers)
    if tree is NULL:
        raise MemoryError()
    give_parts(c, out, extra, tree)
    if c.slab is not NULL:
        tree.slab, tree.slab_end = c.slab.start, c.slab.end
        c.slab.start = c.slab.next = c.slab.end = NULL
    return 0


cdef inline int buffers_of(const Column* c) noexcept:
    return 0 if c.storage == NOTHING else 1 if c.storage == STRUCT else 3 if c.storage == VARIABLE else 2


cdef void count_parts(const Column* c, int64_t* structs, int64_t* pointers) noexcept:
    cdef int i
    structs[0] += c.count
    pointers[0] += c.count + buffers_of(c)
    for i in range(c.count):
        count_parts(&c.children[i], structs, pointers)


cdef void give_parts(Column* c, ArrowArray* out, int extra, sns_tree* tree) noexcept:
    cdef int buffers = buffers_of(c), i
    sns_fill_array(out, tree, c.length, c.nulls, buffers, c.count + extra)
    if buffers:
        out.buffers[0] = give(&c.valid)
    if c.storage == VARIABLE or c.storage == LIST:
        out.buffers[1] = give(&c.offsets)
    elif buffers == 2:
        out.buffers[1] = give(&c.data)
    if c.storage == VARIABLE:
        if c.room - c.used > c.used // 4 and c.used and not is_in_slab(c, c.data):
            resize_bytes(c, c.used)         # release unused capacity
        out.buffers[2] = give(&c.data)
    for i in range(c.count):
        give_parts(&c.children[i], out.children[i], 0, tree)


cdef const void* give(uint8_t** buffer) noexcept:
    cdef const void* out = buffer[0]
    buffer[0] = NULL
    return out
