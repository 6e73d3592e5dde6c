/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for results that Python gets and gives back: to touch the pages of new memory takes several times as
 * long as a call of the fused pass, so memory that came back is lent again. Threads: any, without the GIL. */
#ifndef STK_PYTHON_LOAN_POOL_H
#define STK_PYTHON_LOAN_POOL_H

#include "loan.h"

typedef struct stk__loan_pool stk__loan_pool;

stk__loan_pool *stk__loan_pool_create(void); /* NULL: out of memory */
/* Its owner is gone; it lives on while loans of it do. NULL: nothing. */
void stk__loan_pool_release(stk__loan_pool *pool);

/* A loan of one tensor, the images of its batch: dense, of this type and shape, not initialized. NULL: out of
 * memory. */
stk__loan *stk__loan_pool_take(stk__loan_pool *pool, const stk_tensor *like);
/* From stk__loan_release: the memory of a loan that nobody holds any more. */
void stk__loan_pool_give(stk__loan_pool *pool, stk__loan *loan);

#endif
