/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of /proc and /sys as text. */
#include "monitor/host/host_proc.h"

#include "core/text.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

stk__host_file stk__host_file_open(const char *format, ...)
{
    char path[STK_HOST_PATH_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    const bool fits = length > 0 && (size_t)length < sizeof path;
    return (stk__host_file){fits ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1};
}

void stk__host_file_close(stk__host_file *file)
{
    if (file->file >= 0) close(file->file);
    file->file = -1;
}

const char *stk__host_text(const stk__host_file *file, char *text)
{
    if (file->file < 0) return NULL;
    size_t size = 0;
    while (size < STK_HOST_TEXT_BYTES - 1) {
        const ssize_t got = pread(file->file, text + size, STK_HOST_TEXT_BYTES - 1 - size, (off_t)size);
        if (got < 0) return NULL;
        if (got == 0) break;
        size += (size_t)got;
    }
    text[size] = '\0';
    return text;
}

bool stk__host_number(const char **text, uint64_t *number)
{
    const char *at = *text;
    while (stk__is_blank(*at))
        at++;
    if (*at < '0' || *at > '9') return false;
    uint64_t sum = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        sum = sum * 10 + (uint64_t)(*at - '0');
    *number = sum;
    *text = at;
    return true;
}

const char *stk__host_line(const char *text, const char *key)
{
    const size_t length = strlen(key);
    while (*text) {
        if (strncmp(text, key, length) == 0) return text + length;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return NULL;
}

bool stk__host_pressure_us(const char *text, uint64_t *waited_us)
{
    const char *some = stk__host_line(text, "some ");
    const char *total = some ? strstr(some, "total=") : NULL;
    if (!total) return false;
    total += strlen("total=");
    return stk__host_number(&total, waited_us);
}
