# Matches a value to the branches of a union: by its exact type first; then by range, size or symbols, and for records
# by the names and types of their fields. Nothing is written here.

# Stands for the type of dataclasses, named tuples and rows: they can be records, but not maps.
cdef object OBJECT = object()

# Kind of branch -> the types that it accepts, each with a rank: 0 is an exact match, and of equal ranks the first
# branch wins. Text is rarely a symbol by accident, so an enum ranks before a string; bytes often have the size of a
# fixed by accident, so bytes and fixed rank equally.
cdef dict TAKES = {
    NULL_KIND: ((type(None), 0),),
    BOOLEAN: ((bool, 0),),
    INT: ((int, 0),),
    LONG: ((int, 1),),
    DOUBLE: ((float, 0), (int, 2)),
    FLOAT: ((float, 1), (int, 3)),      # a double is lossless, so it ranks before a float
    STRING: ((str, 1),),
    ENUM: ((str, 0),),
    BYTES: ((bytes, 0),),
    FIXED: ((bytes, 0),),
    ARRAY: ((list, 0),),
    MAP: ((dict, 0),),
    RECORD: ((dict, 0), (OBJECT, 0)),
    DATE: ((datetime.date, 0), (int, 4)),
    TIME: ((datetime.time, 0), (int, 4)),
    TIMESTAMP: ((datetime.datetime, 0), (int, 4)),
    LOCAL_TIMESTAMP: ((datetime.datetime, 0), (int, 4)),
    NANOS: ((int, 4), (datetime.datetime, 1)),
    DECIMAL: ((Decimal, 0), (int, 4)),
    BIG_DECIMAL: ((Decimal, 0), (int, 4)),
    UUID_TEXT: ((UUID, 0), (str, 1)),
    UUID_FIXED: ((UUID, 0), (bytes, 1), (str, 2)),
    DURATION: ((Duration, 0), (list, 1)),
}
cdef dict ACCEPTS = {kind: frozenset([type_ for type_, _rank in pairs]) for kind, pairs in TAKES.items()}

# Type of a value -> the plain type by which its branch is looked up.
cdef dict PLAIN = {
    type_: type_
    for type_ in (type(None), bool, int, float, str, bytes, list, dict, datetime.datetime, datetime.date,
                  datetime.time, Decimal, UUID, Duration)
} | {tuple: list, bytearray: bytes, memoryview: bytes}

cdef enum:
    NO
    MAYBE
    YES

cdef int64_t PLACE = (1 << 20) - 1      # mask of the low bits of a rank; unknown and missing fields have as many
cdef int64_t ONE_UNKNOWN = 1 << 40
cdef int64_t UNFIT = 1 << 60
cdef int64_t EXACT_DOUBLE = 1 << 53     # ints up to here convert without loss
cdef int64_t EXACT_FLOAT = 1 << 24


cdef dict branches_by_type(list branches):
    cdef dict ranked = {}
    for i, branch in enumerate(branches):
        for type_, rank in TAKES.get((<Node>branch).kind, ()):
            ranked.setdefault(type_, []).append((rank, i))
    found = {type_: tuple([i for _rank, i in sorted(pairs)]) for type_, pairs in ranked.items()}
    return found | {type_: found[plain] for type_, plain in PLAIN.items() if plain in found}


cdef dict branches_by_shape(list branches):
    """Map each class that has a shape straight to its branch."""
    cdef dict found = {}
    for i, branch in enumerate(branches):
        if (<Node>branch).kind == RECORD and (<RecordNode>branch).maker is not None:
            found[(<RecordNode>branch).maker.cls] = (i,)
        elif (<Node>branch).kind == ENUM and (<EnumNode>branch).shape is not None:
            found[(<EnumNode>branch).shape.cls] = (i,)
    return found


cdef tuple candidates_for(UnionNode node, object value):
    """Return the branches that may accept ``value``, best first. Raises EncodeError if there are none."""
    cdef PyObject* hit = dict_item(<PyObject*>node.by_type, type(value))
    cdef tuple found
    if hit is NULL:
        return candidates_for_object(node, value)
    found = <tuple>hit
    if PyDict_CheckExact(value):
        return candidates_for_dict(node, found, value)
    return found if len(found) == 1 else narrowed(node, found, value)


