/* Builds the objects of a record from a list of steps, with the fastest known calls of CPython's public API. */
#ifndef STREAMNATIVE_SERDES_FLOOR_H
#define STREAMNATIVE_SERDES_FLOOR_H

#include <Python.h>
#include <datetime.h>
#include <stdint.h>
#include <string.h>

#include "values.h" /* the codec's own way to create a UUID and a Decimal */
#include "wire.h"   /* the codec's own way to put a field into a record */

#define FLOOR_FEW 5 /* the smallest dict holds 5 fields: up to then, a new dict is faster than a copy that has the names */

/* GIVEN is an existing object: None, a boolean, a symbol of an enum. The steps after a container are its parts; for a
 * map they are key, value, key, value.
 */
enum FloorKind {
    GIVEN, NUMBER, REAL, TEXT, DATETIME, DATE, DECIMAL, UUID_NUMBER,
    RECORD, MAP, LIST
};

typedef union {
    PyObject *object;           /* the existing object, or a dict with the names of a record */
    int64_t number;
    double real;
    const uint8_t *bytes;       /* the bytes of a text, or the 16 bytes of a UUID */
    const int *parts;           /* the parts of a date (3), or of a date and a time (7) */
} FloorValue;

typedef struct {
    int kind;
    int size;                   /* number of characters, scale of a Decimal, or number of parts */
    PyObject *name;             /* name of the field, in a record */
    FloorValue of;
} FloorStep;

static sns_uuid_class floor_uuid_class;
static PyObject *floor_units[32];       /* Decimals: 10**-scale */

static inline PyObject *floor_text(const FloorStep *step) {
    PyObject *text = PyUnicode_New(step->size, 127);
    if (text != NULL) sns_copy(PyUnicode_1BYTE_DATA(text), step->of.bytes, step->size);
    return text;
}

static inline PyObject *floor_leaf(const FloorStep *step) {
    const int *p = step->of.parts;
    switch (step->kind) {
    case GIVEN: Py_INCREF(step->of.object); return step->of.object;
    case NUMBER: return PyLong_FromLongLong(step->of.number);
    case REAL: return PyFloat_FromDouble(step->of.real);
    case TEXT: return floor_text(step);
    case DATETIME:
        return PyDateTimeAPI->DateTime_FromDateAndTime(p[0], p[1], p[2], p[3], p[4], p[5], p[6],
                                                       PyDateTime_TimeZone_UTC, PyDateTimeAPI->DateTimeType);
    case DATE: return PyDateTimeAPI->Date_FromDate(p[0], p[1], p[2], PyDateTimeAPI->DateType);
    case DECIMAL: return sns_product(floor_units[step->size], step->of.number);
    default: return sns_new_uuid(&floor_uuid_class, step->of.bytes);
    }
}

static PyObject *floor_container(const FloorStep **next);

static inline PyObject *floor_next(const FloorStep **next) {
    return (*next)->kind < RECORD ? floor_leaf((*next)++) : floor_container(next);
}

static PyObject *floor_record(const FloorStep *step, const FloorStep **next) {
    PyObject *record = step->size <= FLOOR_FEW ? PyDict_New() : PyDict_Copy(step->of.object), *name, *value;
    int i;
    for (i = 0; record != NULL && i < step->size; i++) {
        name = (*next)->name;
        value = floor_next(next);
        if (value == NULL || sns_set_item(record, name, value) < 0) Py_CLEAR(record);
        Py_XDECREF(value);
    }
    return record;
}

static PyObject *floor_map(const FloorStep *step, const FloorStep **next) {
    PyObject *map = PyDict_New(), *key, *value;
    int i;
    for (i = 0; map != NULL && i < step->size; i++) {
        key = floor_text((*next)++);
        value = key == NULL ? NULL : floor_next(next);
        if (value == NULL || PyDict_SetItem(map, key, value) < 0) Py_CLEAR(map);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return map;
}

static PyObject *floor_list(const FloorStep *step, const FloorStep **next) {
    PyObject *list = PyList_New(step->size), *item;
    int i;
    for (i = 0; list != NULL && i < step->size; i++) {
        item = floor_next(next);
        if (item == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, item);
    }
    return list;
}

static PyObject *floor_container(const FloorStep **next) {
    const FloorStep *step = (*next)++;
    if (step->kind == RECORD) return floor_record(step, next);
    return step->kind == MAP ? floor_map(step, next) : floor_list(step, next);
}

#endif
