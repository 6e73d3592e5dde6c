/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of what stoker train prints at its end: where the time went, what devices did meanwhile, and that
 * there was nothing to do. Main thread. */
#include "train_end.h"

#include "cli.h"

#include <math.h>

enum { BAR = 30 };

void stk__train_print_stall(stk__run *run, const stk__stall *stall)
{
    const double wall_s = run->report.wall_s;
    char name[48];
    printf("where the time went: %.1f s, %s, %.4g ms a step\n", wall_s,
           stk__cli_count(run->step_count, "step"), stk__run_step_ms(run));
    for (int row = 0; row < STK_STALL_ROWS; row++) {
        const double share = stk__stall_share(stall, (stk__stall_row)row, wall_s);
        const int bar = (int)lrint(share * BAR);
        if (share < 0.0005) continue;
        snprintf(name, sizeof name, "%s%s", row <= STK_STALL_AUGMENT ? "wait for data: " : "",
                 stk__stall_name((stk__stall_row)row));
        printf("  %-24s %5.1f %%%s", name, 100 * share, bar ? "  " : "");
        for (int i = 0; i < bar; i++)
            fputs("█", stdout);
        printf("\n");
    }
}

/* Beside the network, so that it is no row of the table. */
void stk__train_print_device_batches(const stk__session *s)
{
    stk_loader_stats stats;
    stk_loader_get_stats(s->loader, &stats);
    if (!stats.device_batches) return;
    const double each_ms = 1e-6 / (double)stats.device_batches;
    printf("  meanwhile, per batch: %.4g ms of copies to a device, %.4g ms of its kernels\n",
           each_ms * (double)stats.device_copy_ns, each_ms * (double)stats.device_kernel_ns);
}

/* A finished run was resumed: no step was left. */
void stk__train_print_nothing(const stk__train_session *t)
{
    const stk__run_report *r = &t->run.report;
    const char *path = stk__run_folder_path(t->folder);
    if (r->stopped_early)
        printf("nothing to do: the run stopped early after %s without improvement\n",
               stk__cli_count(r->at.epoch, "epoch"));
    else
        printf("nothing to do: %s of %llu done; for more: stoker train --run %s --resume train.epochs=%llu\n",
               stk__cli_count(r->at.epoch, "epoch"), (unsigned long long)r->epochs, path,
               2 * (unsigned long long)r->epochs);
    printf("run: %s (report.html, config.yaml, run.json, metrics.jsonl, checkpoints)\n", path);
}
