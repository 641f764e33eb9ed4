# Columns for a layout, with room for the rows that are known to come.

cdef enum:
    MOST_SLAB = 1 << 20         # bytes: it is kept as long as any of its columns is

cdef extern from *:
    """
    #ifdef __SANITIZE_ADDRESS__  /* which sees where a block ends, but not where a part of it does */
    #define SNS_SLABS 0
    #else
    #define SNS_SLABS 1
    #endif
    """
    const bint SLABS "SNS_SLABS"


cdef Column* new_columns(Layout layout, int64_t rows, int64_t size) except NULL:
    """Create empty columns for ``layout``. Columns with one slot per row are allocated for all rows at once."""
    cdef Column* columns = <Column*>calloc(1, layout.count * sizeof(Column) + sizeof(Slab))
    cdef int i, texts = 0
    cdef Spec* spec
    if columns is NULL:
        raise MemoryError()
    for i in range(layout.count):
        texts += layout.specs[i].storage == VARIABLE
    for i in range(layout.count):
        spec = &layout.specs[i]
        columns[i].children = &columns[spec.first]
        columns[i].count, columns[i].storage, columns[i].width = spec.count, spec.storage, spec.width
        columns[i].nullable, columns[i].large = spec.nullable, spec.large
    size = size / max(texts, 1) + SNS_SHORT
    if SLABS:
        begin_slab(columns, layout.count, rows, size)
    if not (reserve_rows(&columns[0], rows, size) and begin_offsets(columns, layout.count)):
        free_columns(columns, layout.count)
        raise MemoryError()
    return columns


cdef void begin_slab(Column* columns, int count, int64_t rows, int64_t size) noexcept nogil:
    """Let the columns take their buffers from one block, if they are small."""
    cdef Slab* slab = <Slab*>(columns + count)
    cdef int64_t total
    cdef int i
    if rows > MOST_SLAB:
        return
    total = bytes_of_rows(&columns[0], rows, size) + 64
    if total > MOST_SLAB:
        return
    slab.start = <uint8_t*>malloc(total)
    if slab.start is NULL:
        return
    slab.next, slab.end = <uint8_t*>padded(<int64_t>slab.start), slab.start + total
    for i in range(count):
        columns[i].slab = slab


cdef int64_t bytes_of_rows(const Column* c, int64_t rows, int64_t size) noexcept nogil:
    """The bytes that reserve_rows() takes, and those of null bitmaps."""
    cdef int64_t bits = padded(max((rows + 7) >> 3, <int64_t>1)), total = bits if c.nullable else 0
    cdef int i
    if c.storage == BITS:
        total += bits
    elif c.storage == FIXED_WIDTH:
        total += padded(max(rows * c.width, <int64_t>1))
    elif c.storage == VARIABLE or c.storage == LIST:
        total += padded((rows + 1) * (8 if c.large else 4))
    if c.storage == VARIABLE:
        total += padded(min(size, <int64_t>MOST_SLAB) + 1)
    for i in range(c.count if c.storage == STRUCT else 0):
        total += bytes_of_rows(&c.children[i], rows, size)
    return total


cdef bint reserve_rows(Column* c, int64_t rows, int64_t size) noexcept nogil:
    cdef int i
    if not resize(c, rows) or (c.storage == VARIABLE and not resize_bytes(c, min(size, <int64_t>INT32_MAX))):
        return False
    if c.storage == STRUCT:
        for i in range(c.count):
            if not reserve_rows(&c.children[i], rows, size):
                return False
    return True
