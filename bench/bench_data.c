/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of a benchmark: faces are made below $TMPDIR, and removed however it ends. stk__bench_data_remove
 * may be called from the thread of Ctrl-C. */
#include "bench_data.h"

#include "core/clock.h"

#include "make/make_write.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct making {
    stk__bench_progress progress;
    const stk__bench_host *host;
} making;

static void show_making(void *context, const stk__make_progress *done)
{
    const making *m = context;
    m->host->show(&m->progress, "making faces", done->samples, done->count);
}

stk_status stk__bench_faces_make(const char *folder, uint64_t count, const stk__bench_host *host,
                                 stk_error *error)
{
    making m = {.progress = {.start_ns = stk__clock_ns()}, .host = host};
    const stk__make_options options = {.kind = STK_MAKE_FACES,
                                       .folder = folder,
                                       .count = count,
                                       .stop = host->stop,
                                       .show = show_making,
                                       .context = &m};
    stk__make_progress done;
    const stk_status status = stk__make_write(&options, &done, error);
    host->hide();
    return status;
}

static stk_status set_folder(stk__bench_data *data, int length, stk_error *error)
{
    return length < (int)sizeof data->folder
               ? STK_OK
               : stk__fail(error, STK_ERROR_ARGUMENT, "the path '%.60s…' is too long", data->folder);
}

stk_status stk__bench_folder_make(stk__bench_data *data, stk_error *error)
{
    const char *base = getenv("TMPDIR");
    STK__TRY(set_folder(
        data,
        snprintf(data->folder, sizeof data->folder, "%s/stoker-bench-XXXXXX", base && *base ? base : "/tmp"),
        error));
    if (!mkdtemp(data->folder))
        return stk__fail_errno(error, errno, "cannot make the folder '%s'", data->folder);
    data->temporary = true;
    return STK_OK;
}

stk_status stk__bench_data_open(stk__bench_data *data, const stk__bench_options *options, uint64_t count,
                                stk_error *error)
{
    if (options->folder)
        return set_folder(data, snprintf(data->folder, sizeof data->folder, "%s", options->folder), error);
    STK__TRY(stk__bench_folder_make(data, error));
    return stk__bench_faces_make(data->folder, count, options->host, error);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)kind;
    (void)walk;
    return remove(path);
}

void stk__bench_data_remove(const stk__bench_data *data)
{
    if (data->temporary) nftw(data->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void stk__bench_data_close(stk__bench_data *data)
{
    stk__bench_data_remove(data);
    data->temporary = false;
}
