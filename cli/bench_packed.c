#include "bench_packed.h"

#include "cli.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdlib.h>
#include <jpeglib.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

stk_status stk__packed_make(const char *root, const char *folder, stk_error *error)
{
    extern char **environ;
    char *const argv[] = {"stoker", "pack", (char *)root, (char *)folder, "-q", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int ended = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int failed = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return stk__fail_errno(error, failed, "cannot start stoker pack");
    while (waitpid(child, &ended, WNOHANG) == 0) {
        if (atomic_load(stk__interrupt_flag())) kill(child, SIGKILL);
        usleep(10000);
    }
    return ended == 0 ? STK_OK : stk__fail(error, STK_ERROR_DATA, "stoker pack failed on '%s'", root);
}

/* Both sides of a rewriting; libjpeg's errors come back to `back`. */
typedef struct rewriting {
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    unsigned char *bytes; /* what is written; libjpeg's malloc */
    unsigned long size;
    jmp_buf back;
} rewriting;

static void leave(j_common_ptr jpeg)
{
    longjmp(((rewriting *)jpeg->client_data)->back, 1);
}

static void rewrite(rewriting *r, const stk__buffer *file)
{
    jpeg_mem_src(&r->in, file->data, file->size_bytes);
    jpeg_read_header(&r->in, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&r->in);
    jpeg_mem_dest(&r->out, &r->bytes, &r->size);
    jpeg_copy_critical_parameters(&r->in, &r->out);
    jpeg_simple_progression(&r->out);
    jpeg_write_coefficients(&r->out, coefficients);
    jpeg_finish_compress(&r->out);
    jpeg_finish_decompress(&r->in);
}

static stk_status make_progressive(const stk__buffer *file, const char *path, stk_error *error)
{
    rewriting r = {.bytes = NULL};
    r.in.err = r.out.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = leave;
    jpeg_create_decompress(&r.in);
    jpeg_create_compress(&r.out);
    r.in.client_data = r.out.client_data = &r;
    const bool good = setjmp(r.back) == 0;
    if (good) rewrite(&r, file);
    jpeg_destroy_compress(&r.out);
    jpeg_destroy_decompress(&r.in);
    const stk__buffer made = {.data = r.bytes, .size_bytes = r.size};
    const stk_status status = good ? stk__file_write(path, made, STK_FILE_QUICK, error)
                                   : stk__fail(error, STK_ERROR_DATA, "an image is no JPEG");
    free(r.bytes);
    return status;
}

stk_status stk__progressive_make(const stk__source *source, const char *folder, stk_error *error)
{
    stk__buffer file = {0};
    stk_status status = stk__folder_make(folder, error);
    for (uint64_t id = 0; id < source->info.count && status == STK_OK; id++) {
        char from[PATH_MAX], to[PATH_MAX];
        source->ops->where(source, id, STK_FIELD_IMAGE, from, sizeof from);
        snprintf(to, sizeof to, "%s/%06llu.jpg", folder, (unsigned long long)id);
        status = stk__file_read(from, 0, &file, error);
        if (status == STK_OK) status = make_progressive(&file, to, error);
        if (atomic_load(stk__interrupt_flag()))
            status = stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    }
    stk__buffer_fini(&file);
    return status;
}
