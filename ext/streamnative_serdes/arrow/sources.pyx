# Loads values from Arrow columns to be written: SourceType describes a column's type, once for a plan; Source locates
# its slots, for each batch.

cdef enum Load:                 # how a slot of a column is loaded
    LOAD_NOTHING                # the null type
    LOAD_BIT
    LOAD_I8
    LOAD_I16
    LOAD_I32
    LOAD_I64
    LOAD_U8
    LOAD_U16
    LOAD_U32
    LOAD_U64
    LOAD_FLOAT
    LOAD_DOUBLE
    LOAD_128
    LOAD_BYTES                  # as BytesArray.how says
    LOAD_LIST
    LOAD_LARGE_LIST
    LOAD_FIXED_LIST
    LOAD_STRUCT

cdef struct Source:
    BytesArray slots            # LOAD_BYTES: all fields; others: valid, offset, and slots as the values
    int64_t width               # LOAD_FIXED_LIST: items; dictionary indices: number of values in the dictionary

LOADS = {b"n": LOAD_NOTHING, b"b": LOAD_BIT, b"c": LOAD_I8, b"s": LOAD_I16, b"i": LOAD_I32, b"l": LOAD_I64,
         b"C": LOAD_U8, b"S": LOAD_U16, b"I": LOAD_U32, b"L": LOAD_U64, b"f": LOAD_FLOAT, b"g": LOAD_DOUBLE,
         b"+l": LOAD_LIST, b"+L": LOAD_LARGE_LIST, b"+m": LOAD_LIST, b"+s": LOAD_STRUCT,
         b"tdD": LOAD_I32, b"tdm": LOAD_I64, b"tts": LOAD_I32, b"ttm": LOAD_I32, b"ttu": LOAD_I64, b"ttn": LOAD_I64}
# Unit of a time or timestamp -> nanoseconds.
UNITS = {"s": 1_000_000_000, "m": 1_000_000, "u": 1000, "n": 1}


@cython.final
cdef class SourceType:
    """The type of one column: how its slots are loaded, and its place among the columns."""
    cdef bytes format
    cdef str name
    cdef int load
    cdef int how                # LOAD_BYTES
    cdef int64_t width          # LOAD_FIXED_LIST: items; FIXED_SLOTS: bytes
    cdef int number             # index in the list of sources
    cdef int parent, child      # index of the parent source (-1: this is the batch), and of the child in it
    cdef bint inherits          # the parent is a struct, whose offset applies here too
    cdef bint is_dictionary     # holds the values that the parent's indices refer to
    cdef list children
    cdef SourceType dictionary


cdef int load_of(bytes format, str name) except -1:
    """Return how a column of this format is loaded. Raises EncodeError for types that cannot be written."""
    if format in LOADS:
        return LOADS[format]
    if how_bytes(format) >= 0:
        return LOAD_BYTES
    if scale_of(format) is not None:
        return LOAD_128
    if format[:2] == b"ts" and format[2:4] in (b"s:", b"m:", b"u:", b"n:"):
        return LOAD_I64
    if width_of(format, b"+w:") >= 0:
        return LOAD_FIXED_LIST
    raise EncodeError(f"Arrow columns of {type_name(format)} cannot be written: {name!r:.80}",
                      hint="cast the column to another type")


cdef object scale_of(bytes format):
    """Return the parameters of a 128-bit decimal; None for other types."""
    cdef list parts = format[2:].split(b",")
    if not format.startswith(b"d:") or len(parts) < 2 or parts[2:] not in ([], [b"128"]):
        return None
    try:
        return int(parts[1])
    except ValueError:
        return None


cdef SourceType source_type(ArrowSchema* schema, list sources, int parent, int child, bint inherits, int level):
    """Add the column of ``schema`` and its children to ``sources``."""
    cdef SourceType out = SourceType()
    cdef int64_t i
    if level > 2 * MAX_LEVELS:
        raise EncodeError(f"the columns are nested deeper than {2 * MAX_LEVELS} levels")
    if schema is NULL or schema.release is NULL or schema.format is NULL:
        raise EncodeError("the Arrow schema is damaged: a column's type is missing or was consumed by another reader")
    out.format = schema.format
    out.name = "" if schema.name is NULL else (<bytes>schema.name).decode("utf-8", "replace")
    out.number, out.parent, out.child, out.inherits = <int>len(sources), parent, child, inherits
    out.children = []
    sources.append(out)
    out.load = load_of(out.format, out.name)
    out.how, out.width = how_bytes(out.format), width_of(out.format, b"w:" if out.load == LOAD_BYTES else b"+w:")
    check_type(out, schema)
    if schema.dictionary is not NULL:
        out.dictionary = source_type(schema.dictionary, sources, out.number, 0, False, level + 1)
        out.dictionary.is_dictionary, out.dictionary.name = True, out.name
    for i in range(schema.n_children):
        inherits = out.load == LOAD_STRUCT
        out.children.append(source_type(schema.children[i], sources, out.number, <int>i, inherits, level + 1))
    return out


