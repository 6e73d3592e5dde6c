/* SPDX-License-Identifier: Apache-2.0 */
/* Where vendors' libraries are looked for. */
#include "device/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAGS = RTLD_NOW | RTLD_LOCAL };

const char *stk__library_root = "";

/* Every file that pattern matches; a broken one is skipped. */
static bool visit_matching(const stk__library_search *search, const char *pattern)
{
    bool enough = false;
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc && !enough; i++) {
        void *library = dlopen(found.gl_pathv[i], FLAGS);
        enough = library && search->take(search->context, library);
    }
    globfree(&found);
    return enough;
}

static bool visit_folder(const stk__library_search *search, const char *folder, const char *below)
{
    char path[PATH_MAX];
    bool enough = false;
    for (const char *const *file = search->files; *file && !enough; file++)
        enough = (size_t)snprintf(path, sizeof path, "%s/%s/%s", folder, below, *file) < sizeof path &&
                 visit_matching(search, path);
    return enough;
}

/* As in `env/bin/python train.py`, where no variable names the environment. NVIDIA's wheels lie
 * beside the package. */
static bool visit_torch_of_process(const stk__library_search *search)
{
    char folder[PATH_MAX];
    struct link_map *map;
    void *torch = dlopen("libtorch_cpu.so", FLAGS | RTLD_NOLOAD);
    if (!torch || dlinfo(torch, RTLD_DI_LINKMAP, &map) != 0) return false;
    const char *end = strrchr(map->l_name, '/');
    if (!end || (size_t)(end - map->l_name) >= sizeof folder) return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(end - map->l_name), map->l_name);
    return visit_folder(search, folder, ".") || visit_folder(search, folder, "../../nvidia/*/lib");
}

static bool visit_variables(const stk__library_search *search)
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"CUDA_HOME", "lib64"},
        {"CUDA_HOME", "lib"},
        {"CUDA_PATH", "lib64"},
        {"CUDA_PATH", "lib"},
        {"STOKER_TORCH", "."},
        {"STOKER_TORCH", "../../nvidia/*/lib"},
        {"VIRTUAL_ENV", "lib*/python3*/site-packages/nvidia/*/lib"},
        {"VIRTUAL_ENV", "lib*/python3*/site-packages/torch/lib"},
        {"CONDA_PREFIX", "lib*/python3*/site-packages/nvidia/*/lib"},
        {"CONDA_PREFIX", "lib*/python3*/site-packages/torch/lib"},
        {"CONDA_PREFIX", "lib"},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *folder = getenv(places[i].variable);
        if (folder && *folder && visit_folder(search, folder, places[i].below)) return true;
    }
    return false;
}

static bool visit_places(const stk__library_search *search)
{
    static const char *const folders[] = {"usr/local/cuda*/lib64", "opt/cuda/lib64", "usr/lib/wsl/lib"};
    for (int flags = FLAGS | RTLD_NOLOAD;; flags = FLAGS) {
        for (const char *const *file = search->files; *file; file++) {
            void *library = dlopen(*file, flags);
            if (library && search->take(search->context, library)) return true;
        }
        if (flags == FLAGS) break;
    }
    if (visit_variables(search) || visit_torch_of_process(search)) return true;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (visit_folder(search, stk__library_root, folders[i])) return true;
    return false;
}

stk_status stk__library_visit(const stk__library_search *search, stk_error *error)
{
    const char *named = getenv(search->variable);
    if (!named || !*named) {
        visit_places(search);
        return STK_OK;
    }
    void *library = dlopen(named, FLAGS);
    if (library) {
        search->take(search->context, library);
        return STK_OK;
    }
    stk__fail(error, STK_ERROR_UNSUPPORTED, "%s=%s cannot be opened: %s", search->variable, named, dlerror());
    stk__error_hint(error, "unset %s to search the default locations", search->variable);
    return STK_ERROR_UNSUPPORTED;
}

/* Nothing is imported. Libraries are never loaded from the current folder. */
void stk__library_visit_python(const stk__library_search *search)
{
    char folder[PATH_MAX];
    bool enough = false;
    FILE *answer = popen(
        "timeout 10 python3 -c 'import sys; print(*sys.path, sep=\"\\n\")' 2>/dev/null </dev/null", "re");
    if (!answer) return;
    while (!enough && fgets(folder, sizeof folder, answer)) {
        folder[strcspn(folder, "\n")] = '\0';
        enough = folder[0] == '/' &&
                 (visit_folder(search, folder, "nvidia/*/lib") || visit_folder(search, folder, "torch/lib"));
    }
    pclose(answer);
}

stk_status stk__library_refuse(const stk__library_search *search, stk_error *error)
{
    stk__fail(error, STK_ERROR_UNSUPPORTED,
              "%s not found (searched: library path, CUDA_HOME, CUDA_PATH, NVIDIA wheels of PyTorch, "
              "/usr/local/cuda*, /opt/cuda, /usr/lib/wsl)",
              search->files[0]);
    stk__error_hint(error, "install it, or set %s to its path", search->variable);
    return STK_ERROR_UNSUPPORTED;
}

static bool take_first(void *context, void *library)
{
    *(void **)context = library;
    return true;
}

void *stk__library_open(const char *file, const char *variable, stk_error *error)
{
    void *library = NULL;
    const stk__library_search search = {(const char *const[]){file, NULL}, variable, take_first, &library};
    if (stk__library_visit(&search, error) == STK_OK && !library) stk__library_refuse(&search, error);
    return library;
}
