/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics that come as structs, field values and counters. */
#include "monitor/nvidia/nvidia_state.h"

#include <limits.h>

#define MOST_MILLIWATTS      2e7
#define MOST_THROTTLED_PER_S 8e9                      /* ns: several reasons may count at once */
#define MOST_PCIE_PER_S      1e12                     /* bytes */
#define MOST_MEMORY          (1ull << 50)             /* bytes */
#define PCIE_GAP_NS          (STK_SECOND_NS * 9 / 10) /* the driver measures 20 ms for each answer */
#define KILOBYTE             1024

static void count(stk__nvidia_state *s, stk_metric metric, stk__counter_unwrap *unwrap, double raw,
                  double most_per_s, double scale)
{
    double total;
    if (stk__counter_unwrap_add(unwrap, raw, most_per_s, s->now_ns, &total))
        stk__nvidia_told(s, metric, total * scale);
}

static void read_field(stk__nvidia_state *s, const stk__nvml_field *field, double value)
{
    switch (field->id) {
    case STK_NVML_FIELD_POWER_INSTANT:
        if (value <= MOST_MILLIWATTS) stk__nvidia_told(s, STK_METRIC_POWER, value * 1e-3);
        break;
    case STK_NVML_FIELD_MEMORY_TEMPERATURE:
        if (value <= 200 && value > 0) stk__nvidia_told(s, STK_METRIC_MEMORY_TEMPERATURE, value);
        break;
    case STK_NVML_FIELD_THROTTLED_POWER:
        count(s, STK_METRIC_THROTTLED_POWER, &s->throttled_power, value, MOST_THROTTLED_PER_S, 1e-9);
        break;
    case STK_NVML_FIELD_THROTTLED_HEAT:
        count(s, STK_METRIC_THROTTLED_HEAT, &s->throttled_heat, value, MOST_THROTTLED_PER_S, 1e-9);
        break;
    case STK_NVML_FIELD_PCIE_SENT:
        count(s, STK_METRIC_PCIE_SENT, &s->pcie_sent, value, MOST_PCIE_PER_S, 1);
        break;
    case STK_NVML_FIELD_PCIE_RECEIVED:
        count(s, STK_METRIC_PCIE_RECEIVED, &s->pcie_received, value, MOST_PCIE_PER_S, 1);
        break;
    default:
        break;
    }
}

static bool is_unsupported(int result)
{
    return result == STK_NVML_NOT_SUPPORTED || result == STK_NVML_INVALID_ARGUMENT ||
           result == STK_NVML_FUNCTION_NOT_FOUND;
}

