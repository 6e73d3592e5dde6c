#include "train_goals.h"

#include <math.h>

static const struct {
    const char *speed, *small, *first, *share, *small_share;
    double goal;
} goals[STK_LESSONS] = {
    {"unet: times as fast as eager PyTorch", "unet, batch of 1 to 4: times as fast as eager PyTorch",
     "unet: start to first step / eager PyTorch's", "unet: CPU time outside of operators / all",
     "unet, batch of 1 to 4: CPU time outside of operators / all", 1.0},
    {"locator: times as fast as eager PyTorch", "locator, batch of 1 to 4: times as fast as eager PyTorch",
     "locator: start to first step / eager PyTorch's", "locator: CPU time outside of operators / all",
     "locator, batch of 1 to 4: CPU time outside of operators / all", 1.0},
    {"resnet: times as fast as eager PyTorch", "resnet, batch of 1 to 4: times as fast as eager PyTorch",
     "resnet: start to first step / eager PyTorch's", "resnet: CPU time outside of operators / all",
     "resnet, batch of 1 to 4: CPU time outside of operators / all", 1.0},
    {"lstm: times as fast as eager PyTorch", "lstm, fewer windows: times as fast as eager PyTorch",
     "lstm: start to first step / eager PyTorch's", "lstm: CPU time outside of operators / all",
     "lstm, fewer windows: CPU time outside of operators / all", 1.2},
};

enum { SMALL_GOAL_PERCENT = 120, FIRST_GOAL_PERCENT = 50, SHARE_GOAL_PERCENT = 3 };

void stk__train_torch_judge(stk__bench *bench, const stk__lesson_result large[STK_LESSONS],
                            const stk__lesson_result small[STK_LESSONS])
{
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(bench, goals[i].speed, large[i].speed, true, goals[i].goal);
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(bench, goals[i].small, small[i].speed, true, SMALL_GOAL_PERCENT * 0.01);
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(bench, goals[i].first, isnan(large[i].first) ? small[i].first : large[i].first,
                         false, FIRST_GOAL_PERCENT * 0.01);
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(bench, goals[i].share, large[i].own_share, false, SHARE_GOAL_PERCENT * 0.01);
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(bench, goals[i].small_share, small[i].own_share, false, SHARE_GOAL_PERCENT * 0.01);
}
