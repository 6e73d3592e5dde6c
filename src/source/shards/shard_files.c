/* SPDX-License-Identifier: Apache-2.0 */
/* A least-recently-used set of open shard files for all threads: as many as a quarter of the process's
 * file limit allows. A thread borrows one; opening and reading happen without the lock, which guards the
 * tables only. */
#include "source/shards/shard_files.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PLACES_LEAST = 4, PLACES_MOST = 512, SHARE = 4 };

/* Numbers of places in the table of shards; a shard that is not open has this one. */
static const uint16_t nowhere = UINT16_MAX;

typedef struct place {
    int file;       /* -1: empty, or being opened by its only user */
    uint32_t shard; /* of an open file */
    uint32_t users;
    uint64_t used; /* the clock at its last loan */
} place;

struct stk__shard_files {
    pthread_mutex_t lock; /* guards all below */
    uint64_t clock;
    uint32_t place_count;
    place *places;
    uint16_t *place_of; /* [shard_count] */
};

static uint32_t affordable_places(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return PLACES_LEAST;
    const rlim_t share = limit.rlim_cur / SHARE;
    return share < PLACES_LEAST ? PLACES_LEAST : share < PLACES_MOST ? (uint32_t)share : PLACES_MOST;
}

stk_status stk__shard_files_create(stk__shard_files **out, uint32_t shard_count, uint32_t most,
                                   stk_error *error)
{
    if (!most) most = affordable_places();
    const uint32_t count = shard_count < most ? shard_count : most;
    stk__shard_files *files = *out = stk__alloc(sizeof *files);
    if (!files) return stk__fail_memory(error, sizeof *files, "the files of shards");
    pthread_mutex_init(&files->lock, NULL);
    files->places = stk__alloc(count * sizeof *files->places);
    files->place_of = stk__alloc(shard_count * sizeof *files->place_of);
    if (!files->places || !files->place_of) {
        stk__shard_files_destroy(out);
        return stk__fail_memory(error, count * sizeof *files->places + shard_count * sizeof(uint16_t),
                                "the files of shards");
    }
    files->place_count = count;
    for (uint32_t i = 0; i < count; i++)
        files->places[i].file = -1;
    for (uint32_t i = 0; i < shard_count; i++)
        files->place_of[i] = nowhere;
    return STK_OK;
}

void stk__shard_files_destroy(stk__shard_files **pointer)
{
    stk__shard_files *files = *pointer;
    if (!files) return;
    *pointer = NULL;
    for (uint32_t i = 0; files->places && i < files->place_count; i++)
        if (files->places[i].file >= 0) close(files->places[i].file);
    pthread_mutex_destroy(&files->lock);
    stk__free(files->places);
    stk__free(files->place_of);
    stk__free(files);
}

bool stk__shard_files_find(stk__shard_files *files, uint32_t shard, stk__shard_loan *loan)
{
    pthread_mutex_lock(&files->lock);
    const uint16_t number = files->place_of[shard];
    const bool found = number != nowhere;
    if (found) {
        place *p = &files->places[number];
        p->users++;
        p->used = ++files->clock;
        *loan = (stk__shard_loan){p->file, number};
    }
    pthread_mutex_unlock(&files->lock);
    return found;
}

/* Takes the place that was idle for longest; -1 when all are in use. *idle is the file to be closed, or -1.
 * (lock) */
static int take_place(stk__shard_files *files, int *idle)
{
    int best = -1;
    *idle = -1;
    for (uint32_t i = 0; i < files->place_count; i++) {
        const place *p = &files->places[i];
        if (p->users) continue;
        if (best < 0 || p->used < files->places[best].used) best = (int)i;
    }
    if (best < 0) return -1;
    place *p = &files->places[best];
    *idle = p->file;
    if (p->file >= 0) files->place_of[p->shard] = nowhere;
    p->file = -1;
    p->users = 1;
    return best;
}

static int begin_opening(stk__shard_files *files)
{
    int idle;
    pthread_mutex_lock(&files->lock);
    const int number = take_place(files, &idle);
    pthread_mutex_unlock(&files->lock);
    if (idle >= 0) close(idle);
    return number;
}

/* Puts an opened file in its place, unless another thread was faster: then it stays the borrower's own. */
static void end_opening(stk__shard_files *files, uint32_t shard, stk__shard_loan *loan)
{
    pthread_mutex_lock(&files->lock);
    place *p = &files->places[loan->place];
    if (loan->file < 0 || files->place_of[shard] != nowhere) {
        *p = (place){.file = -1};
        loan->place = -1;
    } else {
        *p = (place){.file = loan->file, .shard = shard, .users = 1, .used = ++files->clock};
        files->place_of[shard] = (uint16_t)loan->place;
    }
    pthread_mutex_unlock(&files->lock);
}

/* Closes an unused file; false: there is none. */
static bool close_idle(stk__shard_files *files)
{
    int idle = -1;
    pthread_mutex_lock(&files->lock);
    for (uint32_t i = 0; i < files->place_count && idle < 0; i++) {
        place *p = &files->places[i];
        if (p->users || p->file < 0) continue;
        idle = p->file;
        files->place_of[p->shard] = nowhere;
        *p = (place){.file = -1};
    }
    pthread_mutex_unlock(&files->lock);
    if (idle >= 0) close(idle);
    return idle >= 0;
}

stk_status stk__shard_files_open(stk__shard_files *files, uint32_t shard, const char *path,
                                 stk__shard_loan *loan, stk_error *error)
{
    *loan = (stk__shard_loan){-1, begin_opening(files)};
    do /* others may have taken the files that this process can have */
        loan->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (loan->file < 0 && (errno == EMFILE || errno == ENFILE) && close_idle(files));
    const int failed = errno;
    if (loan->place >= 0) end_opening(files, shard, loan);
    return loan->file < 0 ? stk__file_refuse(path, failed, error) : STK_OK;
}

void stk__shard_files_return(stk__shard_files *files, stk__shard_loan loan)
{
    if (loan.place < 0) {
        close(loan.file);
        return;
    }
    pthread_mutex_lock(&files->lock);
    files->places[loan.place].users--;
    pthread_mutex_unlock(&files->lock);
}
