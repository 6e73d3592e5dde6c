/* SPDX-License-Identifier: Apache-2.0 */
/* Before a run's first step. A new run gets a folder with its settings; a resumed one takes its settings from
 * the folder, and whatever is asked for now comes on top. One thread. */
#include "session/run_start.h"

#include "session/trained_run.h"

#include <stdio.h>
#include <string.h>

enum { MOST_PATH_BYTES = 300 }; /* of a run's folder: checkpoints lie below it */

/* --- settings --------------------------------------------------------------------------------------------
 */

static stk_status forget_resume(stk__config *config, stk_error *error)
{
    for (int origin = STK_ORIGIN_PRESET; origin < STK_ORIGIN_COUNT; origin++)
        STK__TRY(stk__config_set(config, "run.resume", NULL, (stk__origin)origin, NULL, error));
    return STK_OK;
}

stk_status stk__run_take_resume(stk__config *config, bool *resume, stk_error *error)
{
    stk__run_settings asked = {0};
    STK__TRY(stk__config_apply(config, "run", &asked, error));
    *resume |= asked.resume == STK_SWITCH_ON;
    return forget_resume(config, error);
}

static stk_status read_own_settings(stk__config *config, const stk__run_start *start, stk_error *error)
{
    if (!start->path)
        return stk__fail(error, STK_ERROR_CONFIG, "--resume needs --run DIR: the folder of the run");
    STK__TRY(stk__run_settings_read(config, start->path, error));
    if (start->on_top) STK__TRY(stk__config_read_file(config, start->on_top, error));
    return forget_resume(config, error);
}

stk_status stk__run_read_settings(stk__config *config, stk__run_start *start, stk_error *error)
{
    STK__TRY(stk__run_take_resume(config, &start->resume, error));
    if (start->resume) STK__TRY(read_own_settings(config, start, error));
    return stk__session_apply_preset(config, error);
}

/* --- folder ----------------------------------------------------------------------------------------------
 */

/* "unet-faces" of model unet and data/faces, unless run.name says otherwise. */
static void name_run(const stk__session *s, char *name, size_t size)
{
    const char *root = s->data.root, *slash = strrchr(root, '/');
    if (s->run.name) {
        snprintf(name, size, "%s", s->run.name);
        return;
    }
    if (slash && slash[1]) root = slash + 1;
    if (strncmp(root, "make:", 5) == 0) root += 5;
    snprintf(name, size, "%s-%.*s", stk__trainer_describe(s->trainer)->network->name,
             (int)strcspn(root, "?./"), root);
}

stk_status stk__run_open_folder(stk__run_folder **folder, const stk__session *s, const stk__run_start *start,
                                stk__buffer *settings, stk_error *error)
{
    char name[128];
    if (strlen(start->path ? start->path : s->run.dir) > MOST_PATH_BYTES)
        return stk__fail(error, STK_ERROR_CONFIG, "the path of a run has at most %d bytes", MOST_PATH_BYTES);
    name_run(s, name, sizeof name);
    const stk__run_folder_options options = {
        .path = start->path, .parent = s->run.dir, .name = name, .resume = start->resume};
    STK__TRY(stk__run_folder_open(folder, &options, error));
    STK__TRY(stk__config_write_yaml(s->config, settings, error));
    if (!start->resume) STK__TRY(stk__run_folder_write(*folder, "config.yaml", *settings, error));
    return stk__run_data_write(*folder, stk_loader_describe(s->loader), error);
}
