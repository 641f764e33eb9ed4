# Encodes a batch of Arrow columns as an array of messages, and converts fault codes to errors.

cdef enum:
    MOST_BYTES = 1 << 30        # largest initial size of the buffer, without headers
    MOST_HEADER = 16            # bytes

WRITE_FAULTS = {
    NULL_VALUE: ("expected {label}, got null", None),
    HUGE_NUMBER: ("{label} out of range: the column's unsigned 64-bit number does not fit", None),
    LOSSY: ("a {label} cannot hold an integer of the column without loss", None),
    LOSSY_DECIMAL: ("{label} cannot hold the number: it has too many decimal places", "round the column first"),
    LONG_DECIMAL: ("{label} cannot hold the number: it has too many digits", None),
    TWO_MEMBERS: ("expected at most one non-null member of the union, got more", None),
    BAD_INDEX: ("the column is damaged: a dictionary index is out of bounds", None),
    BAD_SIZE: ("expected exactly {size} bytes, got {a}", None),
    BAD_UNIT: ("{label}: {a} is too large for Avro's unit", None),
    BAD_BIG_DECIMAL: ("expected a big-decimal: bytes of the unscaled number and its scale", None),
    LONG_HALF: (f"expected at most {INT32_MAX} bytes, got {{a}}", None),
    TOO_DEEP: ("the datum is nested deeper than {depth} levels", "the option max.depth sets the limit"),
    OVERFLOW: ("the message exceeds 2 GB, the limit of 32-bit offsets",
               "large_types=True uses 64-bit offsets, which Spark does not accept"),
}


