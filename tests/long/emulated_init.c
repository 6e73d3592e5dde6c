/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of the machine that avx512.sh emulates: runs the commands of /commands (an argument per
 * line, an empty line after each command), prints the status of the last one run and switches the machine
 * off. After a command that fails no other is run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { ARGUMENTS = 64, SHUTDOWN_PORT = 0x8900 };

static void prepare(void)
{
    struct termios console;
    if (tcgetattr(STDOUT_FILENO, &console) == 0) {
        console.c_oflag &= ~(tcflag_t)OPOST; /* the file behind the serial line gets the bytes as they are */
        tcsetattr(STDOUT_FILENO, TCSANOW, &console);
    }
    mount("dev", "/dev", "devtmpfs", 0, "");
    mount("proc", "/proc", "proc", 0, "");
    mount("sys", "/sys", "sysfs", 0, "");
    setenv("TMPDIR", "/tmp", 1);
}

/* Without this a test that leaves out what the CPU cannot do would pass without a single instruction of it.
 */
static int check_cpu(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 0;
    printf("the emulated machine has no AVX-512\n");
    return 1;
}

/* The kernel says which instruction killed a program; its messages are not shown otherwise. */
static void report_signal(int signal)
{
    enum { READ_ALL = 3 };
    char last[200];
    const int length = klogctl(READ_ALL, last, sizeof last);
    printf("killed by signal %d; the kernel's last words: %.*s\n", signal, length > 0 ? length : 0, last);
}

static int run(char **arguments)
{
    printf("=== %s\n", strrchr(arguments[0], '/') + 1);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execv(arguments[0], arguments);
        perror(arguments[0]);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 126;
    if (WIFSIGNALED(status)) report_signal(WTERMSIG(status));
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_commands(FILE *file)
{
    static char lines[ARGUMENTS][4096];
    char *arguments[ARGUMENTS + 1];
    int count = 0, status = file ? 0 : 126;
    while (status == 0 && count < ARGUMENTS && fgets(lines[count], sizeof lines[count], file)) {
        lines[count][strcspn(lines[count], "\n")] = 0;
        arguments[count] = lines[count];
        if (lines[count][0]) {
            count++;
            continue;
        }
        arguments[count] = NULL;
        status = run(arguments);
        count = 0;
    }
    return status == 0 && count ? 126 : status; /* a command without end: too many arguments */
}

int main(void)
{
    prepare();
    int status = check_cpu();
    if (status == 0) status = run_commands(fopen("/commands", "r"));
    printf("=== status %d\n", status);
    fflush(stdout);
    tcdrain(STDOUT_FILENO);
    iopl(3);
    for (const char *word = "Shutdown"; *word; word++)
        outb((unsigned char)*word, SHUTDOWN_PORT);
    for (;;)
        pause();
}
