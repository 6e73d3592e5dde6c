/* SPDX-License-Identifier: Apache-2.0 */
/* For every rule of the doctor: healthy evidence with the one fault that it finds, and what it then says. */
#ifndef STK_TEST_RULE_FAULTS_H
#define STK_TEST_RULE_FAULTS_H

#include "made_evidence.h"

#include "doctor/doctor_rules.h"

static void loading_in_process(made_evidence *m)
{
    m->loaders[0].num_workers = 0;
    m->e.work_count = 0;
    made_cause(m, STK_CAUSE_WAIT, 50);
    made_work(m, STK_WORK_TRANSFORM, "RandomRotation", 0.5);
}

static void two_busy_workers(made_evidence *m)
{
    m->loaders[0].num_workers = 2;
    m->e.work_count = 0;
    made_cause(m, STK_CAUSE_WAIT, 50);
    made_work(m, STK_WORK_TRANSFORM, "RandomRotation", 2);
}

static void many_workers(made_evidence *m)
{
    m->loaders[0].num_workers = 28;
    made_process(m, STK_PROCESS_WORKER)->run_delay_share = 0.4;
}

static void bursts(made_evidence *m)
{
    made_cause(m, STK_CAUSE_WAIT, 20);
    m->loaders[0].wait_max_s = 0.4;
    m->loaders[0].epochs = 1;
}

static void restarted(made_evidence *m)
{
    made_cause(m, STK_CAUSE_WAIT, 30);
    m->loaders[0].persistent_workers = STK_NO;
    m->loaders[0].epochs = 4;
    m->loaders[0].first_wait_s = 2.64;
}

static void restarted_outside(made_evidence *m)
{
    m->e.loader_count = 0;
    m->e.machine.workers_started = 12;
    m->e.machine.workers_at_once = 4;
}

static void unpinned(made_evidence *m)
{
    m->loaders[0].pin_memory = STK_NO;
    made_cause(m, STK_CAUSE_COPY, 10);
}

static void blocking(made_evidence *m)
{
    made_cause(m, STK_CAUSE_COPY, 10);
}

static void slow_evaluation(made_evidence *m)
{
    made_cause(m, STK_CAUSE_EVALUATION, 19);
    m->loaders[1] = (stk__loader_evidence){.site = "train.py:12", .training = STK_NO, .wait_s = 1.5};
    m->e.loader_count = 2;
}

static void orphans(made_evidence *m)
{
    made_process(m, STK_PROCESS_ORPHAN);
}

static void one_thread(made_evidence *m)
{
    m->e.hook_started = STK_NO;
    m->processes[0].main_thread_share = 0.99;
    m->gpus[0].util_mean_percent = made_reading(30);
}

static void busy_workers_outside(made_evidence *m)
{
    m->e.hook_started = STK_NO;
    m->processes[0].main_thread_share = 0.2;
    for (int i = 0; i < 4; i++)
        made_process(m, STK_PROCESS_WORKER)->cpu_share = 0.98;
}

/* Eight CPUs are full: no worker more helps. */
static void heavy(made_evidence *m, stk__work_kind kind)
{
    m->loaders[0].num_workers = 4;
    m->e.work_count = 0;
    m->processes[0].cpu_share = 8;
    made_cause(m, STK_CAUSE_WAIT, 40);
    made_work(m, kind, "work of this kind", 4);
}

static void heavy_transforms(made_evidence *m)
{
    heavy(m, STK_WORK_TRANSFORM);
}

static void heavy_decode(made_evidence *m)
{
    heavy(m, STK_WORK_DECODE);
}

static void heavy_collate(made_evidence *m)
{
    heavy(m, STK_WORK_COLLATE);
}

static void heavy_dataset(made_evidence *m)
{
    heavy(m, STK_WORK_DATASET);
}

static void heavy_read(made_evidence *m)
{
    heavy(m, STK_WORK_READ);
}

static void uneven_workers(made_evidence *m)
{
    made_cause(m, STK_CAUSE_WAIT, 30);
    m->loaders[0].worker_max_share = 1.5;
    made_work(m, STK_WORK_DECODE, "PIL.Image.load", 1);
}

