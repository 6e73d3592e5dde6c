/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in use under a lock. Nobody waits for a second thing while holding bytes, so everybody gets through.
 */
#include "decode/inflate_gate.h"

#include "core/clock.h"
#include "core/thread.h"

stk_status stk__inflate_gate_init(stk__inflate_gate *gate, stk_error *error)
{
    STK__TRY(stk__cond_init(&gate->left, error));
    pthread_mutex_init(&gate->lock, NULL);
    gate->made = true;
    return STK_OK;
}

void stk__inflate_gate_fini(stk__inflate_gate *gate)
{
    if (!gate->made) return;
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->left);
    gate->made = false;
}

void stk__inflate_gate_enter(stk__inflate_gate *gate, uint64_t size_bytes)
{
    if (!gate) return;
    pthread_mutex_lock(&gate->lock);
    while (gate->used_bytes &&
           (gate->used_bytes > gate->limit_bytes || size_bytes > gate->limit_bytes - gate->used_bytes))
        stk__cond_wait(&gate->left, &gate->lock, stk__clock_ns() + STK_SECOND_NS);
    gate->used_bytes += size_bytes;
    pthread_mutex_unlock(&gate->lock);
}

void stk__inflate_gate_leave(stk__inflate_gate *gate, uint64_t size_bytes)
{
    if (!gate) return;
    pthread_mutex_lock(&gate->lock);
    gate->used_bytes -= size_bytes;
    gate->left_ns = stk__clock_ns();
    pthread_cond_broadcast(&gate->left);
    pthread_mutex_unlock(&gate->lock);
}

bool stk__inflate_gate_moves(stk__inflate_gate *gate, uint64_t within_ns)
{
    pthread_mutex_lock(&gate->lock);
    const bool moves = gate->left_ns && stk__clock_ns() - gate->left_ns < within_ns;
    pthread_mutex_unlock(&gate->lock);
    return moves;
}
