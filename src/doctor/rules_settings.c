/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about a settings file: values that a program easily reads as something else, keys that have no
 * effect, worker counts. Nothing has run, so no rule knows a gain. Pure functions. */
#include "core/number.h"
#include "doctor/rule_parts.h"
#include "doctor/settings_rules.h"

#include <string.h>
#include <strings.h>

#define NOT_RUN "nothing was run: `stoker doctor -- CMD` measures it"
/* By so much the learning rate may differ from both usual rules (linear, square root). */
#define LR_TOLERANCE 0.15

static const stk__settings_facts *settings_of(const stk__doctor_facts *facts)
{
    return facts->other;
}

/* The last part of a key is one of these words, separated by blanks; case and '-' against '_' aside. */
static bool is_called(const char *key, const char *words)
{
    const char *dot = strrchr(key, '.'), *name = dot ? dot + 1 : key;
    const size_t length = strlen(name);
    for (const char *word = words; *word; word += strcspn(word, " "), word += *word == ' ') {
        const size_t size = strcspn(word, " ");
        size_t i = 0;
        while (i < size && i < length &&
               (strncasecmp(word + i, name + i, 1) == 0 || (word[i] == '_' && name[i] == '-')))
            i++;
        if (i == size && i == length) return true;
    }
    return false;
}

static const stk__settings_row *find(const stk__settings_file *file, const char *words)
{
    for (int64_t i = 0; i < file->count; i++)
        if (is_called(file->rows[i].key, words)) return &file->rows[i];
    return NULL;
}

static bool is_word(const char *value, const char *words)
{
    return is_called(value, words);
}

static bool is_true(const stk__settings_row *row)
{
    return row && is_word(row->value, "true yes on 1");
}

static bool is_false(const stk__settings_row *row)
{
    return row && is_word(row->value, "false no off 0");
}

static double number_of(const stk__settings_file *file, const char *words, double missing)
{
    const stk__settings_row *row = file ? find(file, words) : NULL;
    double value;
    return row && stk__number_real(row->value, strlen(row->value), &value) ? value : missing;
}

#define WORKERS "num_workers workers dataloader_num_workers n_workers"
#define COMPILE "compile compile_model torch_compile use_compile"

static stk__tristate amp_bool(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_row *row = find(settings_of(facts)->now, "amp mixed_precision precision amp_dtype");
    if (!row || !(is_true(row) || is_false(row)) || row->quoted) return STK_NO;
    if (is_false(row)) return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "line %d: %s: %s is a bool; code that compares it with a word (\"fp16\", \"bf16\") trains in "
        "f32 without a message",
        row->line, row->key, row->value);
    stk__finding_advises(f,
                         "read how the program uses line %d, or run it as `stoker doctor -- CMD`: the rule "
                         "amp_not_active counts the entries of autocast",
                         row->line);
    stk__finding_number(f, "line", row->line);
    stk__finding_gain_unknown(f, NOT_RUN);
    return STK_YES;
}

static stk__tristate quoted_bool(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_file *now = settings_of(facts)->now;
    for (int64_t i = 0; i < now->count; i++) {
        const stk__settings_row *row = &now->rows[i];
        if (!row->quoted || !is_word(row->value, "true false yes no on off")) continue;
        stk__finding_says(f, STK_DOCTOR_WARN,
                          "line %d: %s: \"%s\" is a text, not a bool; in Python every text but \"\" is true",
                          row->line, row->key, row->value);
        stk__finding_advises(f, "line %d without quotes: %s: %s", row->line, row->key, row->value);
        stk__finding_number(f, "line", row->line);
        stk__finding_gain_unknown(f, NOT_RUN);
        return STK_YES;
    }
    return STK_NO;
}

static stk__tristate amp_false(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_row *row =
        find(settings_of(facts)->now, "amp use_amp mixed_precision fp16 bf16 enable_amp");
    if (!is_false(row) || is_word(row->key, "fp16 bf16")) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO, "line %d: %s: %s: trains in f32", row->line, row->key, row->value);
    stk__finding_advises(
        f,
        "true (or bf16) on a GPU with tensor cores (compute capability 7.0 and newer): line %d "
        "turns it off",
        row->line);
    stk__finding_number(f, "line", row->line);
    stk__finding_gain_unknown(f, NOT_RUN);
    return STK_YES;
}