static void giant(made_evidence *m)
{
    m->work[0].max_s = 3;
    m->loaders[0].wait_max_s = 2.5;
}

static void item_each_step(made_evidence *m)
{
    made_site(m, "item", true);
}

static void loop_of_items(made_evidence *m)
{
    made_site(m, "item", false)->count = 100 * MADE_STEPS;
}

static void predictions(made_evidence *m)
{
    made_site(m, "cpu", true)->bytes = 100 * MADE_STEPS * UINT64_C(65536);
}

static void evaluations(made_evidence *m)
{
    made_cause(m, STK_CAUSE_EVALUATION, 30);
    m->e.torch.evaluations = 20;
}

static void checkpoints(made_evidence *m)
{
    made_cause(m, STK_CAUSE_CHECKPOINT, 20);
    m->e.torch.saves = MADE_STEPS;
}

static void logging(made_evidence *m)
{
    made_cause(m, STK_CAUSE_LOGGING, 10);
    m->e.torch.prints = MADE_STEPS;
}

static void not_fused(made_evidence *m)
{
    made_cause(m, STK_CAUSE_OPTIMIZER, 20);
    m->optimizers[0].fused = m->optimizers[0].foreach = STK_NO;
}

static void zeroed(made_evidence *m)
{
    m->optimizers[0].zero_grads_kept = MADE_STEPS;
}

static void small_kernels(made_evidence *m)
{
    for (int i = 0; i < MADE_STEPS; i++)
        m->steps[i].gpu_ns = 30 * MADE_MS;
}

static void anomaly(made_evidence *m)
{
    m->e.torch.anomaly_detection = STK_YES;
}

static void autocast_false(made_evidence *m)
{
    m->e.torch.autocasts = m->e.torch.autocasts_off = MADE_STEPS;
    snprintf(m->e.torch.autocast_value, sizeof m->e.torch.autocast_value, "'true'");
}

static void no_autocast(made_evidence *m)
{
    m->e.torch.autocasts = 0;
}

static void half_autocast(made_evidence *m)
{
    m->e.torch.autocast_share = 0.5;
}

static void old_gpu(made_evidence *m)
{
    m->e.torch.compute_capability = 7.5;
}

static void scale_zero(made_evidence *m)
{
    m->e.torch.scale_first = 65536;
    m->e.torch.scale_last = 0.25;
    m->e.torch.scaler_skips = 18;
}

static void no_tf32(made_evidence *m)
{
    m->e.torch.autocasts = 0;
    m->e.torch.tf32_matmul = STK_NO;
}

static void channels_first(made_evidence *m)
{
    m->e.torch.channels_last_model = m->e.torch.channels_last_input = STK_NO;
}

static void no_benchmark(made_evidence *m)
{
    m->e.torch.cudnn_benchmark = STK_NO;
}

static void deterministic(made_evidence *m)
{
    m->e.torch.deterministic = STK_YES;
}

static void compiled_in_vain(made_evidence *m)
{
    m->e.torch.compiles = 1;
}

static void compile_fails(made_evidence *m)
{
    m->e.torch.compiles = m->e.torch.compile_failures = 1;
}

static void recompiles(made_evidence *m)
{
    m->e.torch.compiles = m->e.torch.compiled_calls = 100;
    m->e.torch.recompiles = 12;
}

static void breaks(made_evidence *m)
{
    m->e.torch.compiles = m->e.torch.compiled_calls = 100;
    m->e.torch.graph_breaks = 9;
}

static void died(made_evidence *m)
{
    m->e.died = true;
    m->e.exit_status = 137;
}

static void threads(made_evidence *m)
{
    m->e.torch.threads = 64;
}

static void competition(made_evidence *m)
{
    m->processes[0].run_delay_share = 0.35;
}

static void full_cpus(made_evidence *m)
{
    made_cause(m, STK_CAUSE_WAIT, 30);
    m->e.machine.cpu_share = 0.99;
    m->processes[0].cpu_share = 7;
}

