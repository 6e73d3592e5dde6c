/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that leave threads behind run in a process of their own and end by _exit, as programs have to. */
#ifndef LEFT_BEHIND_H
#define LEFT_BEHIND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* An assertion that fails in there ends the child with another status. */
static inline void run_in_child(void (*test)(void))
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        test();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#endif
