# Byte buffers for encoding (Writer) and decoding (Reader), and the path of containers that are open in them.
#
# A Writer starts in a buffer on the C stack. A datum that outgrows it moves into a bytes object, which becomes the
# result, so a large datum is copied once. A Reader is a pointer and an end. Both keep the open containers in an array
# of Steps (_codec.pxd): its length is the nesting depth, which is bounded, and after a failure it gives the path to the
# field.

cdef enum:
    STACK_BYTES = 1024          # most messages fit, and 1 KB costs nothing to have
    MAX_NESTED_CALLS = 8        # encode calls inside one another, each with its own stack buffer
    MAX_DEPTH = 256             # open containers that need no heap allocation; the default of max.depth
    FEW_FIELDS = 5              # capacity of CPython's smallest dict
    MANY_FIELDS = 64            # for larger records, the remaining bytes are checked before the dict is created
    PRESIZED = 1024             # most items that a list is preallocated for
    KEYS = 64                   # map keys that are cached while one message is read; a power of two
    MAX_KEY = 32                # bytes of a cached key
    MAX_REASON = 500            # characters of the reason why a union branch does not fit

cdef int64_t WASTE_BUDGET = 1 << 20     # containers per datum that may be written for union branches that then fail

cdef struct Writer:
    uint8_t* p
    uint8_t* end
    uint8_t* base
    PyObject* result            # owned bytes object that base points into; NULL while on the stack
    bint lenient                # as of Limits
    bint local_time             # a naive datetime means local time: when lenient, and inside a pyspark Row
    bint too_deep               # max_depth was exceeded: try no other branch of a union
    int64_t opened              # containers opened so far
    int64_t waste_left          # the rest of WASTE_BUDGET
    int depth
    int max_depth
    Step* steps                 # on the C stack, or heap where more than MAX_DEPTH are allowed

cdef struct Reader:
    const uint8_t* p
    const uint8_t* end
    int64_t empty_left          # the rest of Limits.empty and Limits.items
    int64_t items_left
    PyObject** keys             # KEYS owned strs, or NULL before the first
    int exact                   # whether Decimal products are exact (decimal.pyx); -1: not checked yet
    int depth
    int max_depth
    Step* steps


cdef int grow(Writer* w, Py_ssize_t need) except -1:
    """Make room for ``need`` more bytes."""
    cdef Py_ssize_t used = w.p - w.base, capacity = (w.end - w.base) * 2
    if need > PY_SSIZE_T_MAX - used - 64:
        raise MemoryError()
    if capacity < used + need:
        capacity = used + need + 64
    if w.result is NULL:
        w.result = new_bytes(NULL, capacity)
        if w.result is NULL:
            raise MemoryError()
        memcpy(PyBytes_AS_STRING(w.result), w.base, used)
    else:
        _PyBytes_Resize(&w.result, capacity)        # frees it and sets it to NULL when it fails
    w.base = <uint8_t*>PyBytes_AS_STRING(w.result)
    w.p = w.base + used
    w.end = w.base + capacity
    return 0


cdef inline int room(Writer* w, Py_ssize_t need) except -1:
    if unlikely(w.end - w.p < need):
        return grow(w, need)
    return 0


cdef inline int put_byte(Writer* w, uint8_t byte) except -1:
    room(w, 1)
    w.p[0] = byte
    w.p += 1
    return 0


cdef inline int put_long(Writer* w, int64_t value) except -1:
    room(w, 10)
    w.p = sns_put_varint(w.p, sns_zigzag(value))
    return 0


cdef inline int put_raw(Writer* w, const void* data, Py_ssize_t size) except -1:
    room(w, size)
    memcpy(w.p, data, size)
    w.p += size
    return 0


cdef inline int put_sized(Writer* w, const void* data, Py_ssize_t size) except -1:
    """Length, then bytes: Avro's bytes and string."""
    if size > PY_SSIZE_T_MAX - 64:
        raise MemoryError()
    room(w, size + 10)
    w.p = sns_put_varint(w.p, sns_zigzag(size))
    sns_copy(w.p, <const uint8_t*>data, size)
    w.p += size
    return 0


cdef bytes finish(Writer* w):
    """Return the bytes written, and move them out of the Writer."""
    cdef object out
    if w.result is NULL:
        return <bytes>PyBytes_FromStringAndSize(<char*>w.base, w.p - w.base)
    _PyBytes_Resize(&w.result, w.p - w.base)
    out = given(w.result)
    w.result = NULL
    return <bytes>out


cdef inline int64_t get_long(Reader* r) except? -1:
    cdef uint64_t value = 0
    cdef const uint8_t* p = sns_get_varint(r.p, r.end, &value)
    if unlikely(p is NULL):
        return bad_varint(r, 64)
    r.p = p
    return sns_unzigzag(value)


cdef inline int64_t get_int(Reader* r) except? -1:
    cdef uint64_t value = 0
    cdef const uint8_t* p = sns_get_varint(r.p, r.end, &value)
    if unlikely(p is NULL or value > 0xFFFFFFFFUL):
        return bad_varint(r, 32)
    r.p = p
    return sns_unzigzag(value)


cdef inline Py_ssize_t get_size(Reader* r) except -1:
    """Read the length of bytes or a string, and check that enough bytes are left."""
    cdef uint64_t value = 0
    cdef const uint8_t* p = sns_get_varint(r.p, r.end, &value)
    # The zigzag encoding of a non-negative number is even.
    if unlikely(p is NULL or value & 1 or value >> 1 > <uint64_t>(r.end - p)):
        return bad_size(r)
    r.p = p
    return <Py_ssize_t>(value >> 1)


