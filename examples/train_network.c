/* SPDX-License-Identifier: Apache-2.0 */
/* Trains a network with a loop of your own: steps, an evaluation and a checkpoint after each epoch. What
 * `stoker train` does by itself is one call, stk_trainer_train.
 *
 *     cc train_network.c $(pkg-config --cflags --libs stoker) -o train_network
 *     ./train_network RUN data.root=DIR data.val_split=0.2 train.epochs=3
 */
#include <stoker/stoker.h>

#include <stdio.h>

static int complain(const stk_error *error)
{
    fprintf(stderr, "%s\n%s\n%s\n", error->message, error->place, error->hint);
    return 1;
}

static stk_status train(stk_trainer *trainer, stk_error *error)
{
    const stk_trainer_info *info = stk_trainer_describe(trainer);
    stk_status status = STK_OK;
    for (uint64_t epoch = 1; epoch <= info->epochs && status == STK_OK; epoch++) {
        stk_trainer_progress now = STK_TRAINER_PROGRESS_INIT;
        stk_trainer_score score = STK_TRAINER_SCORE_INIT;
        do {
            status = stk_trainer_step(trainer, error);
        } while (status == STK_OK);
        if (status != STK_END) return status;
        status = stk_trainer_evaluate(trainer, &score, error);
        if (status == STK_OK) status = stk_trainer_save(trainer, error);
        if (status == STK_OK) status = stk_trainer_get_progress(trainer, &now, error);
        if (status == STK_OK)
            printf("epoch %llu: loss %.4f, val_loss %.4f, %s %.4f\n", (unsigned long long)epoch, now.loss,
                   score.loss, info->value_names[info->metric], score.values[info->metric]);
    }
    return status == STK_OK ? stk_trainer_finish(trainer, error) : status; /* run.json, report.html */
}

static void print_stall(stk_trainer *trainer)
{
    int count;
    const stk_trainer_stall_row *rows = stk_trainer_stall(trainer, &count);
    for (int i = 0; i < count; i++)
        if (rows[i].share >= 0.001) printf("  %-16s %5.1f %%\n", rows[i].name, 100 * rows[i].share);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: train_network RUN data.root=DIR [key=value …]\n");
        return 2;
    }
    stk_trainer_options options = STK_TRAINER_OPTIONS_INIT;
    options.run = argv[1];
    options.settings = (const char *const *)argv + 2;
    options.setting_count = (size_t)argc - 2;
    stk_trainer *trainer;
    stk_error error;
    if (stk_trainer_open(&trainer, &options, &error) != STK_OK) return complain(&error);
    const stk_trainer_info *info = stk_trainer_describe(trainer);
    printf("%s for %s on %s (%s): %llu parameters, %s\n", info->network, info->task, info->device,
           info->engine, (unsigned long long)info->parameter_count, info->run);
    const stk_status status = train(trainer, &error);
    if (status == STK_OK) print_stall(trainer);
    stk_trainer_close(&trainer);
    return status == STK_OK ? 0 : complain(&error);
}
