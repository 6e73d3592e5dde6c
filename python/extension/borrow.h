/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of other people's arrays as stk_tensor, for the time of a call. */
#ifndef STK_PYTHON_BORROW_H
#define STK_PYTHON_BORROW_H

#include "py_module.h"

typedef struct stk__borrowed {
    stk_tensor tensor; /* dtype NONE: nothing is borrowed */
    Py_buffer view;    /* obj NULL: by DLPack */
    PyObject *capsule; /* of DLPack; its destructor calls the deleter */
} stk__borrowed;

/* The array's memory, by the buffer protocol (NumPy) or else DLPack (PyTorch); nothing for None. False with
 * an exception that begins with the name: not an array, not writable though it has to be, not in host memory,
 * of a type that Stoker does not know. */
bool stk__borrow(stk__borrowed *borrowed, PyObject *array, const char *name, bool writable);
/* The same, also from the memory of the CUDA GPU of this number, which is PyTorch's current one; work of
 * streams that uses it has ended. -1: of none. */
bool stk__borrow_on(stk__borrowed *borrowed, PyObject *array, const char *name, bool writable, int gpu);
void stk__borrow_end(stk__borrowed *borrowed);

#endif