static stk__tristate workers(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_row *row = find(settings_of(facts)->now, WORKERS);
    const double count = number_of(settings_of(facts)->now, WORKERS, NAN), cpus = settings_of(facts)->cpus;
    if (isnan(count)) return STK_NO;
    if (isnan(cpus)) return STK_UNSURE;
    if (count > 0 && count <= cpus) return STK_NO;
    if (count == 0)
        stk__finding_says(f, STK_DOCTOR_WARN, "line %d: %s: 0 loads every batch in the training process",
                          row->line, row->key);
    else
        stk__finding_says(f, STK_DOCTOR_WARN, "line %d: %s: %s, but this machine has %.3g usable CPUs",
                          row->line, row->key, row->value, cpus);
    stk__finding_advises(
        f,
        "half of the CPUs, at most 8, for each GPU: %.0f here; 2 to 4 if images are augmented on "
        "the GPU",
        fmax(1, fmin(8, floor(cpus / 2))));
    stk__finding_number(f, "line", row->line);
    stk__finding_number(f, "num_workers", count);
    stk__finding_number(f, "cpus", cpus);
    stk__finding_gain_unknown(f, NOT_RUN);
    return STK_YES;
}

static stk__tristate worker_options(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_file *now = settings_of(facts)->now;
    const stk__settings_row *prefetch = find(now, "prefetch_factor"),
                            *persistent = find(now, "persistent_workers");
    const stk__settings_row *row = is_true(persistent) ? persistent : prefetch;
    if (number_of(now, WORKERS, NAN) != 0 || !row || is_word(row->value, "null none ~")) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_CRIT,
                      "line %d: %s: %s with num_workers 0: PyTorch's DataLoader raises ValueError", row->line,
                      row->key, row->value);
    stk__finding_advises(f, "num_workers above 0, or without line %d", row->line);
    stk__finding_number(f, "line", row->line);
    stk__finding_gain_unknown(f, NOT_RUN);
    return STK_YES;
}

static stk__tristate compile_mode(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_file *now = settings_of(facts)->now;
    const stk__settings_row *mode = find(now, "compile_mode"), *on = find(now, COMPILE);
    if (!mode || is_true(on)) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO, "line %d: %s: %s has no effect: %s", mode->line, mode->key,
                      mode->value, on ? "compilation is off" : "no key turns compilation on");
    stk__finding_advises(f, "%s: true, or remove line %d", on ? on->key : "compile", mode->line);
    stk__finding_number(f, "line", mode->line);
    stk__finding_gain_unknown(f, NOT_RUN);
    return STK_YES;
}

static stk__tristate non_blocking(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_file *now = settings_of(facts)->now;
    const stk__settings_row *copy = find(now, "non_blocking"), *pinned = find(now, "pin_memory");
    if (!is_true(copy) || is_true(pinned)) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_WARN,
                      "line %d: %s: true with pageable memory: such copies wait all the same", copy->line,
                      copy->key);
    stk__finding_advises(f, "pin_memory: true beside line %d", copy->line);
    stk__finding_number(f, "line", copy->line);
    stk__finding_gain_unknown(f, NOT_RUN);
    return STK_YES;
}

/* batch x accumulation x GPUs is what a weight update sees. */
static double effective_batch(const stk__settings_file *file)
{
    return number_of(file, "batch_size train_batch_size per_device_train_batch_size", NAN) *
           number_of(file, "gradient_accumulation_steps accumulate_grad_batches accumulation_steps", 1);
}

