/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the fake: its script, faults, handles, counters, contexts. */
#include "fake_gpu.h"

#include "core/clock.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_script fake;
pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed;
int fake_age;
int fake_visible[FAKE_GPUS], fake_visible_count = -1;
int64_t fake_counts[FAKE_WORDS];

static long uses[FAKE_FUNCTIONS][FAKE_GPUS + 1]; /* lock; the last column: of all */
static int lost[FAKE_GPUS];                      /* lock: code */
static bool releasing;                           /* lock: nothing hangs any more */
static char first_misuse[256];                   /* lock */
static fake_handle *handles;                     /* lock */
static bool playing;                             /* lock */

typedef struct fake_context {
    fake_handle handle;
    int retained; /* lock */
} fake_context;
static fake_context contexts[FAKE_GPUS];

enum { STACK = 16 };
static _Thread_local struct {
    int depth, age, gpus[STACK];
} stack;

__attribute__((constructor)) static void begin(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&fake_changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void fake_cuda_release(void)
{
    pthread_mutex_lock(&fake_lock);
    releasing = true;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

/* Lock held. Work of the script before is over, so that nothing of it touches what comes now. */
static void begin_anew(const fake_script *next)
{
    releasing = true;
    pthread_cond_broadcast(&fake_changed);
    while (fake_counts[FAKE_WORK] > 0)
        pthread_cond_wait(&fake_changed, &fake_lock);
    fake_free_all();
    fake = *next;
    fake_age++;
    releasing = false;
    playing = true;
    fake_visible_count = -1;
    first_misuse[0] = '\0';
    memset(uses, 0, sizeof uses);
    memset(lost, 0, sizeof lost);
    memset(fake_counts, 0, sizeof fake_counts);
    for (int gpu = 0; gpu < FAKE_GPUS; gpu++)
        contexts[gpu] = (fake_context){.handle = {FAKE_CONTEXT, gpu, fake_age, true, NULL}};
    pthread_cond_broadcast(&fake_changed);
}

const char *fake_cuda_play(const char *text)
{
    static stk_error error;
    static fake_script next;
    fake_begin_script(&next);
    if (!fake_read_cuda_script(&next, text, &error)) return error.message;
    pthread_mutex_lock(&fake_lock);
    begin_anew(&next);
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

const char *fake_cuda_add(const char *text)
{
    static stk_error error;
    fake_script next = fake;
    if (!fake_read_cuda_script(&next, text, &error)) return error.message;
    pthread_mutex_lock(&fake_lock);
    fake = next;
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

/* Copies of this library play different parts in one process: what stands in FILE.script beside it is for
 * the copy in FILE alone. */
static const char *add_own_lines(void)
{
    static char text[4096];
    char path[4096];
    Dl_info own;
    if (!dladdr(text, &own) || !own.dli_fname) return NULL;
    snprintf(path, sizeof path, "%s.script", own.dli_fname);
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return fake_cuda_add(text);
}

/* From the file, when nobody handed a script over. False: there should be one and it is no script. */
static bool play_file(void)
{
    static char text[65536];
    pthread_mutex_lock(&fake_lock);
    const bool ready = playing;
    pthread_mutex_unlock(&fake_lock);
    if (ready) return true;
    const char *path = getenv("STOKER_FAKE_CUDA");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (path && !file) fprintf(stderr, "fake CUDA: '%s' cannot be read\n", path);
    if (path && !file) return false;
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file) fclose(file);
    const char *why = fake_cuda_play(text);
    if (!why) why = add_own_lines();
    if (why) fprintf(stderr, "fake CUDA: %s: %s\n", path, why);
    return !why;
}

void fake_add(fake_word word, int64_t by)
{
    pthread_mutex_lock(&fake_lock);
    fake_counts[word] += by;
    pthread_mutex_unlock(&fake_lock);
}

void fake_blame(const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!fake_counts[FAKE_MISUSES]++) memcpy(first_misuse, text, sizeof text);
    fprintf(stderr, "fake CUDA: %s\n", text);
}

const char *fake_cuda_misuse(void)
{
    return first_misuse;
}

static const fake_word word_of_kind[] = {FAKE_CONTEXTS, FAKE_STREAMS,  FAKE_EVENTS, FAKE_MODULES,
                                         FAKE_WORDS,    FAKE_PROGRAMS, FAKE_WORDS,  FAKE_WORDS};

void *fake_make(fake_kind kind, int gpu, size_t size_bytes)
{
    fake_handle *handle = calloc(1, size_bytes);
    if (!handle) return NULL;
    const fake_word word = word_of_kind[kind - FAKE_CONTEXT];
    pthread_mutex_lock(&fake_lock);
    *handle = (fake_handle){kind, gpu, fake_age, false, handles};
    handles = handle;
    if (word != FAKE_WORDS) fake_counts[word]++;
    pthread_mutex_unlock(&fake_lock);
    return handle;
}

/* Handles are looked up, never believed: rubbish is no handle. */
bool fake_is(const void *handle, fake_kind kind, int gpu)
{
    pthread_mutex_lock(&fake_lock);
    const fake_handle *h = handles;
    while (h && h != handle)
        h = h->age == fake_age ? h->next : NULL;
    const bool is =
        h && h->kind == kind && h->age == fake_age && !h->dead && (gpu == FAKE_ANY || h->gpu == gpu);
    if (!is && handle)
        fake_blame("%s",
                   h && h->dead ? "a handle is used after its end" : "a handle is none, or of another GPU");
    pthread_mutex_unlock(&fake_lock);
    return is;
}

void fake_end(void *handle)
{
    fake_handle *h = handle;
    const fake_word word = word_of_kind[h->kind - FAKE_CONTEXT];
    pthread_mutex_lock(&fake_lock);
    h->dead = true;
    if (word != FAKE_WORDS) fake_counts[word]--;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

int fake_lost(int gpu)
{
    pthread_mutex_lock(&fake_lock);
    const int code = gpu >= 0 ? lost[gpu] : 0;
    pthread_mutex_unlock(&fake_lock);
    return code;
}

void fake_lose(int gpu, int code)
{
    pthread_mutex_lock(&fake_lock);
    if (gpu >= 0 && !lost[gpu]) lost[gpu] = code;
    pthread_mutex_unlock(&fake_lock);
}

/* Lock held. */
static void hang(double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!releasing && pthread_cond_timedwait(&fake_changed, &fake_lock, &until) == 0)
        continue;
}

/* Lock held. 0, or the code that the script gives to this use. */
static int apply_faults(fake_function function, int gpu)
{
    const long all = uses[function][FAKE_GPUS]++, own = gpu >= 0 ? uses[function][gpu]++ : -1;
    for (int i = 0; i < fake.fault_count; i++) {
        const fake_fault *f = &fake.faults[i];
        const long use = f->gpu == FAKE_ANY ? all : own;
        if ((f->function != FAKE_ANY && f->function != (int)function) || use < f->from || use >= f->to ||
            (f->gpu != FAKE_ANY && f->gpu != gpu))
            continue;
        if (f->kind == FAULT_HANG) {
            hang(f->number);
            continue;
        }
        if ((f->kind == FAULT_LOSE || function >= FAKE_copy_in) && gpu >= 0 && !lost[gpu])
            lost[gpu] = (int)f->number;
        return (int)f->number;
    }
    return 0;
}

int fake_enter(fake_function function, int gpu)
{
    if (function == FAKE_cuInit && !play_file()) return FAKE_CUDA_ERROR_UNKNOWN;
    if (function >= FAKE_nvrtcVersion && function < FAKE_copy_in)
        play_file(); /* the compiler needs no cuInit */
    pthread_mutex_lock(&fake_lock);
    int code = apply_faults(function, gpu);
    const bool needs_init = function > FAKE_cuGetErrorString && function < FAKE_nvrtcVersion;
    if (!code && needs_init && fake_visible_count < 0) code = FAKE_CUDA_ERROR_NOT_INITIALIZED;
    if (!code && function >= FAKE_cuDevicePrimaryCtxRetain && function < FAKE_nvrtcVersion && gpu >= 0)
        code = lost[gpu];
    if (!code) code = fake_capture_refuses(function);
    pthread_mutex_unlock(&fake_lock);
    return code;
}

int fake_current(void)
{
    pthread_mutex_lock(&fake_lock);
    if (stack.age != fake_age) stack.depth = 0;
    stack.age = fake_age;
    pthread_mutex_unlock(&fake_lock);
    return stack.depth ? stack.gpus[stack.depth - 1] : FAKE_ANY;
}

int fake_enter_current(fake_function function, int *gpu)
{
    *gpu = fake_current();
    const int code = fake_enter(function, *gpu);
    return code || *gpu >= 0 ? code : FAKE_CUDA_ERROR_INVALID_CONTEXT;
}

long fake_cuda_calls(const char *call, int gpu)
{
    long count = -1;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < FAKE_FUNCTIONS; i++)
        if (strcmp(fake_names[i], call) == 0) count = uses[i][gpu < 0 ? FAKE_GPUS : gpu];
    pthread_mutex_unlock(&fake_lock);
    return count;
}

int64_t fake_cuda_count(const char *what)
{
    static const char *const words[FAKE_WORDS] = {
        "device_bytes", "pinned_bytes",   "memories",        "pinned",
        "streams",      "events",         "modules",         "contexts",
        "programs",     "work",           "pageable_copies", "misuses",
        "copies_in",    "copies_out",     "kernels",         "peak_device_bytes",
        "captures",     "capture_errors", "graph_launches"};
    int64_t count = -1;
    if (strcmp(what, "current") == 0) return fake_current() < 0 ? 0 : stack.depth;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < FAKE_WORDS; i++)
        if (strcmp(words[i], what) == 0) count = fake_counts[i];
    pthread_mutex_unlock(&fake_lock);
    return count;
}