static const struct {
    unsigned id;
    stk_metric metric;
} fields[] = {
    {STK_NVML_FIELD_POWER_INSTANT, STK_METRIC_POWER},
    {STK_NVML_FIELD_MEMORY_TEMPERATURE, STK_METRIC_MEMORY_TEMPERATURE},
    {STK_NVML_FIELD_THROTTLED_POWER, STK_METRIC_THROTTLED_POWER},
    {STK_NVML_FIELD_THROTTLED_HEAT, STK_METRIC_THROTTLED_HEAT},
    {STK_NVML_FIELD_PCIE_SENT, STK_METRIC_PCIE_SENT},
    {STK_NVML_FIELD_PCIE_RECEIVED, STK_METRIC_PCIE_RECEIVED},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static void ask_fields(stk__nvidia_state *s, bool there)
{
    stk__nvml_field asked[FIELDS] = {{0}};
    for (int i = 0; i < FIELDS; i++)
        asked[i] = (stk__nvml_field){.id = fields[i].id, .result = STK_NVML_NOT_SUPPORTED};
    if (!stk__nvidia_may(s, STK_ASK_FIELDS, there) ||
        !stk__nvidia_heard(s, STK_ASK_FIELDS, s->nvml->fields(s->device, FIELDS, asked), "fields"))
        return;
    for (int i = 0; i < FIELDS; i++) {
        double value;
        if (asked[i].result == STK_NVML_SUCCESS && asked[i].id == fields[i].id &&
            stk__nvml_number(asked[i].value, asked[i].type, &value) && value >= 0)
            read_field(s, &asked[i], value);
        else if (is_unsupported(asked[i].result))
            s->frame->readings[fields[i].metric].known = STK_UNSUPPORTED;
    }
}

static void read_violation(stk__nvidia_state *s, int ask, int policy, stk_metric metric,
                           stk__counter_unwrap *unwrap)
{
    stk__nvml_violation time = {.violation_ns = ULLONG_MAX};
    const bool there = s->nvml->violation;
    if (s->frame->readings[metric].known != STK_UNSUPPORTED) return; /* the field has it, or will again */
    if (stk__nvidia_may(s, ask, there) &&
        stk__nvidia_heard(s, ask, s->nvml->violation(s->device, policy, &time), "throttling time") &&
        time.violation_ns != ULLONG_MAX)
        count(s, metric, unwrap, (double)time.violation_ns, MOST_THROTTLED_PER_S, 1e-9);
    stk__nvidia_missing(s, metric, ask, there);
}

static void read_energy(stk__nvidia_state *s)
{
    unsigned long long millijoules = ULLONG_MAX;
    const bool there = s->nvml->energy;
    if (stk__nvidia_may(s, STK_ASK_ENERGY, there) &&
        stk__nvidia_heard(s, STK_ASK_ENERGY, s->nvml->energy(s->device, &millijoules), "energy") &&
        millijoules != ULLONG_MAX)
        count(s, STK_METRIC_ENERGY, &s->energy, (double)millijoules, MOST_MILLIWATTS, 1e-3);
    stk__nvidia_missing(s, STK_METRIC_ENERGY, STK_ASK_ENERGY, there);
}

static int reasons_of(unsigned long long bits)
{
    const unsigned long long known = STK_NVML_REASON_DISPLAY * 2 - 1;
    int reasons = 0;
    if (bits & STK_NVML_REASON_POWER_CAP) reasons |= STK_THROTTLE_POWER;
    if (bits & (STK_NVML_REASON_SW_HEAT | STK_NVML_REASON_HW_HEAT)) reasons |= STK_THROTTLE_HEAT;
    if (bits & STK_NVML_REASON_POWER_BRAKE) reasons |= STK_THROTTLE_BRAKE;
    if (bits & STK_NVML_REASON_SYNC) reasons |= STK_THROTTLE_SYNC;
    if (bits & STK_NVML_REASON_APPLICATION) reasons |= STK_THROTTLE_USER;
    /* HwSlowdown is set together with its cause; alone it is a reason of its own */
    const bool alone =
        bits & STK_NVML_REASON_HW_SLOWDOWN && !(reasons & (STK_THROTTLE_HEAT | STK_THROTTLE_BRAKE));
    if (alone || bits & STK_NVML_REASON_DISPLAY || bits & ~known) reasons |= STK_THROTTLE_OTHER;
    return reasons;
}

static void read_reasons(stk__nvidia_state *s)
{
    unsigned long long bits = ULLONG_MAX;
    const bool there = s->nvml->reasons;
    if (stk__nvidia_may(s, STK_ASK_REASONS, there) &&
        stk__nvidia_heard(s, STK_ASK_REASONS, s->nvml->reasons(s->device, &bits), "throttle reasons") &&
        bits < 1ull << 32)
        stk__nvidia_told(s, STK_METRIC_THROTTLE, reasons_of(bits));
    stk__nvidia_missing(s, STK_METRIC_THROTTLE, STK_ASK_REASONS, there);
}

static void read_temperature(stk__nvidia_state *s)
{
    stk__nvml_temperature heat = {.version = STK_NVML_VERSION(stk__nvml_temperature, 1), .temperature = -1};
    if (stk__nvidia_may(s, STK_ASK_TEMPERATURE1, s->nvml->temperature1) &&
        stk__nvidia_heard(s, STK_ASK_TEMPERATURE1, s->nvml->temperature1(s->device, &heat), "temperature") &&
        heat.temperature >= 0 && heat.temperature <= 200)
        stk__nvidia_told(s, STK_METRIC_TEMPERATURE, heat.temperature);
}

void stk__nvidia_read_fields(stk__nvidia_state *s)
{
    const bool there = s->nvml->fields;
    ask_fields(s, there);
    if (!there || s->again_ns[STK_ASK_FIELDS]) /* no field values: use the older functions */
        for (int i = 0; i < FIELDS; i++)
            stk__nvidia_missing(s, fields[i].metric, STK_ASK_FIELDS, there);
    read_violation(s, STK_ASK_VIOLATION_POWER, STK_NVML_POLICY_POWER, STK_METRIC_THROTTLED_POWER,
                   &s->throttled_power);
    read_violation(s, STK_ASK_VIOLATION_HEAT, STK_NVML_POLICY_HEAT, STK_METRIC_THROTTLED_HEAT,
                   &s->throttled_heat);
    read_energy(s);
    read_reasons(s);
    read_temperature(s);
}

static void tell_memory(stk__nvidia_state *s, unsigned long long total, unsigned long long used)
{
    if (total == 0 || total > MOST_MEMORY) return;
    stk__nvidia_told(s, STK_METRIC_MEMORY_TOTAL, (double)total);
    if (used <= total) stk__nvidia_told(s, STK_METRIC_MEMORY_USED, (double)used);
}

void stk__nvidia_read_memory(stk__nvidia_state *s)
{
    stk__nvml_memory2 newer = {.version = STK_NVML_VERSION(stk__nvml_memory2, 2)};
    stk__nvml_memory older = {0};
    int ask = STK_ASK_MEMORY2;
    bool there = s->nvml->memory2;
    if (stk__nvidia_may(s, ask, there) &&
        stk__nvidia_heard(s, ask, s->nvml->memory2(s->device, &newer), "memory")) {
        tell_memory(s, newer.total, newer.used);
    } else if (!there || s->again_ns[ask]) {
        ask = STK_ASK_MEMORY;
        there = s->nvml->memory;
        if (stk__nvidia_may(s, ask, there) &&
            stk__nvidia_heard(s, ask, s->nvml->memory(s->device, &older), "memory"))
            tell_memory(s, older.total, older.used);
    }
    stk__nvidia_missing(s, STK_METRIC_MEMORY_TOTAL, ask, there);
    stk__nvidia_missing(s, STK_METRIC_MEMORY_USED, ask, there);
}

static bool ask_rate(stk__nvidia_state *s, int ask, int counter)
{
    unsigned kilobytes = UINT_MAX;
    const bool there = s->nvml->pcie_rate;
    if (!stk__nvidia_may(s, ask, there) ||
        !stk__nvidia_heard(s, ask, s->nvml->pcie_rate(s->device, counter, &kilobytes), "PCIe throughput") ||
        kilobytes > MOST_PCIE_PER_S / KILOBYTE)
        return false;
    s->pcie_rates[counter] = (double)kilobytes * KILOBYTE;
    return true;
}

/* Samples of 20 ms are extrapolated: an estimate, and noted as such. It continues from the last counter
 * value, if there was one. */
static void estimate_pcie(stk__nvidia_state *s, int counter, double passed_s, bool due)
{
    const int ask = counter == STK_NVML_PCIE_SENT ? STK_ASK_PCIE_SENT : STK_ASK_PCIE_RECEIVED;
    const stk_metric metric = counter == STK_NVML_PCIE_SENT ? STK_METRIC_PCIE_SENT : STK_METRIC_PCIE_RECEIVED;
    const stk_reading *reading = &s->frame->readings[metric];
    if (reading->known == STK_KNOWN) s->pcie_sums[counter] = reading->value;
    if (reading->known != STK_UNSUPPORTED) return;
    if (s->pcie_known[counter]) s->pcie_sums[counter] += s->pcie_rates[counter] * passed_s;
    if (due) s->pcie_known[counter] = ask_rate(s, ask, counter);
    if (s->pcie_known[counter]) {
        stk__nvidia_told(s, metric, s->pcie_sums[counter]);
        stk__nvidia_note(s, "PCIe throughput is estimated");
    }
    stk__nvidia_missing(s, metric, ask, s->nvml->pcie_rate);
}

void stk__nvidia_read_pcie(stk__nvidia_state *s)
{
    const double passed_s = s->pcie_summed_ns ? (double)(s->now_ns - s->pcie_summed_ns) / 1e9 : 0;
    const bool due = s->now_ns >= s->pcie_asked_ns + PCIE_GAP_NS;
    if (due) s->pcie_asked_ns = s->now_ns;
    s->pcie_summed_ns = s->now_ns;
    estimate_pcie(s, STK_NVML_PCIE_SENT, passed_s, due);
    estimate_pcie(s, STK_NVML_PCIE_RECEIVED, passed_s, due);
}