cdef inline const uint8_t* take(Reader* r, Py_ssize_t size) except NULL:
    cdef const uint8_t* p = r.p
    if unlikely(r.end - p < size):
        too_few_bytes(r, size)
    r.p = p + size
    return p


# Errors are raised by separate functions, so that the functions that check for them stay small enough to inline.

cdef Py_ssize_t bad_size(Reader* r) except -1:
    cdef int64_t size = get_long(r)
    raise DecodeError(f"expected a length from 0 to {r.end - r.p}, the number of remaining bytes, got {size}")


cdef int too_few_bytes(Reader* r, Py_ssize_t size) except -1:
    raise DecodeError(f"expected {size} bytes, got {r.end - r.p}: the message is truncated or of another schema")


cdef int64_t bad_varint(Reader* r, int width) except? -1:
    raise DecodeError(why_bad_varint(r.p, r.end, width))


# Open a container. On success the function that opened it decrements the depth again; after a failure the depth stays
# as it is, so that path_of can tell the path.

cdef inline Step* push(Step* steps, int* depth, Node node) noexcept:
    cdef Step* step = &steps[depth[0]]
    step.node = <PyObject*>node
    step.index = -1
    step.key = NULL
    depth[0] += 1
    return step


cdef inline Step* enter_write(Writer* w, Node node) except NULL:
    if unlikely(w.depth >= w.max_depth):
        w.too_deep = True
        raise EncodeError(f"the datum is nested deeper than {w.max_depth} levels",
                          hint="does it contain itself? The option max.depth sets the limit")
    w.opened += 1
    return push(w.steps, &w.depth, node)


cdef inline Step* enter_read(Reader* r, Node node) except NULL:
    if unlikely(r.depth >= r.max_depth):
        too_deep(r)
    return push(r.steps, &r.depth, node)


cdef int too_deep(Reader* r) except -1:
    raise DecodeError(f"the message is nested deeper than {r.max_depth} levels",
                      hint="the option max.depth sets the limit")


cdef inline int pay_empty(Reader* r, int64_t count) except -1:
    """Count zero-byte values against their limit: they cost a sender nothing, but memory here."""
    if unlikely(count > r.empty_left):
        too_many("zero-byte values", "max.empty.values")
    r.empty_left -= count
    return 0


cdef inline int pay_items(Reader* r, int64_t count) except -1:
    """Count items against their limit: decoded items may take far more memory than their bytes."""
    if unlikely(count > r.items_left):
        too_many("items", "max.items")
    r.items_left -= count
    return 0


cdef int too_many(str what, str option) except -1:
    raise DecodeError(f"the message holds too many {what}", hint=f"the option {option} sets the limit")


cdef inline Step* steps_for(const Limits* limits, Step* stack) except NULL:
    """Return room for as many Steps as ``limits.depth``: ``stack``, which has MAX_DEPTH, or heap memory."""
    cdef Step* steps = stack
    if unlikely(limits.depth > MAX_DEPTH):
        steps = <Step*>PyMem_Malloc(limits.depth * sizeof(Step))
        if steps is NULL:
            raise MemoryError()
    return steps


cdef inline void give_back(Step* steps, Step* stack) noexcept:
    if unlikely(steps is not stack):
        PyMem_Free(steps)


cdef inline void open_reader(Reader* r, const uint8_t* start, Py_ssize_t size, Py_ssize_t offset,
                             const Limits* limits) noexcept:
    r.p = start + offset
    r.end = start + size
    r.empty_left = limits.empty
    r.items_left = limits.items
    r.keys = NULL
    r.exact = -1
    r.depth = 0
    r.max_depth = limits.depth


cdef int leave_to(Step* steps, int* depth, int level) except -1:
    """Close all containers above ``level`` after a failure."""
    while depth[0] > level:
        depth[0] -= 1
        Py_CLEAR(steps[depth[0]].key)
    return 0


cdef str path_of(Step* steps, int depth):
    """Return the path of the field where an error occurred."""
    cdef int i
    return joined([(<Node>steps[i].node).segment(&steps[i]) for i in range(depth)])


cdef str words_of(object error):
    """Return the text of an exception from user code."""
    try:
        return str(error)[:MAX_TEXT_IN_ERROR]
    except Exception:           # its __str__ failed: callers name the type as well
        return "(its text is not available)"


cdef str described(object value):
    """Type and value, for an error."""
    cdef str text = shorten(value), name = type(value).__name__
    return name if text == f"a {name}" else f"{name} {text}"


cdef str shorten(object value):
    """Show ``value`` in an error: never long, and without calling the __repr__ of user classes."""
    cdef str text
    if type(value) is str or type(value) is bytes:
        return quoted(value)
    if type(value) is int and not -(1 << 256) < value < 1 << 256:
        return "a number of more than 256 bits"
    if type(value) in (int, float, bool, type(None), datetime.datetime, datetime.date, datetime.time, UUID):
        return repr(value)
    if type(value) is Decimal:
        text = str(value)
        return text[:MAX_TEXT_IN_ERROR] + ("..." if len(text) > MAX_TEXT_IN_ERROR else "")
    return f"a {type(value).__name__}"
