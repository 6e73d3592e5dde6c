/* SPDX-License-Identifier: Apache-2.0 */
/* A run's config.yaml says how its data was split; a data set that is named for an evaluation has no share in
 * that split. So whether a setting comes from the run (a file) or from who evaluates (environment, command
 * line) decides what it means. One thread, before the loaders are open. */
#include "session/eval_part.h"

#include "source/layout_options.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Asked for by who evaluates, not by the run's own settings. */
static bool is_asked(const stk__session *s, const char *name)
{
    stk__origin origin;
    return stk__config_requested(s->config, name, &origin) && origin >= STK_ORIGIN_ENVIRONMENT;
}

bool stk__session_is_limited(const stk__session *s)
{
    return stk__config_requested(s->config, "data.val.limit", NULL) ||
           (s->evaluates_only && is_asked(s, "data.limit"));
}

/* Parts that the data set names itself. */
static stk__source_options source_options(const stk_loader_options *o)
{
    return (stk__source_options){.root = o->root, STK_LAYOUT_FIELDS(o)};
}

static uint32_t find_parts(const stk_loader_options *o)
{
    const stk__source_options options = source_options(o);
    return stk__source_find_parts(&options);
}

bool stk__session_has_part(const stk__session *s)
{
    const stk_loader_options *o = &s->val_data;
    if (o->part != STK_PART_VAL || o->val_split > 0 || o->val_root) return true;
    const bool same = s->loader && o->root && s->data.root && strcmp(o->root, s->data.root) == 0;
    return same ? stk_loader_describe(s->loader)->val_part : find_parts(o) & STK_SOURCE_VAL;
}

static stk_status drop_setting(stk__session *s, const char *name, const char *why, stk_error *error)
{
    return stk__config_requested(s->config, name, NULL) ? stk__config_effect(s->config, name, "", why, error)
                                                        : STK_OK;
}

static stk_status take_all(stk__session *s, stk_error *error)
{
    static const char why[] = "data.root names another data set";
    s->val_data.part = STK_PART_ALL;
    s->val_data.val_split = 0;
    s->val_data.val_root = NULL;
    STK__TRY(stk__config_effect(s->config, "data.part", "all", why, error));
    STK__TRY(drop_setting(s, "data.val_split", why, error));
    return drop_setting(s, "data.val_root", why, error);
}

stk_status stk__session_choose_part(stk__session *s, stk_error *error)
{
    const bool named = is_asked(s, "data.root") || is_asked(s, "data.val.root"),
               split = is_asked(s, "data.val_split") || is_asked(s, "data.val.val_split") ||
                       is_asked(s, "data.val_root") || is_asked(s, "data.val.val_root");
    if (s->evaluates_only && (is_asked(s, "data.part") || is_asked(s, "data.val.part"))) return STK_OK;
    s->val_data.part = STK_PART_VAL;
    if (!s->evaluates_only || !named || split) return STK_OK;
    if (find_parts(&s->val_data) & STK_SOURCE_VAL) {
        s->val_data.val_root = NULL;
        return STK_OK;
    }
    return take_all(s, error);
}

/* --- in words ----------------------------------------------------------------------------------------------
 */

static const char *const folders[] = {
    [STK_PART_TRAIN] = "train", [STK_PART_VAL] = "val", [STK_PART_ALL] = "", [STK_PART_TEST] = "test"};

void stk__session_print_root(const stk_loader_options *data, char *text, size_t size)
{
    const char *root = data->root ? data->root : "", *part = folders[data->part];
    const bool elsewhere = data->part == STK_PART_VAL && data->val_root;
    const int length = snprintf(text, size, "%s/%s", root, part);
    const stk__source_options options = source_options(data);
    const bool folder = length > 0 && (size_t)length < size && *part && stk__source_folder_parts(&options) &&
                        access(text, F_OK) == 0;
    if (elsewhere || !folder) snprintf(text, size, "%s", elsewhere ? data->val_root : root);
}

void stk__session_print_part(const stk__session *s, uint64_t bad, char *text, size_t size)
{
    const stk_loader_info *info = stk_loader_describe(s->val_loader);
    const stk_loader_options *data = &s->val_data;
    const unsigned long long part = info->sample_count, count = part - bad, all = info->dataset_count;
    const char *plural = part == 1 ? "" : "s";
    char root[512], of[32] = "";
    if (bad) snprintf(of, sizeof of, " of %llu", part);
    stk__session_print_root(data, root, sizeof root);
    if (data->part == STK_PART_ALL && count == all)
        snprintf(text, size, "%s%llu sample%s of %s", all == 1 ? "" : "all ", count, plural, root);
    else if (data->part == STK_PART_ALL)
        snprintf(text, size, "%llu of %llu samples of %s", count, all, root);
    else
        snprintf(text, size, "%llu%s %s sample%s of %s", count, of,
                 data->part == STK_PART_VAL    ? "validation"
                 : data->part == STK_PART_TEST ? "test"
                                               : "training",
                 plural, root);
}
