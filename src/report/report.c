/* SPDX-License-Identifier: Apache-2.0 */
/* report.html from the folder of a run: reads it, writes the sections one after the other into one
 * self-contained page (styles, script and images inline, nothing fetched), saved atomically. */
#include "report/report.h"

#include "core/durable.h"
#include "core/file.h"
#include "report/report_sections.h"

#include <limits.h>
#include <locale.h>

static void write_page(stk__page *page, const stk__run_facts *facts)
{
    static void (*const sections[])(stk__page *, const stk__run_facts *) = {
        stk__report_head, stk__report_charts,  stk__report_answers, stk__report_classes, stk__report_stall,
        stk__report_gpus, stk__report_effects, stk__report_layers,  stk__report_config};
    stk__page_begin(page);
    stk__report_title(page, facts);
    stk__page_body(page, NULL);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        sections[i](page, facts);
    stk__page_end(page);
}

static stk_status write_report(const char *run_folder, const char *path, stk_error *error)
{
    char own[PATH_MAX];
    stk__run_facts facts;
    stk__page page = {.error = error};
    STK__TRY(stk__durable_join(own, sizeof own, run_folder, STK_REPORT_NAME, error));
    stk_status status = stk__run_facts_read(&facts, run_folder, error);
    if (status == STK_OK) {
        write_page(&page, &facts);
        status = page.status;
    }
    const stk__file_care care = path ? STK_FILE_QUICK | STK_FILE_NAMED : STK_FILE_QUICK;
    if (status == STK_OK) status = stk__file_write(path ? path : own, page.text, care, error);
    stk__buffer_fini(&page.text);
    stk__run_facts_fini(&facts);
    return status;
}

stk_status stk__report_write(const char *run_folder, const char *path, stk_error *error)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); /* coordinates have no commas */
    if (!plain) return stk__fail_memory(error, 64, "a locale");
    const locale_t before = uselocale(plain);
    const stk_status status = write_report(run_folder, path, error);
    uselocale(before);
    freelocale(plain);
    return status;
}
