# Names Arrow types in errors as users know them: the C data interface only has short format strings.

TYPE_NAMES = {"n": "null", "b": "bool", "c": "int8", "s": "int16", "i": "int32", "l": "int64", "C": "uint8",
              "S": "uint16", "I": "uint32", "L": "uint64", "e": "halffloat", "f": "float", "g": "double",
              "u": "string", "U": "large_string", "vu": "string_view", "z": "binary", "Z": "large_binary",
              "vz": "binary_view", "tdD": "date32", "tdm": "date64", "tiM": "month_interval",
              "tiD": "day_time_interval", "tin": "month_day_nano_interval", "+s": "struct", "+m": "map", "+l": "list",
              "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view", "+r": "run_end_encoded",
              "+ud": "dense_union", "+us": "sparse_union", "w": "fixed_size_binary", "+w": "fixed_size_list",
              "tt": "time", "ts": "timestamp", "tD": "duration"}
UNIT_NAMES = {"s": "s", "m": "ms", "u": "us", "n": "ns"}


cdef str type_name(bytes format):
    """Return Arrow's name for the type of a format, without child types: ``timestamp[us, tz=UTC]``, ``list``."""
    text = format.decode("utf-8", "replace")
    head, _, rest = text.partition(":")
    kind, unit = head[:2], UNIT_NAMES.get(head[2:])
    if text in TYPE_NAMES:
        return TYPE_NAMES[text]
    if head == "d" and "," in rest:
        precision, scale, *bits = rest.split(",")
        return f"decimal{bits[0] if bits else 128}({precision}, {scale})"
    if head in ("w", "+w"):
        return f"{TYPE_NAMES[head]}[{rest}]"
    if kind in ("tt", "ts", "tD") and unit is not None:
        bits = "" if kind != "tt" else "32" if unit in ("s", "ms") else "64"
        return f"{TYPE_NAMES[kind]}{bits}[{unit}{', tz=' + rest if rest else ''}]"
    return TYPE_NAMES.get(head, f"a type of format {text!r:.80}")
