#include "monitor/host_frame.h"

struct stk__host {
    int32_t pid;
};

stk_status stk__host_open(stk__host **host, int32_t pid, const char *root, stk_error *error)
{
    (void)root;
    *host = stk__alloc(sizeof **host);
    if (!*host) return stk__fail_memory(error, sizeof **host, "the host's readings");
    (*host)->pid = pid;
    return STK_OK;
}

void stk__host_close(stk__host **host)
{
    stk__free(*host);
    *host = NULL;
}

void stk__host_read(stk__host *host, stk_host_frame *frame)
{
    (void)host;
    *frame = (stk_host_frame){0};
}