static stk__tristate lr_after_batch(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_facts *s = settings_of(facts);
    const double batch = effective_batch(s->now), old_batch = s->before ? effective_batch(s->before) : NAN;
    const double lr = number_of(s->now, "lr learning_rate", NAN),
                 old_lr = number_of(s->before, "lr learning_rate", NAN);
    const double ratio = batch / old_batch, lr_ratio = lr / old_lr;
    if (!s->before) return STK_NO;
    if (isnan(ratio) || isnan(lr_ratio)) return STK_UNSURE;
    if (fabs(ratio - 1) < 0.01 || fabs(lr_ratio / ratio - 1) < LR_TOLERANCE ||
        fabs(lr_ratio / sqrt(ratio) - 1) < LR_TOLERANCE)
        return STK_NO;
    stk__finding_says(
        f, STK_DOCTOR_WARN,
        "a weight update sees %.0f samples instead of %.0f (x %.3g), the learning rate went from %g to "
        "%g (x %.3g)",
        batch, old_batch, ratio, old_lr, lr, lr_ratio);
    stk__finding_advises(
        f,
        "lr %.3g (square root, AdamW) to %.3g (linear, SGD), with warm-up; check the accuracy: both "
        "files were compared",
        old_lr * sqrt(ratio), old_lr * ratio);
    stk__finding_number(f, "batch_ratio", ratio);
    stk__finding_number(f, "lr_ratio", lr_ratio);
    stk__finding_gain_unknown(f, "it is about accuracy, not speed");
    return STK_YES;
}

static stk__tristate each_epoch(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_row *row =
        find(settings_of(facts)->now,
             "eval_interval eval_every val_interval checkpoint_interval save_every save_interval");
    if (!row || strcmp(row->value, "1") != 0) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO, "line %d: %s: 1", row->line, row->key);
    stk__finding_advises(
        f,
        "5 while epochs are short: line %d; how much time it takes is measured by `stoker doctor "
        "-- CMD`",
        row->line);
    stk__finding_number(f, "line", row->line);
    stk__finding_gain_unknown(f, NOT_RUN);
    return STK_YES;
}

static stk__tristate unknown_keys(const stk__doctor_facts *facts, stk__doctor_finding *f)
{
    const stk__settings_facts *s = settings_of(facts);
    if (!s->unknown_count) return STK_NO;
    stk__finding_says(f, STK_DOCTOR_INFO, "%lld key%s that neither Stoker nor a known trainer has: %s",
                      (long long)s->unknown_count, s->unknown_count == 1 ? "" : "s", s->unknown);
    stk__finding_advises(f,
                         "search your program for %s: a key that nothing reads has no effect, and no message",
                         s->unknown_count == 1 ? "it" : "them");
    stk__finding_number(f, "keys", (double)s->unknown_count);
    stk__finding_gain_unknown(f, NOT_RUN);
    return STK_YES;
}

const stk__doctor_rule stk__rules_settings[] = {
    {"settings_worker_options", "options of workers without workers", false, 0, "the file", worker_options},
    {"settings_amp_bool", "a bool where code may want a word", false, STK_SYMPTOM_NO_SPEEDUP, "the file",
     amp_bool},
    {"settings_quoted_bool", "a text where code wants a bool", false, STK_SYMPTOM_NO_SPEEDUP, "the file",
     quoted_bool},
    {"settings_workers", "number of loader workers", false,
     STK_SYMPTOM_LOW_UTIL | STK_SYMPTOM_MORE_WORKERS | STK_SYMPTOM_CPU_FULL, "the file, CPUs of this machine",
     workers},
    {"settings_non_blocking", "asynchronous copies without pinned memory", false, STK_SYMPTOM_NO_SPEEDUP,
     "the file", non_blocking},
    {"settings_lr", "learning rate after a change of the batch", false, 0, "both files", lr_after_batch},
    {"settings_compile_mode", "a key without effect", false, STK_SYMPTOM_COMPILE | STK_SYMPTOM_NO_SPEEDUP,
     "the file", compile_mode},
    {"settings_amp_off", "mixed precision is off", false, STK_SYMPTOM_NO_SPEEDUP, "the file", amp_false},
    {"settings_each_epoch", "evaluation or checkpoint every time", false, STK_SYMPTOM_LOW_UTIL, "the file",
     each_epoch},
    {"settings_unknown", "keys that may not be read", false, STK_SYMPTOM_NO_SPEEDUP, "the file",
     unknown_keys},
    {0}};