cdef tuple candidates_for_dict(UnionNode node, tuple found, object value):
    cdef PyObject* hit
    cdef Py_ssize_t branch
    if len(found) == 1 and not has_more_keys(<PyObject*>node.branches[found[0]], value):
        return found
    hit = sns_item(value, TYPE_HINT)
    if hit is not NULL:
        name = given(hit)
        branch = branch_of_hint(node, name)
        if branch >= 0:
            return node.alone[branch]
    return found if len(found) == 1 else by_shape(node, found, value)


cdef tuple candidates_for_object(UnionNode node, object value):
    """As candidates_for, for subclasses, mappings and objects: the branch they name, or else by their plain type."""
    cdef object plain = like(value)
    cdef Py_ssize_t branch = branch_said(node, value, plain)
    cdef tuple found
    if branch >= 0:
        return node.alone[branch]
    found = node.by_type.get(plain, ())
    if not found and PyObject_CheckBuffer(value):       # an array of numbers may be meant as bytes
        found = node.by_type.get(bytes, ())
    if not found:
        expected(node.label, value, "pass to_dict to turn objects into mappings" if OBJECT in node.by_type else None)
    if len(found) == 1:
        return found
    return by_shape(node, found, value) if plain is dict or plain is OBJECT else narrowed(node, found, value)


cdef Py_ssize_t branch_said(UnionNode node, object value, object plain) except -2:
    """Return the branch named by a "-type", an enum's symbol or the class's name (except Spark's Row); else -1."""
    cdef int kind = RECORD
    if isinstance(value, PyEnum):
        kind = ENUM
    elif plain is dict:
        name = value.get(TYPE_HINT, ABSENT)
        return -1 if name is ABSENT else branch_of_hint(node, name)
    elif plain is not OBJECT or is_spark_row(value):
        return -1
    branch = branch_called(node.names, type(value).__name__)
    if branch >= 0 and (<Node>node.branches[branch]).kind == kind:
        return branch
    return branch_of_member(node, value) if kind == ENUM else -1


cdef Py_ssize_t branch_of_member(UnionNode node, object value) except -2:
    for i, branch in enumerate(node.branches):
        if (<Node>branch).kind == ENUM and symbol_number(<EnumNode>branch, value) >= 0:
            return i
    return -1


cdef object like(object value):
    """Return the plain type by which a union looks up the branch of ``value``."""
    cdef object type_ = type(value)
    if type_ in PLAIN:
        return PLAIN[type_]
    if isinstance(value, tuple):
        return list if field_names(value) is None else OBJECT
    for plain in (str, int, float, bytes, datetime.datetime, datetime.date, datetime.time, Decimal, UUID, list, dict):
        if isinstance(value, plain):
            return plain
    if is_dataclass(value):
        return OBJECT
    if isinstance(value, Mapping):
        return dict
    if is_numpy(value, BOOLEANS):
        return bool
    if is_numpy(value, TIMES):
        return type_
    if PyObject_CheckBuffer(value) and hasattr(type_, "__len__") and not hasattr(type_, "tolist"):
        return bytes
    if is_sequence(value):
        return list
    if PyIndex_Check(value):
        return int
    if hasattr(type_, "__float__"):
        return float
    return type_ if shapes_of_classes.attributes_by_field(type_, NO_FIELDS) is None else OBJECT


# --- of several branches for one type ---------------------------------------------------------------------------------

cdef tuple narrowed(UnionNode node, tuple found, object value):
    """Keep the branches whose range, size and symbols allow ``value``; only one if it is a certain match."""
    cdef list left = []
    cdef int fit
    for i in found:
        fit = fit_of(<Node>node.branches[i], value)
        if fit == YES and not left:
            return node.alone[i]
        if fit != NO:
            left.append(i)
    return tuple(left) or found


cdef int fit_of(Node node, object value) except -1:
    cdef int64_t number = 0
    cdef int kind = node.kind
    if PyLong_Check(value):
        return fit_of_int(kind, value)
    if kind == ENUM:
        return YES if symbol_number(<EnumNode>node, value) >= 0 else NO
    if PyBytes_Check(value) and (kind == FIXED or kind == UUID_FIXED):
        return YES if PyBytes_GET_SIZE(value) == node.size else NO
    if kind == DECIMAL and quick_unscaled(node, value, &number):
        return YES
    return YES if kind == STRING or kind == BYTES or kind == DOUBLE else MAYBE