static void quota(made_evidence *m)
{
    m->e.machine.quota_cpus = 2;
    m->e.machine.throttled_share = 0.5;
}

static void memory(made_evidence *m)
{
    m->e.machine.memory_used_share = 0.97;
}

static void swap(made_evidence *m)
{
    m->e.machine.swap_in_bytes_per_s = 5e6;
}

static void storage_pressure(made_evidence *m)
{
    made_cause(m, STK_CAUSE_WAIT, 30);
    m->e.machine.io_pressure = 0.6;
}

static void hot(made_evidence *m)
{
    m->gpus[0].throttled_heat_s = made_reading(4);
}

static void power(made_evidence *m)
{
    m->gpus[0].throttled_power_s = made_reading(8);
}

static void narrow_link(made_evidence *m)
{
    m->e.gpu.link_share = 0.25;
}

static void shared(made_evidence *m)
{
    m->e.gpu.other_processes = 2;
    m->e.gpu.other_memory_bytes = 6e9;
}

static void dips(made_evidence *m)
{
    m->gpus[0].util_mean_percent = made_reading(60);
    m->gpus[0].dip_period_s = made_reading(2);
}

static void lost(made_evidence *m)
{
    m->gpus[0].bad_state = STK_GPU_LOST;
}

static void uneven_gpus(made_evidence *m)
{
    m->e.torch.world_size = 2;
    m->e.gpus.gpu_count = 2;
    m->gpus[1].util_mean_percent = made_reading(50);
}

static void parallel(made_evidence *m)
{
    snprintf(m->e.torch.parallel, sizeof m->e.torch.parallel, "DataParallel");
}

static void no_memory(made_evidence *m)
{
    m->e.torch.out_of_memory = 1;
}

static void peak(made_evidence *m)
{
    m->e.torch.cuda_peak_bytes = 23.9e9;
}

static void small_batch(made_evidence *m)
{
    m->gpus[0].util_mean_percent = made_reading(40);
    m->e.torch.cuda_peak_bytes = 3e9;
}

