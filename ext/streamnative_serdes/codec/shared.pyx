# What the codec of objects and that of columns (arrow/) share: limits, and how errors show labels, paths and values.

cdef enum:
    MAX_SCHEMA_DEPTH = 1_024    # levels of nested types; above the largest value of max.schema.depth
    MAX_DECIMAL_BYTES = 1_786   # 4,300 digits: CPython's limit for int from text
    MAX_LABEL = 200             # characters of a type's name in an error
    MAX_PATH = 1000             # characters of each end of a path in an error
    MAX_TEXT_IN_ERROR = 80      # characters of a value quoted in an error
    MAX_NAMES_IN_ERROR = 20     # symbols, fields or branches listed in an error

cdef int64_t DAY = 86_400_000_000               # microseconds
cdef int64_t FIRST_DAY = -719_162               # 0001-01-01, in days since 1970-01-01
cdef int64_t LAST_DAY = 2_932_896               # 9999-12-31
cdef str TO_NUMBERS = "with avro.logical.types=false it is a number, as it is stored"

# Type -> lower bound on the encoded size, in bytes.
MINIMUM = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}


cdef str clipped_label(str label):
    return label if len(label) <= MAX_LABEL else label[:MAX_LABEL] + "..."


cdef str quoted(object value):
    """Show text or bytes in an error, never long."""
    return repr(value[:MAX_TEXT_IN_ERROR]) + ("..." if len(value) > MAX_TEXT_IN_ERROR else "")


# A path is made of these segments: ``user.tags["a"][3]``.

cdef str field_segment(object name):
    return f".{name[:MAX_TEXT_IN_ERROR]}"


cdef str item_segment(int64_t index):
    return f"[{index}]"


cdef str key_segment(str key):
    return f"[{dumps(key[:MAX_TEXT_IN_ERROR], ensure_ascii=False)}]"


cdef str joined(list segments):
    cdef str path = "".join(segments).lstrip(".")
    return path if len(path) <= 2 * MAX_PATH else f"{path[:MAX_PATH]}...{path[-MAX_PATH:]}"


cdef str why_bad_varint(const uint8_t* start, const uint8_t* end, int64_t width):
    cdef const uint8_t* p = start
    while p < end and p - start < 10 and p[0] >= 0x80:
        p += 1
    if p == end:
        return "the message ends in the middle of a number: it is truncated or of another schema"
    return f"expected a variable-length integer of at most {width} bits, got a larger one"
