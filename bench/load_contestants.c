/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in the load race, and how their processes are started: ourselves on files, on shards and on
 * progressive JPEGs, and one row of `peers` for each way to use another library. */
#include "load_race.h"

#include <limits.h>
#include <stdio.h>

enum { QUICK_PROGRESSIVE = 64 }; /* they take a while to make and to pack */

/* Each with the number of CPUs as threads or workers, or, `spread`, with none, as many, and twice as many.
 * How they are set up stands in their modules. A quick race has one of each, and not FFCV, which compiles
 * itself for ten seconds first. */
static const struct {
    const char *name, *module, *how, *setting;
    stk__load_kind kind;
    bool workers, spread, masks, quick;
} peers[] = {
    {"DataLoader", "load_torch", "torchvision", "torchvision.io", STK_LOAD_DATALOADER, true, true, true,
     true},
    {"DataLoader", "load_torch", "opencv", "OpenCV", STK_LOAD_DATALOADER, true, true, true, false},
    {"DataLoader", "load_torch", "pil", "PIL", STK_LOAD_DATALOADER, true, true, true, false},
    {"WebDataset", "load_webdataset", "shards", "shards, DataLoader", STK_LOAD_DATALOADER, true, false, true,
     false},
    {"SPDL", "load_spdl", "simplejpeg", "simplejpeg", STK_LOAD_OTHER, false, false, true, true},
    {"SPDL", "load_spdl", "ffmpeg", "own decoder", STK_LOAD_OTHER, false, false, true, false},
    {"DALI", "load_dali", "cpu", "CPU", STK_LOAD_OTHER, false, false, true, true},
    {"TurboLoader", "load_turboloader", "uint8", "tar", STK_LOAD_OTHER, false, false, false, true},
    {"FFCV", "load_ffcv", "beton", "own file", STK_LOAD_CONVERTED, false, false, true, false},
};

uint64_t stk__load_progressive_count(const stk__load_race *race)
{
    const uint64_t count = race->source->info.count;
    return race->options->quick && count > QUICK_PROGRESSIVE ? QUICK_PROGRESSIVE : count;
}

static stk__contestant *add_contestant(stk__load_race *race, const char *name, stk__load_kind kind)
{
    stk__contestant *c = &race->contestants[race->count];
    stk__worker_process *process = &race->processes[race->count++];
    *process = (stk__worker_process){.stop = race->options->host->stop};
    *c = (stk__contestant){.name = name, .kind = kind, .ours = kind <= STK_LOAD_PACKED, .process = process};
    return c;
}

/* root NULL: nothing to load; the caller says why. */
static stk__contestant *add_ours(stk__load_race *race, stk__load_kind kind, const char *root)
{
    stk__contestant *c = add_contestant(race, "stoker", kind);
    snprintf(c->setting, sizeof c->setting, "%s, %s", kind == STK_LOAD_PACKED ? "packed shards" : "folder",
             kind == STK_LOAD_COARSE ? "jpeg=fast" : "auto");
    if (!root) return c;
    stk__command *command = &c->process->command;
    stk__command_add(command, "/proc/self/exe");
    stk__command_add(command, "bench");
    stk__command_add(command, "load-worker");
    stk__command_add(command, "%s", root);
    if (kind == STK_LOAD_COARSE) stk__command_add(command, "fast");
    stk__worker_process_start(c->process);
    return c;
}

static void excuse(stk__contestant *c, const stk_error *error)
{
    snprintf(c->process->words, sizeof c->process->words, "%.190s", error->message);
}

static void add_packed(stk__load_race *race, const char *root, const char *name)
{
    char folder[PATH_MAX];
    stk_error error;
    snprintf(folder, sizeof folder, "%s/%s", race->scratch.folder, name);
    const bool made = stk__packed_make(root, folder, race->options->host->stop, &error) == STK_OK;
    stk__contestant *c = add_ours(race, STK_LOAD_PACKED, made ? folder : NULL);
    if (!made) excuse(c, &error);
}

/* The same images as progressive JPEGs, and the shards of these. */
static void add_progressive(stk__load_race *race)
{
    const stk__progressive progressive = {race->source, stk__load_progressive_count(race),
                                          race->options->host->stop};
    char folder[PATH_MAX];
    stk_error error;
    snprintf(folder, sizeof folder, "%s/progressive", race->scratch.folder);
    const bool made = stk__progressive_make(&progressive, folder, &error) == STK_OK;
    stk__contestant *c = add_ours(race, STK_LOAD_OURS, made ? folder : NULL);
    if (!made) excuse(c, &error);
    add_packed(race, folder, "progressive-packed");
}

static void add_peer(stk__load_race *race, stk__load_files files, size_t which, int workers)
{
    stk__contestant *c = add_contestant(race, peers[which].name, peers[which].kind);
    char how[32];
    snprintf(how, sizeof how, peers[which].workers ? "%s:%d" : "%s", peers[which].how, workers);
    snprintf(c->setting, sizeof c->setting, "%s, %d %s%s", peers[which].setting, workers,
             peers[which].workers ? "workers" : "threads",
             c->kind == STK_LOAD_CONVERTED && files == STK_LOAD_PAIRS ? ", masks raw" : "");
    stk__command_add_peer(&c->process->command, &(stk__peer){.python = race->options->python,
                                                             .folder = race->scratch.folder,
                                                             .module = peers[which].module,
                                                             .how = how,
                                                             .data = race->data,
                                                             .count = race->reference.count,
                                                             .h = race->reference.h,
                                                             .w = race->reference.w,
                                                             .cpus = race->cpus});
    stk__worker_process_start(c->process);
}

static void add_peers(stk__load_race *race, stk__load_files files)
{
    const bool quick = race->options->quick;
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        if ((quick && !peers[i].quick) || (files == STK_LOAD_PAIRS && !peers[i].masks)) continue;
        const bool spread = peers[i].spread && !quick;
        for (int times = spread ? 0 : 1; times <= (spread ? 2 : 1); times++)
            add_peer(race, files, i, times * race->cpus);
    }
}

/* Once, before the first peer is started. */
static stk_status prepare_peers(stk__load_race *race, stk_error *error)
{
    char path[PATH_MAX];
    if (race->reference.count > 0) return STK_OK;
    snprintf(path, sizeof path, "%s/reference.u8", race->scratch.folder);
    STK__TRY(stk__peer_write_texts(race->scratch.folder, error));
    return stk__reference_write(race->data, path, &race->reference, error);
}

stk_status stk__load_contestants_start(stk__load_race *race, stk__load_files files, stk_error *error)
{
    const bool peers_too = race->options->python;
    if (peers_too) STK__TRY(prepare_peers(race, error));
    if (files == STK_LOAD_PROGRESSIVE) {
        add_progressive(race);
        return STK_OK;
    }
    add_ours(race, STK_LOAD_OURS, race->data);
    add_ours(race, STK_LOAD_COARSE, race->data);
    if (files == STK_LOAD_PAIRS) add_packed(race, race->data, "packed");
    if (peers_too) add_peers(race, files);
    return STK_OK;
}