cdef int check_type(SourceType kind, ArrowSchema* schema) except -1:
    """Raise EncodeError for a wrong number of children, and for a dictionary whose indices are not integers."""
    cdef bint is_list = kind.load in (LOAD_LIST, LOAD_LARGE_LIST, LOAD_FIXED_LIST)
    cdef int64_t expected = schema.n_children if kind.load == LOAD_STRUCT else is_list
    if schema.n_children != expected or expected < 0 or (expected and schema.children is NULL):
        raise EncodeError(f"the Arrow schema is damaged: {type_name(kind.format)} {kind.name!r:.80} has "
                          f"{schema.n_children} children")
    if schema.dictionary is not NULL and kind.format not in WHOLE_FORMATS:
        raise EncodeError(f"the Arrow schema is damaged: {type_name(kind.format)} {kind.name!r:.80} has a dictionary")
    return 0


cdef int open_source(Source* out, SourceType kind, ArrowArray* array, int64_t offset, Span used,
                     Span* below) except -1:
    """Open a column. ``offset``: of slot 0 in its buffers; ``used``: the slots that rows may refer to; ``below``: set
    to the used slots of its children, or of its dictionary.

    Raises EncodeError for an array that is damaged.
    """
    cdef str fault
    if kind.load == LOAD_BYTES:
        fault = open_bytes(&out.slots, kind.how, kind.width, array, offset, used)
    else:
        fault = open_slots(out, kind, array, offset, used, below)
    if fault is not None:
        raise EncodeError(f"the Arrow column is damaged: {fault}",
                          hint="pyarrow's array.validate(full=True) may give details")
    return 0


cdef str open_slots(Source* out, SourceType kind, ArrowArray* array, int64_t offset, Span used, Span* below):
    """As open_bytes, for all other types."""
    cdef int64_t buffers = 0 if kind.load == LOAD_NOTHING else 1 if kind.load >= LOAD_FIXED_LIST else 2
    cdef str fault = fault_of_array(array, used, buffers, len(kind.children))
    if fault is not None:
        return fault
    out.slots.length, out.slots.offset = array.length, offset
    out.slots.valid = bitmap_of(array) if buffers else NULL
    out.slots.slots = <const uint8_t*>array.buffers[1] if buffers > 1 else NULL
    if kind.load == LOAD_STRUCT:
        below.first, below.count = array.offset + used.first, used.count
    elif kind.dictionary is not None:
        out.width = below.count = 0 if array.dictionary is NULL else array.dictionary.length
    elif kind.load == LOAD_FIXED_LIST:
        return spread(out, kind.width, array, used, below)
    elif kind.load == LOAD_LIST or kind.load == LOAD_LARGE_LIST:
        if array.children[0] is NULL:
            return "its values are missing"
        return fault_of_offsets(out.slots.slots, kind.load == LOAD_LARGE_LIST, array.offset + used.first, used.count,
                                array.children[0].length, below)
    return None


cdef str spread(Source* out, int64_t width, ArrowArray* array, Span used, Span* below):
    """Set the used slots of a fixed-size list's child: ``width`` for each list."""
    out.width = width
    if width and array.offset + array.length > MOST_SLOTS // width:
        return f"{array.length} lists of {width} values"
    below.first, below.count = (array.offset + used.first) * width, used.count * width
    return None


cdef inline bint load_whole(const Source* s, int load, int64_t slot, int64_t* out) noexcept nogil:
    """Load an integer as int64; False if it is too large."""
    cdef const uint8_t* p = s.slots.slots
    slot += s.slots.offset
    if load == LOAD_I64:
        out[0] = (<const int64_t*>p)[slot]
    elif load == LOAD_I32:
        out[0] = (<const int32_t*>p)[slot]
    elif load == LOAD_I16:
        out[0] = (<const int16_t*>p)[slot]
    elif load == LOAD_I8:
        out[0] = (<const int8_t*>p)[slot]
    elif load == LOAD_U8:
        out[0] = p[slot]
    elif load == LOAD_U16:
        out[0] = (<const uint16_t*>p)[slot]
    elif load == LOAD_U32:
        out[0] = (<const uint32_t*>p)[slot]
    else:
        out[0] = (<const int64_t*>p)[slot]
        return out[0] >= 0
    return True


cdef inline bint load_real(const Source* s, int load, int64_t slot, double* out) noexcept nogil:
    """Load a number as double; False if that would lose digits of an integer."""
    cdef int64_t whole = 0
    if load == LOAD_DOUBLE:
        out[0] = (<const double*>s.slots.slots)[slot + s.slots.offset]
    elif load == LOAD_FLOAT:
        out[0] = (<const float*>s.slots.slots)[slot + s.slots.offset]
    else:
        if not load_whole(s, load, slot, &whole):
            return False
        out[0] = <double>whole
        return out[0] < 9223372036854775808.0 and <int64_t>out[0] == whole
    return True


cdef inline void list_at(const Source* s, int load, int64_t slot, int64_t* first, int64_t* count) noexcept nogil:
    slot += s.slots.offset
    if load == LOAD_LIST:
        first[0] = (<const int32_t*>s.slots.slots)[slot]
        count[0] = (<const int32_t*>s.slots.slots)[slot + 1] - first[0]
    elif load == LOAD_LARGE_LIST:
        first[0] = (<const int64_t*>s.slots.slots)[slot]
        count[0] = (<const int64_t*>s.slots.slots)[slot + 1] - first[0]
    else:
        first[0], count[0] = slot * s.width, s.width