int fake_listed(int device)
{
    pthread_mutex_lock(&fake_lock);
    const int gpu = device >= 0 && device < fake_visible_count ? fake_visible[device] : FAKE_ANY;
    pthread_mutex_unlock(&fake_lock);
    return gpu;
}

int cuDevicePrimaryCtxRetain(stk__cu_handle *context, int device)
{
    const int gpu = fake_listed(device), code = fake_enter(FAKE_cuDevicePrimaryCtxRetain, gpu);
    FAKE_SPOIL(context);
    if (code || gpu < 0) return code ? code : FAKE_CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&fake_lock);
    contexts[gpu].handle.dead = false;
    contexts[gpu].retained++;
    fake_counts[FAKE_CONTEXTS]++;
    pthread_mutex_unlock(&fake_lock);
    *context = &contexts[gpu];
    return CUDA_SUCCESS;
}

/* What was made in it is gone with the last release, so it had better been released before. */
int cuDevicePrimaryCtxRelease_v2(int device)
{
    const int gpu = fake_listed(device), code = fake_enter(FAKE_cuDevicePrimaryCtxRelease_v2, gpu);
    if (gpu < 0) return code ? code : FAKE_CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&fake_lock);
    const bool extra = contexts[gpu].retained == 0;
    if (extra) fake_blame("the context of GPU %d is released more often than retained", gpu);
    if (!extra) {
        contexts[gpu].retained--;
        fake_counts[FAKE_CONTEXTS]--;
    }
    pthread_mutex_unlock(&fake_lock);
    return extra && !code ? FAKE_CUDA_ERROR_INVALID_CONTEXT : code;
}

