/* Offsets of attribute values in instances: the slots of __slots__, and the items of a tuple. Both have a fixed offset
* in each instance. No function here runs Python code, except finalizers of values that are replaced.
 */
#ifndef STREAMNATIVE_SERDES_OBJECTS_H
#define STREAMNATIVE_SERDES_OBJECTS_H

#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "../threads.h"

/* The offset of the slot of a __slots__ descriptor in instances of type; -1 if it is not such a descriptor. */
static inline Py_ssize_t sns_slot_offset(PyTypeObject *type, PyObject *descriptor) {
    PyMemberDescrObject *member = (PyMemberDescrObject *)descriptor;
    if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return -1;
    if (!PyType_HasFeature(PyDescr_TYPE(member), Py_TPFLAGS_HEAPTYPE)) return -1;
    if (!PyType_IsSubtype(type, PyDescr_TYPE(member))) return -1;
    if (member->d_member->type != T_OBJECT_EX || member->d_member->flags != 0) return -1;
    return member->d_member->offset;
}

static inline Py_ssize_t sns_item_offset(Py_ssize_t i) {
    return (Py_ssize_t)(offsetof(PyTupleObject, ob_item) + (size_t)i * sizeof(PyObject *));
}

/* Whether type uses object.__new__. */
static inline int sns_is_plain(PyTypeObject *type) { return type->tp_new == PyBaseObject_Type.tp_new; }

/* Same as object.__new__(type). */
static inline PyObject *sns_new_object(PyTypeObject *type) {
    PyObject *made, *none = PyTuple_New(0);
    if (none == NULL) return NULL;
    made = PyBaseObject_Type.tp_new(type, none, NULL);
    Py_DECREF(none);
    return made;
}

/* Sets __dict__. Steals nothing. */
static inline int sns_set_dict(PyObject *object, PyObject *values) {
    return PyObject_GenericSetDict(object, values, NULL);
}

/* __dict__ of an object that has one; a new reference. */
static inline PyObject *sns_own_dict(PyObject *object) { return PyObject_GenericGetDict(object, NULL); }

/* Whether a value of a dict that only this thread has is None. */
static inline int sns_has_none(PyObject *dict) {
    PyObject *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, NULL, &value)) if (value == Py_None) return 1;
    return 0;
}

/* A new tuple of a subclass, filled with None: it is valid from the start, since gc makes it visible to other code. */
static inline PyObject *sns_new_tuple(PyTypeObject *type, Py_ssize_t n) {
    Py_ssize_t i;
    PyObject *made = type->tp_alloc(type, n);
    if (made == NULL) return NULL;
#if PY_VERSION_HEX >= 0x030E0000
    ((PyTupleObject *)made)->ob_hash = -1;
#endif
    for (i = 0; i < n; i++) PyTuple_SET_ITEM(made, i, Py_NewRef(Py_None));
    return made;
}

/* A new reference, or NULL for a slot without a value. */
static inline PyObject *sns_at(PyObject *object, Py_ssize_t offset) {
    return sns_slot(object, (PyObject **)((char *)object + offset));
}

/* The attribute getter of an object's type, so that each lookup takes one call less. */
typedef PyObject *(*sns_get)(PyObject *, PyObject *);
static inline sns_get sns_getter(PyObject *object) { return Py_TYPE(object)->tp_getattro; }

/* Steals the reference to value. */
static inline void sns_give_at(PyObject *object, Py_ssize_t offset, PyObject *value) {
    PyObject **place = (PyObject **)((char *)object + offset), *before = *place;
    *place = value;
    Py_XDECREF(before);
}

#endif
