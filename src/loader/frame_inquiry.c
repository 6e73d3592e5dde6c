/* SPDX-License-Identifier: Apache-2.0 */
/* Where nobody looked at the masks before (stoker load, stats, the library), the first sample whose sizes do
 * not tell the frame of its mask asks here, and headers of other samples decide for the whole data set, by
 * the rule of training (mask_decision.h). Data sets without such samples pay nothing. Workers call; the
 * loader's frame_lock makes the others wait for the first. */
#include "core/logger.h"
#include "loader/mask_decision.h"
#include "loader/pump.h"

#include <string.h>

static stk_status inquire(stk_loader *loader, stk_error *error)
{
    static const char *const names[] = {"auto", "stored", "upright"};
    const stk__mask_given given = {.frame = STK_MASK_FRAME_AUTO, .ignore_index = -1};
    struct {
        stk__mask_survey survey;
        stk__mask_decision decision;
    } *look = stk__alloc(sizeof *look);
    if (!look) return stk__fail_memory(error, sizeof *look, "a look at the masks");
    const stk__survey_options options = {.most = STK_SURVEY_SAMPLES, .both_parts = true, .frames_only = true};
    stk_status status = stk__mask_survey_run(loader, options, &look->survey, error);
    const bool proved = look->survey.stored.count || look->survey.upright.count;
    if (status == STK_OK && proved)
        status = stk__mask_decide_frame(&look->survey, &given, &look->decision, error);
    if (status == STK_OK && proved) {
        loader->frame = look->decision.frame;
        stk__log(STK_LOG_WARNING, "data.mask_frame is %s, %s", names[loader->frame],
                 look->decision.frame_why);
    }
    stk__free(look);
    return status;
}

stk_status stk__loader_ask_frame(stk_loader *loader, stk_mask_frame *frame, stk_error *error)
{
    pthread_mutex_lock(&loader->frame_lock);
    if (!loader->frame_asked) {
        stk_error why = {0};
        loader->frame_asked = true;
        if (inquire(loader, &why) != STK_OK) loader->frame_error = why;
    }
    const stk_status status = loader->frame_error.code;
    if (status != STK_OK && error) *error = loader->frame_error;
    *frame = loader->frame;
    pthread_mutex_unlock(&loader->frame_lock);
    return status;
}