static const struct fault {
    const char *id;
    void (*make)(made_evidence *m);
    stk__doctor_severity severity;
    double gain; /* as the formula in docs has it; NAN: unknown */
} faults[] = {
    {"workers_zero", loading_in_process, STK_DOCTOR_CRIT, 1},
    {"workers_few", two_busy_workers, STK_DOCTOR_CRIT, 1},
    {"workers_many", many_workers, STK_DOCTOR_WARN, NAN},
    {"prefetch_low", bursts, STK_DOCTOR_WARN, 0.25},
    {"workers_not_persistent", restarted, STK_DOCTOR_WARN, 1 / 0.8 - 1},
    {"workers_restarted", restarted_outside, STK_DOCTOR_WARN, NAN},
    {"pin_memory_off", unpinned, STK_DOCTOR_WARN, 1 / 0.95 - 1},
    {"copy_blocking", blocking, STK_DOCTOR_WARN, 1 / 0.9 - 1},
    {"evaluation_loader", slow_evaluation, STK_DOCTOR_WARN, 1 / 0.85 - 1},
    {"orphan_workers", orphans, STK_DOCTOR_WARN, NAN},
    {"one_cpu_bound", one_thread, STK_DOCTOR_WARN, NAN},
    {"workers_busy", busy_workers_outside, STK_DOCTOR_WARN, NAN},
    {"transforms_heavy", heavy_transforms, STK_DOCTOR_CRIT, 1 / 0.6 - 1},
    {"decode_heavy", heavy_decode, STK_DOCTOR_CRIT, 1 / 0.6 - 1},
    {"collate_heavy", heavy_collate, STK_DOCTOR_CRIT, 1 / 0.6 - 1},
    {"dataset_heavy", heavy_dataset, STK_DOCTOR_CRIT, 1 / 0.6 - 1},
    {"storage_slow", heavy_read, STK_DOCTOR_CRIT, 1 / 0.6 - 1},
    {"worker_imbalance", uneven_workers, STK_DOCTOR_CRIT, 1 / 0.7 - 1},
    {"giant_sample", giant, STK_DOCTOR_WARN, 1 / (1 - 2.5 / 9.9) - 1},
    {"sync_every_step", item_each_step, STK_DOCTOR_WARN, NAN},
    {"item_loop", loop_of_items, STK_DOCTOR_WARN, 1 / 0.9 - 1},
    {"predictions_copied", predictions, STK_DOCTOR_WARN, 1 / 0.9 - 1},
    {"evaluation_often", evaluations, STK_DOCTOR_CRIT, 1 / 0.76 - 1},
    {"checkpoint_often", checkpoints, STK_DOCTOR_WARN, 1 / 0.82 - 1},
    {"logging_each_step", logging, STK_DOCTOR_WARN, 1 / (1 - 0.98 * 0.1) - 1},
    {"optimizer_not_fused", not_fused, STK_DOCTOR_WARN, 1 / 0.9 - 1},
    {"zero_grad_kept", zeroed, STK_DOCTOR_INFO, NAN},
    {"launch_bound", small_kernels, STK_DOCTOR_WARN, 1 / 0.3 - 1},
    {"anomaly_detection", anomaly, STK_DOCTOR_WARN, NAN},
    {"amp_not_active", autocast_false, STK_DOCTOR_CRIT, NAN},
    {"amp_off", no_autocast, STK_DOCTOR_WARN, NAN},
    {"amp_partial", half_autocast, STK_DOCTOR_WARN, NAN},
    {"amp_unsupported", old_gpu, STK_DOCTOR_WARN, NAN},
    {"loss_scale_collapsed", scale_zero, STK_DOCTOR_CRIT, 1 / 0.82 - 1},
    {"tf32_off", no_tf32, STK_DOCTOR_INFO, NAN},
    {"channels_last_off", channels_first, STK_DOCTOR_INFO, NAN},
    {"cudnn_benchmark_off", no_benchmark, STK_DOCTOR_INFO, NAN},
    {"deterministic_on", deterministic, STK_DOCTOR_INFO, NAN},
    {"compile_not_called", compiled_in_vain, STK_DOCTOR_WARN, NAN},
    {"compile_failed", compile_fails, STK_DOCTOR_WARN, NAN},
    {"compile_recompiles", recompiles, STK_DOCTOR_WARN, NAN},
    {"graph_breaks", breaks, STK_DOCTOR_INFO, NAN},
    {"command_died", died, STK_DOCTOR_CRIT, INFINITY},
    {"threads_many", threads, STK_DOCTOR_INFO, NAN},
    {"cpu_competition", competition, STK_DOCTOR_WARN, NAN},
    {"cpu_full", full_cpus, STK_DOCTOR_WARN, 1 / 0.7 - 1},
    {"quota_throttled", quota, STK_DOCTOR_CRIT, 1},
    {"memory_near_limit", memory, STK_DOCTOR_WARN, NAN},
    {"swapping", swap, STK_DOCTOR_CRIT, NAN},
    {"io_pressure", storage_pressure, STK_DOCTOR_INFO, NAN},
    {"out_of_memory", no_memory, STK_DOCTOR_CRIT, INFINITY},
    {"gpu_fault", lost, STK_DOCTOR_CRIT, INFINITY},
    {"thermal_throttling", hot, STK_DOCTOR_CRIT, NAN},
    {"power_throttling", power, STK_DOCTOR_INFO, NAN},
    {"link_degraded", narrow_link, STK_DOCTOR_WARN, 1 / (1 - 0.0075) - 1},
    {"gpu_shared", shared, STK_DOCTOR_WARN, NAN},
    {"regular_dips", dips, STK_DOCTOR_WARN, 85.0 / 60 - 1},
    {"gpus_uneven", uneven_gpus, STK_DOCTOR_WARN, NAN},
    {"data_parallel", parallel, STK_DOCTOR_WARN, NAN},
    {"gpu_memory_full", peak, STK_DOCTOR_WARN, NAN},
    {"batch_small", small_batch, STK_DOCTOR_WARN, 85.0 / 40 - 1},
};

#endif