cdef int fit_of_int(int kind, object value) except -1:
    cdef int64_t number = 0
    if sns_as_int64(value, &number):
        return NO if kind == INT or kind == LONG else MAYBE
    if kind == INT:
        return YES if number == <int32_t>number else NO
    if kind == LONG or (kind == DOUBLE and -EXACT_DOUBLE <= number <= EXACT_DOUBLE):
        return YES
    return YES if kind == FLOAT and -EXACT_FLOAT <= number <= EXACT_FLOAT else MAYBE


cdef tuple by_shape(UnionNode node, tuple found, object value):
    """Keep the records and maps whose field names allow ``value``, then those whose field types do. Order them by the
    fewest unknown fields, then by the fewest missing ones. Names come before types: no record that would leave out a
    key is a candidate beside one that has all keys."""
    cdef object get = DICT_GET
    cdef set names = None
    cdef list ranks
    cdef int64_t first, second, last
    cdef dict by_field = None if PyDict_CheckExact(value) or is_spark_row(value) else values_by_field(NO_FIELDS, value)
    if by_field is not None:
        value = by_field
    elif isinstance(value, tuple):
        value = dict(zip(field_names(value), value))
    elif is_dataclass(value):
        get, names = None, set(declared(value))
    elif not PyDict_CheckExact(value) and not is_stored_dict(value):
        get, names = value.get, set(islice(value, len(value)))
    ranks = [rank_of(<Node>node.branches[i], value, get, names) | place for place, i in enumerate(found)]
    ranks.sort()
    first, second, last = ranks[0], ranks[1], ranks[len(ranks) - 1]
    if first < ONE_UNKNOWN and UNFIT <= second:
        return node.alone[found[first & PLACE]]
    if ONE_UNKNOWN <= last:
        ranks = with_all_keys(node, found, ranks)
        if len(ranks) == 1 or ranks[0] < UNFIT <= ranks[1]:
            return node.alone[found[ranks[0] & PLACE]]
        if ranks[0] < UNFIT:
            ranks = [rank for rank in ranks if rank < UNFIT]
    fitting = [rank for rank in ranks if types_fit(<Node>node.branches[found[rank & PLACE]], value, get)]
    return tuple([found[rank & PLACE] for rank in fitting or ranks])


cdef list with_all_keys(UnionNode node, tuple found, list ranks):
    """Leave out the records that do not have all keys of the value if another record has them; a map has any keys."""
    cdef list whole = [rank for rank in ranks if rank & ~UNFIT < ONE_UNKNOWN]
    if not whole:
        return ranks
    return sorted(whole + [rank for rank in ranks if (<Node>node.branches[found[rank & PLACE]]).kind == MAP])


cdef int64_t rank_of(Node node, object value, object get, set names) except -1:
    """Return a rank, lower is better: UNFIT if the names rule the branch out, then unknown fields, then missing ones;
    the low bits stay free for the branch's place."""
    cdef Py_ssize_t i, present = 0, unknown
    cdef RecordNode record
    cdef bint unfit = False
    if node.kind != RECORD:
        return ONE_UNKNOWN              # as one unknown field: a map ranks before a record that lacks two of the keys
    record = <RecordNode>node
    for i in range(record.count):
        if part_of(value, get, <object>record.fields[i].name) is not ABSENT:
            present += 1
        elif record.missing[i] is None:
            unfit = True
    unknown = PyDict_Size(value) - present if names is None else len(names - record.known)
    unfit |= unknown > 0 and record.closed
    return (UNFIT if unfit else 0) + (min(max(unknown, 0), PLACE) << 40) + (min(record.count - present, PLACE) << 20)


cdef bint types_fit(Node node, object value, object get) except -1:
    """Whether each field could accept its value, judging by types alone."""
    cdef Py_ssize_t i
    cdef RecordNode record
    if node.kind != RECORD:
        return True
    record = <RecordNode>node
    for i in range(record.count):
        one = part_of(value, get, <object>record.fields[i].name)
        if one is not ABSENT and not takes(<Node>record.fields[i].node, one):
            return False
    return True


cdef bint takes(Node node, object value) except -1:
    cdef object plain
    if node.kind == OPTIONAL or node.kind == UNION:
        if PyTuple_CheckExact(value):       # (name, value)
            return True
        if node.kind == UNION:
            return like(value) in (<UnionNode>node).by_type or isinstance(value, PyEnum)
        return value is None or takes((<OptionalNode>node).inner, value)
    plain = like(value)
    return plain in <frozenset>ACCEPTS[node.kind] or (node.kind == ENUM and isinstance(value, PyEnum))
