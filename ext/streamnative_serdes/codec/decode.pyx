# Decodes Avro bytes into a Python datum by a plan. No user code runs here, except classes with shapes (shaped.pyx).
#
# Nothing from the wire is trusted: before anything is allocated, a length is checked against the remaining bytes and a
# count against the minimum size of so many items. Zero-byte items are charged to a budget per datum.
#
# Nodes are passed as borrowed pointers: the plan outlives the call, and reference counting for each field would take a
# tenth of the time.

cdef object read_value(Plan node, Reader* r):
    cdef int kind = (<Node>node).kind
    cdef Py_ssize_t size
    cdef const uint8_t* p
    if kind == OPTIONAL:        # inline: most fields are optional, and each call takes stack
        if read_is_null(node, r):
            return None
        node = <Plan>(<OptionalNode>node).inner
        kind = (<Node>node).kind
    if kind == STRING:
        size = get_size(r)
        p = r.p
        r.p = p + size
        return sns_new_str(p, size)
    elif kind == LONG:
        return get_long(r)
    elif kind == INT:
        return get_int(r)
    elif kind == DOUBLE:
        return sns_get_double(take(r, 8))
    elif kind == BOOLEAN:
        return read_boolean(r)
    elif kind == RECORD:
        return read_record(<RecordNode>node, r)
    elif kind == ENUM:
        return read_enum(node, r)
    elif kind == ARRAY:
        return read_array(<ArrayNode>node, r)
    elif kind == MAP:
        return read_map(<MapNode>node, r)
    elif kind == BYTES:
        size = get_size(r)
        return PyBytes_FromStringAndSize(<char*>take(r, size), size)
    elif kind == FLOAT:
        return <double>sns_get_float(take(r, 4))
    elif kind == FIXED:
        return PyBytes_FromStringAndSize(<char*>take(r, (<Node>node).size), (<Node>node).size)
    elif kind == NULL_KIND:
        return None
    elif kind == UNION:
        return read_value(read_branch(node, r), r)
    elif kind == NAMED:
        return (<NamedNode>node).name, read_value(<Plan>(<NamedNode>node).inner, r)
    elif kind == RESOLVED_RECORD:
        return read_resolved_record(<ResolvedRecord>node, r)
    elif kind == RESOLVED_ENUM:
        return read_resolved_enum(<ResolvedEnum>node, r)
    elif kind == TICKS:
        return read_ticks(<Ticks>node, r)
    elif kind == MISMATCH:
        raise DecodeError((<Mismatch>node).reason)
    return read_logical(<Node>node, r)


cdef inline bint read_boolean(Reader* r) except -1:
    cdef uint8_t byte = take(r, 1)[0]
    if unlikely(byte > 1):
        bad_boolean(byte)
    return byte


cdef inline bint read_is_null(Plan node, Reader* r) except -1:
    cdef int64_t branch
    if likely(r.p < r.end and r.p[0] <= 2 and not r.p[0] & 1):
        branch = r.p[0] >> 1
        r.p += 1
        return branch == (<OptionalNode>node).null_index
    branch = get_long(r)        # truncated, overlong (80 00), or not a branch index
    if branch != 0 and branch != 1:
        bad_index("a union branch index", 2, branch)
    return branch == (<OptionalNode>node).null_index


cdef inline Plan read_branch(Plan node, Reader* r) except NULL:
    cdef int64_t branch = get_long(r)
    cdef PyObject* branches = <PyObject*>(<UnionNode>node).branches
    cdef Py_ssize_t count = tuple_size(branches)
    if unlikely(branch < 0 or branch >= count):
        bad_index("a union branch index", count, branch)
    return tuple_item(branches, branch)


cdef inline object read_enum(Plan node, Reader* r):
    cdef int64_t index = get_int(r)
    cdef PyObject* symbols = <PyObject*>(<EnumNode>node).symbols
    cdef Py_ssize_t count = tuple_size(symbols)
    if unlikely(index < 0 or index >= count):
        bad_index(f"a symbol index of {(<Node>node).label}", count, index)
    return <object>tuple_item(symbols, index)


