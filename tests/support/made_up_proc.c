/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files as Linux does for a process: stat, schedstat, status, cmdline, maps, io. */
#include "support/made_up_proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

void proc_put(const workspace *root, const char *text, const char *format, ...)
{
    char name[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    workspace_put(root, name, text);
}

void proc_put_link(const workspace *root, const char *target, const char *folder, const char *name)
{
    char path[600], entry[100];
    snprintf(entry, sizeof entry, "%s/.x", folder);
    proc_put(root, "", "%s", entry); /* makes the folder */
    snprintf(path, sizeof path, "%s/%s/%s", root->path, folder, name);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

static void put_command(const workspace *root, const made_up_process *p)
{
    char path[600], line[300];
    const size_t length = strlen(p->command);
    proc_put(root, "", "proc/%d/cmdline", p->pid);
    snprintf(path, sizeof path, "%s/proc/%d/cmdline", root->path, p->pid);
    for (size_t i = 0; i <= length; i++)
        line[i] = (char)(p->command[i] == '|' ? '\0' : p->command[i]);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(line, 1, length + 1, file), length + 1);
    fclose(file);
}

void proc_put_process(const workspace *root, made_up_process p)
{
    const long tick = sysconf(_SC_CLK_TCK);
    char text[400];
    snprintf(text, sizeof text,
             "%d (%s) %c %d 1 1 0 -1 4194304 100 0 %d 0 %ld 0 0 0 20 0 3 0 %d 5000000 1000 1 1\n", p.pid,
             p.name, p.state ? p.state : 'S', p.parent, p.faults, (long)(p.cpu_s * (double)tick + 0.5),
             p.start_ticks);
    proc_put(root, text, "proc/%d/stat", p.pid);
    if (p.bare) return;
    snprintf(text, sizeof text, "%lld %lld 7\n", (long long)(p.cpu_s * 1e9), (long long)(p.delay_s * 1e9));
    proc_put(root, text, "proc/%d/schedstat", p.pid);
    proc_put(root, "Name:\tx\nVmSwap:\t     12 kB\n", "proc/%d/status", p.pid);
    if (p.command) put_command(root, &p);
    if (p.maps) proc_put(root, p.maps, "proc/%d/maps", p.pid);
    if (p.read_bytes < 0) return;
    snprintf(text, sizeof text, "rchar: %lld\nwchar: 5\nread_bytes: %lld\nwrite_bytes: 0\n", p.read_bytes,
             p.disk_bytes);
    proc_put(root, text, "proc/%d/io", p.pid);
}

void proc_drop_process(const workspace *root, int pid)
{
    char path[600];
    snprintf(path, sizeof path, "%s/proc/%d/stat", root->path, pid);
    assert_int_equal(unlink(path), 0);
}
