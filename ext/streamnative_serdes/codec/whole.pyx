# Tells whether bytes are exactly one datum. Unlike skip.pyx it raises no error: _serdes asks whether messages in
# Confluent's framing are bare Avro too, and nearly all are not. It checks what skip.pyx checks.

cdef bint is_whole(Node root, const Limits* limits, const uint8_t* start, Py_ssize_t size) noexcept:
    """Whether the datum that begins at ``start`` ends after ``size`` bytes."""
    cdef Reader r
    open_reader(&r, start, size, 0, limits)
    return root.kind == UNSIZED or (pass_value(root, &r) and r.p == r.end)


cdef bint pass_value(Node node, Reader* r) noexcept:
    cdef int kind = node.kind
    if kind == RECORD:
        return pass_record(<RecordNode>node, r)
    elif kind == OPTIONAL:
        return pass_optional(<OptionalNode>node, r)
    elif kind == UNION:
        return pass_union(<UnionNode>node, r)
    elif kind == ARRAY or kind == MAP:
        return pass_blocks((<ItemsNode>node).item, kind == MAP, r)
    elif kind == ENUM:
        return pass_index(tuple_size(<PyObject*>(<EnumNode>node).symbols), 32, r) >= 0
    elif kind == BOOLEAN:
        return r.p < r.end and r.p[0] <= 1 and pass_bytes(1, r)
    elif kind == INT or kind == DATE or (kind == TIME and node.micros == 1000):
        return pass_number(32, r)
    elif kind == NULL_KIND:
        return True
    elif kind == FLOAT:
        return pass_bytes(4, r)
    elif kind == DOUBLE:
        return pass_bytes(8, r)
    elif node.size >= 0:                # fixed, and logical types based on it
        return pass_bytes(node.size, r)
    elif kind in (STRING, BYTES, DECIMAL, BIG_DECIMAL, UUID_TEXT):
        return pass_text(r)
    return pass_number(64, r)           # long, and logical types based on it


cdef inline bint pass_varint(uint64_t* value, int width, Reader* r) noexcept:
    cdef const uint8_t* p = sns_get_varint(r.p, r.end, value)
    if p is NULL or (width == 32 and value[0] > 0xFFFFFFFFUL):
        return False
    r.p = p
    return True


cdef inline bint pass_number(int width, Reader* r) noexcept:
    cdef uint64_t value = 0
    return pass_varint(&value, width, r)


cdef inline bint pass_bytes(Py_ssize_t size, Reader* r) noexcept:
    if r.end - r.p < size:
        return False
    r.p += size
    return True


cdef inline bint pass_text(Reader* r) noexcept:
    cdef uint64_t value = 0
    # The zigzag encoding of a non-negative number is even.
    if not pass_varint(&value, 64, r) or value & 1 or value >> 1 > <uint64_t>(r.end - r.p):
        return False
    r.p += value >> 1
    return True


cdef inline int64_t pass_index(Py_ssize_t count, int width, Reader* r) noexcept:
    """The index of a branch or symbol, or -1."""
    cdef uint64_t value = 0
    if not pass_varint(&value, width, r):
        return -1
    return value >> 1 if not value & 1 and value >> 1 < <uint64_t>count else -1


cdef bint pass_optional(OptionalNode node, Reader* r) noexcept:
    cdef int64_t branch = pass_index(2, 64, r)
    return branch >= 0 and (branch == node.null_index or pass_value(node.inner, r))


cdef bint pass_union(UnionNode node, Reader* r) noexcept:
    cdef int64_t branch = pass_index(PyTuple_GET_SIZE(node.branches), 64, r)
    return branch >= 0 and pass_value(<Node>PyTuple_GET_ITEM(node.branches, branch), r)


cdef bint pass_record(RecordNode node, Reader* r) noexcept:
    cdef Py_ssize_t i
    if r.depth >= r.max_depth or node.empty_fields > r.empty_left:
        return False
    r.depth += 1
    r.empty_left -= node.empty_fields
    for i in range(node.count):
        if not pass_value(<Node>node.fields[i].node, r):
            return False
    r.depth -= 1
    return True


cdef bint pass_blocks(Node item, bint keyed, Reader* r) noexcept:
    cdef const uint8_t* block_end
    cdef int64_t count = 1
    if r.depth >= r.max_depth:
        return False
    r.depth += 1
    while count:
        block_end = NULL
        if not pass_count(item.min_size + keyed, &count, &block_end, r):
            return False
        if not pass_items(item, keyed, count, r) or (block_end is not NULL and r.p != block_end):
            return False
    r.depth -= 1
    return True


cdef bint pass_items(Node item, bint keyed, int64_t count, Reader* r) noexcept:
    while count:
        if (keyed and not pass_text(r)) or not pass_value(item, r):
            return False
        count -= 1
    return True


cdef bint pass_count(Py_ssize_t least, int64_t* count, const uint8_t** block_end, Reader* r) noexcept:
    """Read the number of items in the next block, each of at least ``least`` bytes, and its declared end, if any."""
    cdef uint64_t value = 0
    if not pass_varint(&value, 64, r):
        return False
    count[0] = sns_unzigzag(value)
    if count[0] < 0:
        if count[0] == INT64_MIN or not pass_varint(&value, 64, r) or value & 1 or value >> 1 > <uint64_t>(r.end - r.p):
            return False
        count[0] = -count[0]
        block_end[0] = r.p + (value >> 1)
    if count[0] > (r.empty_left if least == 0 else (r.end - r.p) / least) or count[0] > r.items_left:
        return False
    r.empty_left -= count[0] if least == 0 else 0
    r.items_left -= count[0]
    return True