cdef int bad_boolean(int got) except -1:
    raise DecodeError(f"expected byte 0 or 1 for a boolean, got {got}")


cdef int bad_index(str what, Py_ssize_t count, int64_t got) except -1:
    raise DecodeError(f"expected {what} from 0 to {count - 1}, got {got}")


cdef object read_record(RecordNode node, Reader* r):
    cdef Py_ssize_t i, count = node.count
    cdef FieldPlan* field = node.fields
    cdef Step* step = enter_read(r, node)
    cdef object record
    pay_empty(r, node.empty_fields)
    # A dict for many fields is only created if the message is long enough to hold them.
    if unlikely(count > MANY_FIELDS and r.end - r.p < node.min_size):
        raise DecodeError(f"expected at least {node.min_size} bytes for {node.label}, got {r.end - r.p}")
    # Copying the template allocates room for all names at once; filling a new dict is faster while the smallest fits.
    record = {} if count <= FEW_FIELDS else node.copied()
    for i in range(count):
        step.index = i
        read_field(record, field, r)
        field += 1
    r.depth -= 1
    return record


cdef inline int read_field(object record, FieldPlan* field, Reader* r) except -1:
    cdef PyObject* made = read_quickly(field.node, r)
    if likely(made is not NULL):
        return sns_give_item(record, field.name, made)
    one = read_value(field.node, r)
    return sns_set_item(record, field.name, <PyObject*>one)


cdef int64_t read_count(Reader* r, Py_ssize_t least, const uint8_t** block_end) except -1:
    """Read the number of items in the next block of an array or a map; 0 ends it.

    ``least`` is the minimum size of one item in bytes. ``block_end`` is set to the declared end of the block, or NULL:
    only a negative count is followed by the block's size in bytes.
    """
    cdef int64_t count
    block_end[0] = NULL
    if likely(r.p < r.end and r.p[0] == 0):
        r.p += 1
        return 0
    count = get_long(r)
    if unlikely(count < 0):
        count = read_sized_count(r, count, block_end)
    if least == 0:
        pay_empty(r, count)
    elif unlikely(count > r.end - r.p or (least > 1 and count > (r.end - r.p) / least)):
        too_many_items(r, count, least)
    pay_items(r, count)
    return count


cdef int64_t read_sized_count(Reader* r, int64_t count, const uint8_t** block_end) except -1:
    cdef int64_t size = get_long(r)
    if count == INT64_MIN or size < 0 or size > r.end - r.p:
        raise DecodeError(f"expected a block of at most the {r.end - r.p} remaining bytes, got a block of {size} bytes "
                          f"(item count {count})")
    block_end[0] = r.p + size
    return -count


cdef int too_many_items(Reader* r, int64_t count, Py_ssize_t least) except -1:
    raise DecodeError(f"expected {count} items of at least {least} bytes each, but only {r.end - r.p} bytes remain")


cdef inline int check_block(Reader* r, const uint8_t* block_end) except -1:
    if unlikely(block_end is not NULL and r.p != block_end):
        raise DecodeError("the items of an array or map block do not end at the block's declared size")
    return 0


cdef object read_array(ArrayNode node, Reader* r):
    cdef const uint8_t* block_end = NULL
    cdef PyObject* made
    cdef Plan item = <Plan>node.item
    cdef Py_ssize_t i = 0, least = (<Node>item).min_size
    cdef Step* step = enter_read(r, node)
    cdef int64_t count = read_count(r, least, &block_end)
    # The count is unverified, and each level of nesting may claim all remaining bytes: preallocate at most PRESIZED.
    cdef object out = sns_new_list(min(count, PRESIZED) if least else 0)
    while count:
        while count:
            step.index = i
            made = read_quickly(item, r)
            if likely(made is not NULL):
                sns_give(out, made)
            else:
                one = read_value(item, r)
                sns_append(out, one)
            i += 1
            count -= 1
        check_block(r, block_end)
        count = read_count(r, least, &block_end)
    r.depth -= 1
    return out


