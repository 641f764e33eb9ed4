# Field defaults: encodes the JSON defaults of a schema to Avro bytes, once, when the plan is built.

NOT_FINITE = ("NaN", "Infinity", "-Infinity")       # same as in streamnative_serdes._schema
NO_FIT = (SchemaError, ValueError, TypeError, LookupError, OverflowError, AttributeError, struct.error)


class Unreadable(SchemaError):
    """A default of the right type that readers would refuse, so that no other branch of a union is tried."""


cdef bint has_default(object field) except -1:
    # streamnative_serdes._schema.MISSING, recognized by its class name: compiled modules import no schema types.
    return type(field.default).__name__ != "Missing"


@cython.final
cdef class DefaultWriter:
    """Encodes the defaults of one schema, which may come from a registry: depth, steps and size are bounded."""
    cdef bytearray out
    cdef int steps
    cdef Py_ssize_t size_left
    cdef bint logical                       # logical types are used, not just their base types
    cdef bint reading                       # as for data, decimals may have more digits than their precision

    def __cinit__(self, bint logical, bint reading):
        self.logical, self.reading = logical, reading
        self.steps = 100_000
        self.size_left = 16 << 20           # bytes

    cdef tuple of(self, object field):
        """Return (Avro bytes to write when a datum lacks the field, None), or (None, why there are none)."""
        cdef object default = field.default
        if not has_default(field):
            # A missing optional field is null, as in all Avro libraries for Python.
            if field.type.kind != "union" or "null" not in [branch.kind for branch in field.type.branches]:
                return None, "the field is missing and has no default"
            default = None
        self.out = bytearray()
        try:
            self.put(field.type, default, 0)
        except NO_FIT as error:
            return None, f"the field is missing and its default {shorten(default)} does not fit: {error}"
        return bytes(self.out), None

    cdef int put(self, object schema, object value, int depth) except -1:
        """Append ``value``. Raises one of NO_FIT if it does not match ``schema``."""
        cdef str kind = schema.kind
        cdef str logical = schema.logical.name if self.logical and getattr(schema, "logical", None) is not None else ""
        self.steps -= 1
        if logical == "decimal" and not self.reading:
            expect_digits(schema.logical.precision, value)
        if logical == "uuid" and kind == "string":
            expect_uuid(value)
        if depth > MAX_DEPTH or self.steps < 0 or self.size_left < 0:
            raise SchemaError("the default contains itself, or the defaults of the schema are too large")
        if kind == "union":
            self.put_union(schema, value, depth)
        elif kind == "record":
            for field in schema.fields:
                self.put(field.type, value.get(field.name, field.default), depth + 1)
        elif kind == "array" or kind == "map":
            self.put_items(schema, value, depth)
        elif kind == "enum":
            self.put_long(schema.symbols.index(value))
        elif kind == "fixed":
            raw = value.encode("latin-1")       # code points 0 to 255 stand for bytes
            self.size_left -= len(raw)
            if len(raw) != schema.size:
                raise SchemaError(f"expected {schema.size} bytes")
            self.out += raw
        else:
            self.put_primitive(kind, value)
        return 0

    cdef int put_union(self, object schema, object value, int depth) except -1:
        cdef Py_ssize_t start = len(self.out)
        for i, branch in enumerate(schema.branches):
            try:
                self.put_long(i)
                self.put(branch, value, depth + 1)
                return 0
            except NO_FIT as error:
                if isinstance(error, Unreadable):
                    raise
                del self.out[start:]
        raise SchemaError("the value matches no branch of the union")

    cdef int put_items(self, object schema, object value, int depth) except -1:
        if type(value) is not (list if schema.kind == "array" else dict):
            raise SchemaError(f"expected {schema.kind}")
        if value:
            self.put_long(len(value))
        for item in value:
            if schema.kind == "map":
                self.put_primitive("string", item)
                self.put(schema.values, value[item], depth + 1)
            else:
                self.put(schema.items, item, depth + 1)
        return self.put_long(0)

    cdef int put_primitive(self, str kind, object value) except -1:
        cdef int bits = 32 if kind == "int" else 64
        if kind == "null" and value is None:
            return 0
        if kind == "boolean" and type(value) is bool:
            self.out.append(value)
        elif (kind == "int" or kind == "long") and type(value) is int and \
                (value if value >= 0 else ~value).bit_length() < bits:
            self.put_long(value)
        elif (kind == "float" or kind == "double") and (type(value) in (int, float) or value in NOT_FINITE):
            self.out += struct.pack("<f" if kind == "float" else "<d", float(value))
        elif (kind == "string" or kind == "bytes") and type(value) is str:
            raw = value.encode("utf-8" if kind == "string" else "latin-1")
            self.size_left -= len(raw)      # never refunded, even if this branch fails
            self.put_long(len(raw))
            self.out += raw
        else:
            raise SchemaError(f"expected {kind}")
        return 0

    cdef int put_long(self, object value) except -1:
        cdef uint8_t text[10]
        cdef uint8_t* end = sns_put_varint(text, sns_zigzag(<int64_t>value))
        self.out += (<char*>text)[:end - text]
        return 0


cdef int expect_digits(int precision, object default) except -1:
    """Raise Unreadable if the default of a decimal has more digits than its precision."""
    cdef object number = int.from_bytes(default.encode("latin-1"), "big", signed=True)
    if abs(number) >= TEN ** precision:
        raise Unreadable(f"it has more than {precision} digits")
    return 0


cdef int expect_uuid(object default) except -1:
    """Raise Unreadable if the default of a UUID is text of another kind."""
    if type(default) is not str:
        return 0                                    # of another branch
    try:
        UUID(default)
    except ValueError as error:
        raise Unreadable(words_of(error)) from None
    return 0
