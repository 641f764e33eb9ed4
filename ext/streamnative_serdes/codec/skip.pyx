# Finds the end of a datum: applies the same checks as decode.pyx, but creates no Python objects.

cdef int skip_value(Plan node, Reader* r) except -1:
    cdef int kind = (<Node>node).kind
    if kind == RECORD:
        return skip_record(<RecordNode>node, r)
    elif kind == OPTIONAL:
        return 0 if read_is_null(node, r) else skip_value(<Plan>(<OptionalNode>node).inner, r)
    elif kind == UNION:
        return skip_value(read_branch(node, r), r)
    elif kind == ARRAY or kind == MAP:
        return skip_blocks(<ItemsNode>node, kind == MAP, r)
    elif kind == ENUM:
        read_enum(node, r)
    elif kind == BOOLEAN:
        read_boolean(r)
    elif kind == INT or kind == DATE or (kind == TIME and (<Node>node).micros == 1000):
        get_int(r)
    elif kind == NULL_KIND:
        return 0
    elif kind == FLOAT:
        take(r, 4)
    elif kind == DOUBLE:
        take(r, 8)
    elif (<Node>node).size >= 0:        # fixed, and logical types based on it
        take(r, (<Node>node).size)
    elif kind in (STRING, BYTES, DECIMAL, BIG_DECIMAL, UUID_TEXT):
        r.p += get_size(r)
    else:                               # long, and logical types based on it
        get_long(r)
    return 0


cdef int skip_record(RecordNode node, Reader* r) except -1:
    cdef Py_ssize_t i
    cdef Step* step = enter_read(r, node)
    pay_empty(r, node.empty_fields)
    for i in range(node.count):
        step.index = i
        skip_value(node.fields[i].node, r)
    r.depth -= 1
    return 0


cdef int skip_blocks(ItemsNode node, bint keyed, Reader* r) except -1:
    cdef const uint8_t* block_end = NULL
    cdef Step* step = enter_read(r, node)
    cdef Plan item = <Plan>node.item
    cdef Py_ssize_t least = node.item.min_size + keyed
    cdef int64_t count
    count = read_count(r, least, &block_end)
    while count:
        while count:
            step.index += 1
            if keyed:
                r.p += get_size(r)
            skip_value(item, r)
            count -= 1
        check_block(r, block_end)       # walked, not jumped over: a block that decode refuses is refused here too
        count = read_count(r, least, &block_end)
    r.depth -= 1
    return 0


cdef Py_ssize_t skip_message(Node root, const Limits* limits, const uint8_t* start, Py_ssize_t size,
                             Py_ssize_t offset) except -1:
    """Return the offset after the datum that begins at ``offset``."""
    cdef Reader r
    cdef Step stack[MAX_DEPTH]
    open_reader(&r, start, size, offset, limits)
    r.steps = steps_for(limits, stack)
    try:
        if root.kind == UNSIZED:
            return size
        skip_value(<Plan>root, &r)
        return r.p - start
    except DecodeError as error:
        raise decode_failure(error, &r, start) from None
    finally:
        give_back(r.steps, stack)
