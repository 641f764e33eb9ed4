/* Fast calls of instances (PEP 590 vectorcall).
 *
 * Vectorcall calls an instance without building a tuple of arguments, for a class with tp_call that users may subclass
 * and patch. The instance stores the function in a field; its type stores the offset of that field and a flag. Python
 * 3.12 and later pass the flag on to subclasses and clear it when a class's __call__ is replaced. Python 3.11 does
 * neither, so the flag is set when an instance is created, and the function checks that __call__ was not replaced.
 */
#ifndef STREAMNATIVE_SERDES_CALLS_H
#define STREAMNATIVE_SERDES_CALLS_H

#include <Python.h>

static inline void sns_set_vectorcall(PyTypeObject *type, Py_ssize_t offset) {
    type->tp_vectorcall_offset = offset;
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified(type);
}

/* Give the type of a new instance the vectorcall of base, unless it defines its own __call__. */
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

/* Convert vectorcall arguments to a tuple and a dict (or NULL), and call tp_call. */
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
