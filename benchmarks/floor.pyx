# cython: language_level=3, binding=False
"""Builds the objects of a record and does nothing else, to measure the cost that CPython itself causes.

A Program holds the content of a message as a flat list of C values, in the order of the fields. ``build()`` creates the
objects from it, without parsing, checks or look-ups of types.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.datetime cimport import_datetime
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t

from array import array
from decimal import Decimal
from uuid import UUID, SafeUUID

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

cdef extern from "values.h":
    ctypedef struct sns_uuid_class:
        PyTypeObject* type
        PyObject* number
        PyObject* safety
        PyObject* unknown

cdef extern from "floor.h":
    enum FloorKind:
        GIVEN, NUMBER, REAL, TEXT, DATETIME, DATE, DECIMAL, UUID_NUMBER, RECORD, MAP, LIST

    ctypedef union FloorValue:
        PyObject* object
        int64_t number
        double real
        const uint8_t* bytes
        const int* parts

    ctypedef struct FloorStep:
        int kind
        int size
        PyObject* name
        FloorValue of

    sns_uuid_class floor_uuid_class
    PyObject* floor_units[32]
    object floor_next(const FloorStep**)

import_datetime()

cdef tuple USED = (UUID, UUID.int, UUID.is_safe, SafeUUID.unknown)
floor_uuid_class.type, floor_uuid_class.number = <PyTypeObject*>USED[0], <PyObject*>USED[1]
floor_uuid_class.safety, floor_uuid_class.unknown = <PyObject*>USED[2], <PyObject*>USED[3]

cdef list UNITS = [Decimal(1).scaleb(-scale) for scale in range(32)]
for scale in range(32):
    floor_units[scale] = <PyObject*>UNITS[scale]

cdef dict KINDS = {
    "null": GIVEN, "boolean": GIVEN, "enum": GIVEN, "int": NUMBER, "long": NUMBER, "float": REAL, "double": REAL,
    "string": TEXT, "timestamp-millis": DATETIME, "date": DATE, "decimal": DECIMAL, "uuid": UUID_NUMBER,
    "record": RECORD, "map": MAP, "array": LIST,
}


cdef Py_ssize_t count_of(object value) except -1:
    """The number of steps needed to build ``value``."""
    if isinstance(value, dict):     # keys are counted too, although keys of records take no step
        return 1 + sum([1 + count_of(one) for one in value.values()])
    return 1 + sum([count_of(one) for one in value]) if isinstance(value, list) else 1


cdef class Program:
    """The steps that build one record, in the order of the fields. A container comes before its parts."""

    cdef FloorStep* steps
    cdef Py_ssize_t count
    cdef list held                  # objects that the steps point to

    def __cinit__(self, schema, value):
        self.steps = <FloorStep*>PyMem_Calloc(count_of(value), sizeof(FloorStep))
        if self.steps is NULL:
            raise MemoryError
        self.held = []
        self.append(schema, value)

    def __dealloc__(self):
        PyMem_Free(self.steps)

    cdef PyObject* hold(self, object thing) except NULL:
        self.held.append(thing)
        return <PyObject*>thing

    cdef FloorStep* append(self, object schema, object value) except NULL:
        """Append the step for ``value`` of ``schema`` (parsed JSON), followed by the steps for its parts."""
        cdef FloorStep* step = &self.steps[self.count]
        self.count += 1
        if isinstance(schema, list):
            schema = next(branch for branch in schema if (branch == "null") == (value is None))
        step.kind = KINDS[schema if isinstance(schema, str) else schema.get("logicalType", schema["type"])]
        if step.kind >= RECORD:
            step.size = len(value)
            self.append_parts(step, schema, value)
        else:
            self.fill(step, value)
        return step

    cdef int fill(self, FloorStep* step, object value) except -1:
        cdef Py_ssize_t size = 0
        if step.kind == NUMBER:
            step.of.number = value
        elif step.kind == REAL:
            step.of.real = value
        elif step.kind == TEXT:
            assert value.isascii() and len(value) > 1, "CPython caches shorter texts, and decodes non-ASCII ones"
            step.of.bytes = <const uint8_t*>PyUnicode_AsUTF8AndSize(<object>self.hold(value), &size)
            step.size = <int>size
        elif step.kind == UUID_NUMBER:
            step.of.bytes = <const uint8_t*>PyBytes_AS_STRING(<object>self.hold(value.bytes))
        elif step.kind == DECIMAL:
            step.size = -value.as_tuple().exponent
            step.of.number = int(value.scaleb(step.size))
        elif step.kind == DATE or step.kind == DATETIME:
            parts = array("i", [*value.timetuple()[:6], getattr(value, "microsecond", 0)])
            step.of.parts = <const int*><size_t>(<object>self.hold(parts)).buffer_info()[0]
        else:
            step.of.object = self.hold(value)
        return 0

    cdef int append_parts(self, FloorStep* step, object schema, object value) except -1:
        if step.kind == RECORD:
            step.of.object = self.hold(dict.fromkeys(value))
            for field in schema["fields"]:
                self.append(field["type"], value[field["name"]]).name = self.hold(field["name"])
        elif step.kind == MAP:
            for key, one in value.items():
                self.append("string", key)
                self.append(schema["values"], one)
        else:
            for one in value:
                self.append(schema["items"], one)
        return 0


def build(Program program not None):
    """Build the record and return it."""
    cdef const FloorStep* step = program.steps
    return floor_next(&step)