cdef object read_map(MapNode node, Reader* r):
    cdef const uint8_t* block_end = NULL
    cdef PyObject* made
    cdef Py_ssize_t size
    cdef Step* step = enter_read(r, node)
    cdef int64_t count = read_count(r, 1 + node.item.min_size, &block_end)
    cdef dict out = {}
    while count:
        while count:
            size = get_size(r)
            key = read_key(r, size) if node.repeats and size <= MAX_KEY else sns_new_str(take(r, size), size)
            Py_INCREF(key)
            Py_XSETREF(step.key, <PyObject*>key)
            made = read_quickly(<Plan>node.item, r)
            one = given(made) if likely(made is not NULL) else read_value(<Plan>node.item, r)
            PyDict_SetItem(out, key, one)
            count -= 1
        check_block(r, block_end)
        count = read_count(r, 1 + node.item.min_size, &block_end)
    Py_CLEAR(step.key)
    r.depth -= 1
    return out


cdef object read_key(Reader* r, Py_ssize_t size):
    """Read a map key of ``size`` bytes. A key cached earlier in this message is reused, with its hash."""
    cdef const uint8_t* p = take(r, size)
    cdef PyObject** slot
    if size == 0:
        return ""
    if r.keys is NULL:
        r.keys = <PyObject**>PyMem_Calloc(KEYS, sizeof(PyObject*))
        if r.keys is NULL:
            raise MemoryError()
    slot = &r.keys[(size * 31 + p[0] * 7 + p[size >> 1] * 5 + p[size - 1]) & (KEYS - 1)]
    if slot[0] is not NULL and sns_is_text(slot[0], p, size):
        return <object>slot[0]
    key = sns_new_str(p, size)
    if PyUnicode_IS_COMPACT_ASCII(key):
        Py_INCREF(key)
        Py_XSETREF(slot[0], <PyObject*>key)
    return key


cdef int forget_keys(Reader* r) except -1:
    cdef int i
    for i in range(KEYS):
        Py_CLEAR(r.keys[i])
    PyMem_Free(r.keys)
    return 0


# The same function, for callers that check for NULL themselves.
cdef PyObject* (*try_read)(Plan, Reader*) noexcept
try_read = <PyObject* (*)(Plan, Reader*) noexcept><void*>read_value


# --- the whole datum --------------------------------------------------------------------------------------------------

cdef object decode_message(Node root, const Limits* limits, const uint8_t* start, Py_ssize_t size, Py_ssize_t offset):
    """Decode the datum in ``start[offset:size]``, all of which it must take up."""
    cdef Reader r
    cdef Step stack[MAX_DEPTH]
    cdef PyObject* made
    open_reader(&r, start, size, offset, limits)
    r.steps = steps_for(limits, stack)
    made = try_read(<Plan>root, &r)     # a try block would add a tenth to a small message
    if unlikely(made is NULL or (r.p != r.end and not limits.trailing)):
        fail_to_decode(made, &r, stack, start)
    close_reader(&r, stack)
    return given(made)


cdef int fail_to_decode(PyObject* made, Reader* r, Step* stack, const uint8_t* start) except -1:
    """Raise the current exception, or a DecodeError for trailing bytes, with path and byte offset added."""
    try:
        if made is NULL:
            sns_reraise()
        given(made)
        raise DecodeError(f"expected the end of the message, got {r.end - r.p} more bytes",
                          hint="it was probably written with another schema")
    except ValueError as error:     # DecodeError, invalid UTF-8, a number that Decimal or int rejects
        failure = decode_failure(error, r, start)
        raise failure from failure.__cause__        # the exception of a user class, if any
    finally:
        leave_to(r.steps, &r.depth, 0)
        close_reader(r, stack)


cdef inline int close_reader(Reader* r, Step* stack) except -1:
    give_back(r.steps, stack)
    if unlikely(r.keys is not NULL):
        forget_keys(r)
    return 0


cdef object decode_failure(object error, Reader* r, const uint8_t* start):
    if isinstance(error, UnicodeDecodeError):
        error = DecodeError(f"expected text in UTF-8: {error.reason} in {shorten(error.object)}")
    elif not isinstance(error, DecodeError):
        error = DecodeError(f"{type(error).__name__}: {error}")
    error.path = path_of(r.steps, r.depth)
    error.offset = r.p - start
    return error
