/* Who takes part in `stoker bench augment`, and what a turn of each is. */
#ifndef STK_BENCH_CONTEST_H
#define STK_BENCH_CONTEST_H

#include "measurements.h"
#include "bench_batch.h"
#include "bench_data.h"
#include "worker_process.h"

#include "device/device.h"

enum { STK_CONTEST_PEERS = 6, STK_CONTEST_DEVICES = 4 };

typedef enum stk__contest_kind {
    STK_CONTEST_POOL,   /* our kernels over the pool */
    STK_CONTEST_DEVICE, /* our kernels on a device */
    STK_CONTEST_PEER,   /* another library */
    STK_CONTEST_COPY,   /* memcpy of as many bytes */
    STK_CONTEST_SCALED, /* our kernels over the pool again, next to: */
    STK_CONTEST_BARE,   /* our kernels in threads that share nothing */
    STK_CONTEST_RESOLVE,
    STK_CONTEST_LOADER, /* files to augmented batches: ours */
    STK_CONTEST_PEER_LOADER
} stk__contest_kind;

/* A contestant in one case. */
typedef struct stk__contestant {
    stk__contest_kind kind;
    stk__bench_row *row;
    stk__bench_way way;
    stk__peer *peer;     /* of a peer */
    stk__device *device; /* of a device */
} stk__contestant;

typedef struct stk__contest {
    bool quick;
    const char *python; /* of the peers; NULL: none */
    int cpus;
    stk__cpu_level best;
    stk__bench_batch batch;
    stk__bench_data folder, faces; /* scripts and pixels for the peers; files for end to end */
    stk__peer peers[STK_CONTEST_PEERS], peer_loader;
    stk__device_info infos[STK_DEVICE_MOST];
    stk__device *devices[STK_CONTEST_DEVICES];
    int device_count;
    stk__contestant contestants[STK_BENCH_ROWS];
    int count;
    stk__bench bench;
} stk__contest;

/* Makes the batch, starts peers and devices, and enters all who take part. */
stk_status stk__contest_open(stk__contest *contest, uint64_t samples, stk_error *error);
void stk__contest_close(stk__contest *contest);

/* One turn. A peer or a device that fails is not measured, and the row says why: that is no failure. */
stk_status stk__contest_turn(stk__contest *contest, stk__contestant *c, double *value, stk_error *error);

#endif
