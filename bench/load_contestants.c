/* Who takes part in the race of `stoker bench load`. */
#include "race_data.h"
#include "load_race.h"

#include <limits.h>

enum { QUICK_PROGRESSIVE = 64 }; /* they take a while to make and to pack */

/* Each with the number of CPUs as threads or workers, or, `spread`, with none, as many, and twice as many.
 * How they are set up stands in their modules. A quick race has one of each, and not FFCV, which compiles
 * itself for ten seconds first. */
static const struct {
    const char *contestant, *module, *how, *setting;
    stk__rival_kind kind;
    bool workers, spread, masks, quick;
} peers[] = {
    {"DataLoader", "load_torch", "torchvision", "torchvision.io", STK_RIVAL_DATALOADER, true, true, true,
     true},
    {"DataLoader", "load_torch", "opencv", "OpenCV", STK_RIVAL_DATALOADER, true, true, true, false},
    {"DataLoader", "load_torch", "pil", "PIL", STK_RIVAL_DATALOADER, true, true, true, false},
    {"WebDataset", "load_webdataset", "shards", "shards, DataLoader", STK_RIVAL_DATALOADER, true, false, true,
     false},
    {"SPDL", "load_spdl", "simplejpeg", "simplejpeg", STK_RIVAL_OTHER, false, false, true, true},
    {"SPDL", "load_spdl", "ffmpeg", "own decoder", STK_RIVAL_OTHER, false, false, true, false},
    {"DALI", "load_dali", "cpu", "CPU", STK_RIVAL_OTHER, false, false, true, true},
    {"TurboLoader", "load_turboloader", "uint8", "tar", STK_RIVAL_OTHER, false, false, false, true},
    {"FFCV", "load_ffcv", "beton", "own file", STK_RIVAL_CONVERTED, false, false, true, false},
};

uint64_t stk__race_progressive_count(const stk__race *race)
{
    const uint64_t count = race->source->info.count;
    return race->quick && count > QUICK_PROGRESSIVE ? QUICK_PROGRESSIVE : count;
}

static stk__rival *add_rival(stk__race *race, const char *contestant, stk__rival_kind kind)
{
    stk__rival *rival = &race->rivals[race->count++];
    *rival = (stk__rival){.contestant = contestant, .kind = kind};
    return rival;
}

/* root NULL: nothing to load; the caller says why. */
static stk__rival *add_ours(stk__race *race, stk__rival_kind kind, const char *root)
{
    stk__rival *rival = add_rival(race, "stoker", kind);
    snprintf(rival->setting, sizeof rival->setting, "%s, %s",
             kind == STK_RIVAL_PACKED ? "packed shards" : "folder",
             kind == STK_RIVAL_COARSE ? "jpeg=fast" : "auto");
    if (root)
        stk__peer_spawn(&rival->peer, (char *const[]){"/proc/self/exe", "bench", "load-turns", (char *)root,
                                                      kind == STK_RIVAL_COARSE ? "fast" : NULL, NULL});
    return rival;
}

static void excuse(stk__rival *rival, const stk_error *error)
{
    snprintf(rival->peer.words, sizeof rival->peer.words, "%.190s", error->message);
}

static void add_packed(stk__race *race, const char *root, const char *name)
{
    char folder[PATH_MAX];
    stk_error error;
    snprintf(folder, sizeof folder, "%s/%s", race->scratch.folder, name);
    const bool made = stk__packed_make(root, folder, &error) == STK_OK;
    stk__rival *rival = add_ours(race, STK_RIVAL_PACKED, made ? folder : NULL);
    if (!made) excuse(rival, &error);
}

/* The same images as progressive JPEGs, and the shards of these. */
static void add_progressive(stk__race *race)
{
    char folder[PATH_MAX];
    stk_error error;
    snprintf(folder, sizeof folder, "%s/progressive", race->scratch.folder);
    const bool made =
        stk__progressive_make(race->source, stk__race_progressive_count(race), folder, &error) == STK_OK;
    stk__rival *rival = add_ours(race, STK_RIVAL_OURS, made ? folder : NULL);
    if (!made) excuse(rival, &error);
    add_packed(race, folder, "progressive-packed");
}

static void add_peer(stk__race *race, size_t which, int workers)
{
    stk__rival *rival = add_rival(race, peers[which].contestant, peers[which].kind);
    char how[32];
    snprintf(how, sizeof how, peers[which].workers ? "%s:%d" : "%s", peers[which].how, workers);
    snprintf(rival->setting, sizeof rival->setting, "%s, %d %s", peers[which].setting, workers,
             peers[which].workers ? "workers" : "threads");
    stk__peer_start(&rival->peer, &(stk__peer_options){.python = race->python,
                                                       .folder = race->scratch.folder,
                                                       .module = peers[which].module,
                                                       .how = how,
                                                       .data = race->data,
                                                       .count = race->reference.count,
                                                       .h = race->reference.h,
                                                       .w = race->reference.w,
                                                       .cpus = race->cpus});
}

static void add_peers(stk__race *race, bool masks)
{
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        if ((race->quick && !peers[i].quick) || (masks && !peers[i].masks)) continue;
        const bool spread = peers[i].spread && !race->quick;
        for (int times = spread ? 0 : 1; times <= (spread ? 2 : 1); times++)
            add_peer(race, i, times * race->cpus);
    }
}

/* Once, before the first peer is started. */
static stk_status prepare_peers(stk__race *race, stk_error *error)
{
    char path[PATH_MAX];
    if (race->reference.count > 0) return STK_OK;
    snprintf(path, sizeof path, "%s/reference.u8", race->scratch.folder);
    STK__TRY(stk__peer_write_texts(race->scratch.folder, error));
    return stk__reference_write(race->data, path, &race->reference, error);
}

stk_status stk__race_enter(stk__race *race, stk__race_case which, stk_error *error)
{
    if (race->python) STK__TRY(prepare_peers(race, error));
    if (which == STK_RACE_PROGRESSIVE) {
        add_progressive(race);
        return STK_OK;
    }
    add_ours(race, STK_RIVAL_OURS, race->data);
    add_ours(race, STK_RIVAL_COARSE, race->data);
    if (which == STK_RACE_PAIRS) add_packed(race, race->data, "packed");
    if (race->python) add_peers(race, which == STK_RACE_PAIRS);
    return STK_OK;
}