TO_TRUNCATE = "truncate.times=true drops them"
WHOLE_BITS = {"int": 32, "long": 64, "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}


# Bytes that a value of each kind of column takes on average, about.
cdef int64_t[LOAD_STRUCT + 1] USUAL_BYTES
USUAL_BYTES[:] = [0, 1, 1, 2, 3, 6, 1, 2, 3, 6, 4, 8, 6, 0, 2, 2, 2, 0]


cdef struct Opened:
    ArrowArray* array
    Span below                  # slots of its children that rows may refer to


@cython.final
cdef class Encoding:
    """The state of encoding one batch, of one or several arrays."""
    cdef WritePlan plan
    cdef Source* sources
    cdef Writer w
    cdef Column messages
    cdef bytes header
    cdef int64_t done           # rows of the arrays before
    cdef int64_t expected       # bytes that the current array will take, about, without headers
    cdef WriteBlock block
    cdef uint8_t* stage         # of blocks, or NULL until there is one
    cdef int64_t stride, extra  # bytes of a row on the stage; of them for values of any size
    cdef int64_t usual          # bytes of a row, about
    cdef int64_t alone          # rows of the current array before this one are encoded one by one
    cdef int refused            # how many blocks in a row had no room on the stage

    def __cinit__(self, WritePlan plan, bytes header, bint large):
        self.plan, self.header = plan, header       # kept alive
        self.messages.storage, self.messages.nullable, self.messages.large = VARIABLE, True, large
        self.sources = <Source*>PyMem_Calloc(len(plan.sources), sizeof(Source))
        self.w.steps = <WriteStep*>PyMem_Malloc((plan.max_depth + 1) * sizeof(WriteStep))
        if self.sources is NULL or self.w.steps is NULL or not begin_offsets(&self.messages, 1):
            raise MemoryError()
        self.w.sources, self.w.max_depth = self.sources, plan.max_depth
        self.w.header, self.w.header_size = <const uint8_t*>PyBytes_AS_STRING(header), PyBytes_GET_SIZE(header)

    def __dealloc__(self):
        PyMem_Free(self.sources)
        PyMem_Free(self.w.steps)
        free(self.stage)
        free(self.w.medium)
        sns_free(self.w.base)
        sns_free(self.messages.valid)
        sns_free(self.messages.offsets)

    cdef int open(self, ArrowArray* array) except -1:
        """Open the columns of ``array``, which has to stay alive. Raises EncodeError if one is damaged."""
        cdef Opened* opened = <Opened*>PyMem_Calloc(len(self.plan.sources), sizeof(Opened))
        cdef SourceType kind
        if opened is NULL:
            raise MemoryError()
        try:
            opened[0].array = array
            self.expected = 0
            for kind in self.plan.sources:
                self.open_column(kind, opened)
        except EncodeError as error:
            error.path = path_of_source(self.plan.sources, kind)
            raise
        finally:
            PyMem_Free(opened)
        return 0

    cdef int open_column(self, SourceType kind, Opened* opened) except -1:
        """Open one column; the columns before it, including its parent, are open."""
        cdef Opened* it = &opened[kind.number]
        cdef ArrowArray* parent
        cdef int64_t offset = 0
        cdef Span used
        if kind.parent < 0:
            used.first, used.count = 0, it.array.length
        else:
            parent = opened[kind.parent].array
            it.array = parent.dictionary if kind.is_dictionary else parent.children[kind.child]
            used = opened[kind.parent].below
            offset = self.sources[kind.parent].slots.offset if kind.inherits else 0
        if it.array is not NULL:
            offset += it.array.offset
        open_source(&self.sources[kind.number], kind, it.array, offset, used, &it.below)
        self.expected = min(self.expected + self.expected_bytes(kind, used.count), <int64_t>MOST_BYTES)
        return 0

    cdef int64_t expected_bytes(self, SourceType kind, int64_t count) noexcept:
        """Return about how many bytes ``count`` values of a column take, branches of unions not included."""
        cdef int64_t size
        count = min(count, <int64_t>MOST_BYTES)
        if kind.load != LOAD_BYTES:
            return count * USUAL_BYTES[kind.load]
        size = min(self.sources[kind.number].slots.size, <int64_t>MOST_BYTES)
        return size + count * (1 if size < 64 * count else 2 if size < 8192 * count else 3)     # with their lengths

    cdef int write(self, ArrowArray* array) except -1:
        """Encode one more array."""
        cdef int64_t row
        self.open(array)
        self.reserve(array.length)
        self.begin_blocks(array.length)
        with nogil:
            row = write_rows(self, array.length)
        if row < array.length:
            self.fail(row + self.done)
        self.done += array.length
        return 0

    cdef int reserve(self, int64_t count) except -1:
        """Make room for ``count`` more rows, about as much as they take."""
        cdef int64_t used = self.w.p - self.w.base, before = self.w.end - self.w.base, need
        cdef size_t size
        cdef uint8_t* base
        if count > INT64_MAX // (2 * MOST_HEADER) - self.done:
            raise MemoryError()
        need = count * self.w.header_size + self.expected
        need += used + need // 16 + LEAST_BYTES         # to grow takes longer than to leave a part unused
        if need > before:
            size = max(need, 2 * before)
            base = <uint8_t*>(sns_new_block(1, &size) if self.w.base is NULL else sns_resized(self.w.base, size))
            if base is NULL:
                raise MemoryError()
            self.w.base, self.w.p, self.w.end = base, base + used, base + size
        need = self.messages.length + count
        if need > self.messages.capacity and not resize(&self.messages, max(need, 2 * self.messages.capacity)):
            raise MemoryError()
        return 0

    cdef int begin_blocks(self, int64_t count) except -1:
        cdef WriteOp* root = self.plan.ops + self.plan.root
        self.alone = INT64_MAX
        if count < LEAST_ROWS or not (root.in_blocks and root.kind == WRITE_RECORD and root.source == 0
                                      and self.sources[0].slots.valid is NULL):
            return 0
        if self.stage is NULL:
            self.stage = <uint8_t*>malloc(STAGE_BYTES + ITEMS_BYTES)
            self.w.medium = <bint*>calloc(self.plan.count, sizeof(bint))
            if self.stage is NULL or self.w.medium is NULL:
                raise MemoryError()
        self.alone, self.usual = 0, self.expected // count + LEAST_ROOM
        return 0

    cdef int fail(self, int64_t row) except -1:
        if self.w.fault == NO_MEMORY:
            raise MemoryError()
        if self.w.fault == OVERFLOW and row > 0:
            raise batch_too_large("the messages exceed 2 GB, the limit of 32-bit offsets", row, None)
        error = write_error(self.plan, &self.w)
        error.row = row
        raise error

    cdef object exported(self):
        """Return the capsule of the array."""
        cdef object array = sns_new_array()
        self.messages.data, self.messages.used = self.w.base, self.w.p - self.w.base
        self.messages.room = self.w.end - self.w.base
        self.w.base = NULL
        give_away(&self.messages, <ArrowArray*>PyCapsule_GetPointer(array, "arrow_array"), 0)
        return array


def encode_batch(WritePlan plan not None, arrays, bytes header not None, bint large):
    """Encode the rows of ``arrays``, capsules of arrays of the plan's Arrow schema, as messages that begin with header.

    A row that is null as a whole gives a null. Returns the capsule of the array, binary or large_binary. The row number
    of an error counts over all arrays.
    """
    cdef Encoding encoding = Encoding(plan, header, large)
    for data in arrays:
        encoding.write(<ArrowArray*>PyCapsule_GetPointer(data, "arrow_array"))
    return encoding.exported()


cdef str path_of_source(list sources, SourceType kind):
    """Return the path of a column: ``user.tags[].key``."""
    cdef list segments = []
    cdef SourceType parent
    while kind.parent >= 0:
        parent = sources[kind.parent]
        if not kind.is_dictionary:
            segments.insert(0, field_segment(kind.name) if parent.load == LOAD_STRUCT else "[]")
        kind = parent
    return joined(segments)


cdef object write_error(WritePlan plan, Writer* w):
    error = write_fault(plan, w)
    error.path = path_of(plan, w.steps, w.depth)
    return error


cdef object write_fault(WritePlan plan, Writer* w):
    cdef int64_t a = w.a
    cdef str label = "" if w.op is NULL else plan.labels[w.op.number]
    if w.fault in WRITE_FAULTS:
        text, hint = WRITE_FAULTS[w.fault]
        size = 0 if w.op is NULL else w.op.size
        return EncodeError(text.format(label=label, a=a, size=size, depth=w.max_depth), hint=hint)
    if w.fault == OUT_OF_RANGE:
        return EncodeError(whole_out_of_range(label, a), hint=None if label in WHOLE_BITS else to_numbers(label))
    if w.fault == TOO_FINE:
        finer = f"the time of day of {a} ms" if w.op.grain > 1000 else f"the nanoseconds of {a} ns"
        return EncodeError(f"{label} cannot hold {finer}", hint=TO_TRUNCATE)
    if w.fault == HUGE_FLOAT:
        return EncodeError(f"float out of range: {w.real!r} does not fit 32 bits")
    if w.fault == BAD_TEXT:
        return EncodeError(f"expected text in UTF-8, got {quoted((<char*>w.text)[:a])}")
    text = quoted((<char*>w.text)[:a].decode("utf-8", "replace"))
    if w.fault == BAD_UUID:
        return EncodeError(f"expected uuid, got {text}, which is not a valid UUID")
    symbols = ", ".join(plan.notes[w.op.number][:MAX_NAMES_IN_ERROR])
    return EncodeError(f"{text} is not a symbol of {label}", hint=f"its symbols are {symbols}")


cdef str whole_out_of_range(str label, int64_t number):
    if label in WHOLE_BITS:
        return f"{label} out of range: {number} does not fit {WHOLE_BITS[label]} bits"
    if label.startswith("time-") or label == "LOCAL_TIME":
        return f"{label} {number} is not a time of day"
    return f"{label} {number} is outside of the years 1 to 9999"
