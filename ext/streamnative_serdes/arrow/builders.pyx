# Columns for a layout, with room for the rows that are known to come.


cdef Column* new_columns(Layout layout, int64_t rows, int64_t size) except NULL:
    """Create empty columns for ``layout``. Columns with one slot per row are allocated for all rows at once."""
    cdef Column* columns = <Column*>calloc(layout.count, sizeof(Column))
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
    if not (reserve_rows(&columns[0], rows, size / max(texts, 1)) and begin_offsets(columns, layout.count)):
        free_columns(columns, layout.count)
        raise MemoryError()
    return columns


cdef bint reserve_rows(Column* c, int64_t rows, int64_t size) noexcept nogil:
    cdef int i
    if not resize(c, rows) or (c.storage == VARIABLE and not resize_bytes(c, min(size, <int64_t>INT32_MAX))):
        return False
    if c.storage == STRUCT:
        for i in range(c.count):
            if not reserve_rows(&c.children[i], rows, size):
                return False
    return True
