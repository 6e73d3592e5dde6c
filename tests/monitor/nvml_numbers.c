/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the reader tells of every NVIDIA GPU, `GPU KEY VALUE` a line, for test_pynvml.py. */
#include "monitor/gpu_reader.h"

#include <stdio.h>
#include <time.h>

static void print_gpu(stk__gpu_reader *reader, int number)
{
    static stk_gpu_frame frame;
    stk__poller_context context = {.reader = reader, .number = number};
    stk_gpu gpu;
    context.state = stk__alloc(stk__reader_nvidia.state_bytes);
    for (int i = 0; i < 2; i++) { /* activity lies between two reads */
        stk__gpu_frame_clear(&frame);
        stk__reader_nvidia.read(&context, &frame);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    stk__reader_nvidia.describe(reader, number, &gpu);
    printf("%d name %s\n%d id %s\n", number, gpu.name, number, gpu.id);
    for (int m = 0; m < STK_METRIC_COUNT; m++)
        if (frame.readings[m].known == STK_KNOWN)
            printf("%d %s %.17g\n", number, stk_metric_key((stk_metric)m), frame.readings[m].value);
    for (int p = 0; p < frame.process_count; p++)
        printf("%d process %d %.17g %.17g\n", number, (int)frame.processes[p].pid,
               frame.processes[p].memory_bytes.value, frame.processes[p].util_percent.value);
    stk__reader_nvidia.leave(&context);
    stk__free(context.state);
}

int main(void)
{
    stk__gpu_reader *reader;
    stk_error error = {0};
    if (stk__reader_nvidia.open(&reader, &error) != STK_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (int i = 0; i < stk__reader_nvidia.count(reader); i++)
        print_gpu(reader, i);
    stk__reader_nvidia.close(&reader);
    return 0;
}
