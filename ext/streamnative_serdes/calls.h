/* Calls with little around them: of instances (PEP 590), and of methods.
 *
 * Instances are called without a tuple of arguments, for a class with tp_call that may be subclassed and patched. An
 * instance holds the function in a field, its type the field's offset and a flag. Python 3.12 and later keep the flag
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

/* A method for which arguments by position, and no more than must be, have a function of their own: what Cython makes
 * of a signature with a default costs a small message as much as the look-up in the cache. The rest goes the usual way.
 */
typedef PyObject *(*sns_method)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

/* Put quick in the place of the method that the description in type's dict names; slow gets what was there. */
static int sns_quicken(PyTypeObject *type, const char *name, PyMethodDef *quickened, sns_method quick, sns_method *slow) {
    PyObject *method = PyDict_GetItemString(type->tp_dict, name), *replaced;
    int done;
    if (method == NULL || !Py_IS_TYPE(method, &PyMethodDescr_Type)) {
        PyErr_Format(PyExc_SystemError, "%s.%s is no method", type->tp_name, name);
        return -1;
    }
    *quickened = *((PyMethodDescrObject *)method)->d_method;
    if (quickened->ml_flags != (METH_FASTCALL | METH_KEYWORDS)) {
        PyErr_Format(PyExc_SystemError, "%s.%s is called in another way than expected", type->tp_name, name);
        return -1;
    }
    *slow = (sns_method)(void (*)(void))quickened->ml_meth;
    quickened->ml_meth = (PyCFunction)(void (*)(void))quick;
    replaced = PyDescr_NewMethod(type, quickened);
    if (replaced == NULL) return -1;
    done = PyDict_SetItemString(type->tp_dict, name, replaced);
    Py_DECREF(replaced);
    PyType_Modified(type);
    return done;
}

#endif