int cuCtxPushCurrent_v2(stk__cu_handle context)
{
    const fake_context *c = context;
    const bool is_context = c >= contexts && c < contexts + FAKE_GPUS;
    const int gpu = is_context ? c->handle.gpu : FAKE_ANY;
    fake_current(); /* forgets what an older script left */
    const int code = fake_enter(FAKE_cuCtxPushCurrent_v2, gpu);
    if (code) return code;
    pthread_mutex_lock(&fake_lock);
    const bool good = is_context && c->retained > 0 && stack.depth < STACK;
    if (!good) fake_blame("a context that is none becomes current");
    pthread_mutex_unlock(&fake_lock);
    if (!good) return FAKE_CUDA_ERROR_INVALID_CONTEXT;
    stack.gpus[stack.depth++] = gpu;
    return CUDA_SUCCESS;
}

/* Whatever it tells, it is popped: nobody could do better than go on. */
int cuCtxPopCurrent_v2(stk__cu_handle *context)
{
    const int gpu = fake_current(), code = fake_enter(FAKE_cuCtxPopCurrent_v2, gpu);
    if (context) FAKE_SPOIL(context);
    if (gpu < 0) return code ? code : FAKE_CUDA_ERROR_INVALID_CONTEXT;
    stack.depth--;
    if (context && !code) *context = &contexts[gpu];
    return code;
}
