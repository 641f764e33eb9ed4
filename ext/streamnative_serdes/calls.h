/* Calls of instances without a tuple of arguments (PEP 590), for a class with tp_call that may be subclassed and patched.
 *
 * An instance holds the function in a field, its type the field's offset and a flag. Python 3.12 and later keep the flag
 * right in subclasses, and take it away from a class whose __call__ is replaced. 3.11 does neither, so the flag is
 * handed on when an instance is made, and the function looks whether it is still what a call means.
 */
#ifndef STREAMNATIVE_SERDES_CALLS_H
#define STREAMNATIVE_SERDES_CALLS_H

#include <Python.h>

static inline void sns_set_vectorcall(PyTypeObject *type, Py_ssize_t offset) {
    type->tp_vectorcall_offset = offset;
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified(type);
}

/* Let the type of a new instance be called as base is, if it has not a __call__ of its own. */
static inline void sns_inherit_vectorcall(PyObject *self, PyTypeObject *base) {
#if PY_VERSION_HEX < 0x030C0000
    PyTypeObject *type = Py_TYPE(self);
    if (type->tp_call == base->tp_call && !PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) &&
        PyType_HasFeature(base, Py_TPFLAGS_HAVE_VECTORCALL))
        sns_set_vectorcall(type, base->tp_vectorcall_offset);
#else
    (void)self;
    (void)base;
#endif
}

/* Arguments as tp_call has them: a tuple, and a dict or NULL. */
static PyObject *sns_tuple_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Py_ssize_t i, count = PyVectorcall_NARGS(nargsf), named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *result = NULL, *keywords = named ? PyDict_New() : NULL, *positional = PyTuple_New(count);
    if (positional == NULL || (named && keywords == NULL)) goto done;
    for (i = 0; i < count; i++) PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    for (i = 0; i < named; i++)
        if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(names, i), args[count + i]) < 0) goto done;
    if (Py_EnterRecursiveCall(" while calling a SerDes")) goto done;
    result = Py_TYPE(self)->tp_call(self, positional, keywords);
    Py_LeaveRecursiveCall();
done:
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

#endif
