#include "bench_data.h"

#include "make/make_write.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>

static void show_making(void *context, const stk__make_progress *done)
{
    stk__progress_show(context, "making faces", done->samples, done->count);
}

stk_status stk__bench_faces_make(const char *folder, uint64_t count, stk_error *error)
{
    stk__progress progress;
    stk__progress_start(&progress);
    const stk__make_options options = {.kind = STK_MAKE_FACES,
                                       .folder = folder,
                                       .count = count,
                                       .stop = stk__interrupt_flag(),
                                       .show = show_making,
                                       .context = &progress};
    stk__make_progress done;
    const stk_status status = stk__make_write(&options, &done, error);
    stk__progress_end(&progress);
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

stk_status stk__bench_data_open(stk__bench_data *data, const char *named, uint64_t count, stk_error *error)
{
    if (named) return set_folder(data, snprintf(data->folder, sizeof data->folder, "%s", named), error);
    STK__TRY(stk__bench_folder_make(data, error));
    return stk__bench_faces_make(data->folder, count, error);
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
