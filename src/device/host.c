/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of batch slots on the host. */
#include "device/host.h"

#include <sys/mman.h>
#include <unistd.h>

size_t stk__host_pages(size_t size_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size_bytes + page - 1) / page * page;
}

stk_status stk__host_reserve(stk__host_memory *memory, size_t size_bytes, size_t touched_bytes,
                             stk_error *error)
{
    *memory = (stk__host_memory){0};
    size_bytes = stk__host_pages(size_bytes);
    void *pages = stk__map(size_bytes);
    if (!pages) return stk__fail_memory(error, size_bytes, "a batch slot");
    if (touched_bytes) madvise(pages, touched_bytes, MADV_HUGEPAGE); /* best effort */
    *memory = (stk__host_memory){pages, size_bytes};
    return STK_OK;
}

void stk__host_release(stk__host_memory *memory)
{
    stk__unmap(memory->data, memory->size_bytes);
    *memory = (stk__host_memory){0};
}
