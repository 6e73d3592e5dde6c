/* SPDX-License-Identifier: Apache-2.0 */
/* Names of statuses and damages, and filling stk_error. Threads: no state. */
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifndef STK_VERSION
#define STK_VERSION "unknown"
#endif

const char *stk_version(void)
{
    return STK_VERSION;
}

const char *stk_status_name(stk_status status)
{
    static const char *const errors[] = {
        "ok",   "argument", "config",  "memory",      "thread", "io",
        "data", "sample",   "timeout", "interrupted", "state",  "unsupported",
    };
    if (status == STK_END) return "end";
    if (status == STK_AGAIN) return "again";
    const int number = -(int)status;
    if (number < 0 || number >= (int)(sizeof errors / sizeof errors[0])) return "unknown";
    return errors[number];
}

_Static_assert((int)STK_DAMAGE_COUNT <= STK_DAMAGE_CAPACITY,
               "public arrays have no room for so many classes");

static const struct {
    const char *word, *sentence;
} damages[] = {
#define DAMAGE_TEXT(id, word, sentence) {word, sentence},
    STK_DAMAGE_LIST(DAMAGE_TEXT)
#undef DAMAGE_TEXT
};

const char *stk_damage_name(stk_damage damage)
{
    return (unsigned)damage < STK_DAMAGE_COUNT ? damages[damage].word : "unknown";
}

const char *stk_damage_phrase(stk_damage damage)
{
    return (unsigned)damage < STK_DAMAGE_COUNT ? damages[damage].sentence : "unknown";
}

void stk__error_clear(stk_error *error)
{
    if (!error) return;
    error->code = STK_OK;
    error->damage = STK_DAMAGE_NONE;
    error->message[0] = error->place[0] = error->hint[0] = '\0';
}

static void set_message(stk_error *error, stk_status code, const char *format, va_list arguments)
{
    if (!error) return;
    stk__error_clear(error);
    error->code = code;
    vsnprintf(error->message, sizeof error->message, format, arguments);
}

stk_status stk__fail(stk_error *error, stk_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_message(error, code, format, arguments);
    va_end(arguments);
    return code;
}

stk_status stk__damaged(stk_error *error, stk_damage damage, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_message(error, STK_ERROR_SAMPLE, format, arguments);
    va_end(arguments);
    if (error) error->damage = damage;
    return STK_ERROR_SAMPLE;
}

stk_status stk__fail_errno(stk_error *error, int error_number, const char *format, ...)
{
    const stk_status code = error_number == ENOMEM ? STK_ERROR_MEMORY : STK_ERROR_IO;
    va_list arguments;
    va_start(arguments, format);
    set_message(error, code, format, arguments);
    va_end(arguments);
    if (error) {
        char text[128];
        const char *reason = strerror_r(error_number, text, sizeof text);
        const size_t used = strlen(error->message);
        snprintf(error->message + used, sizeof error->message - used, ": %s", reason);
    }
    return code;
}

void stk__place_copy(char *to, size_t room, const char *place)
{
    const size_t size = strlen(place);
    if (size < room)
        memcpy(to, place, size + 1);
    else
        snprintf(to, room, "…%s", place + (size - (room - 1) + strlen("…")));
}

void stk__error_place(stk_error *error, const char *format, ...)
{
    if (!error) return;
    char text[4608] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    stk__place_copy(error->place, sizeof error->place, text);
}

void stk__error_hint(stk_error *error, const char *format, ...)
{
    if (!error) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->hint, sizeof error->hint, format, arguments);
    va_end(arguments);
}

stk_status stk__fail_memory(stk_error *error, unsigned long long size_bytes, const char *what)
{
    return stk__fail(error, STK_ERROR_MEMORY, "out of memory for %s (%llu bytes)", what, size_bytes);
}
