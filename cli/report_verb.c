/* SPDX-License-Identifier: Apache-2.0 */
/* stoker report RUN: writes the page of a run again. */
#include "cli.h"

#include "report/report.h"

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    const char *output = NULL;
    const stk__flag flags[] = {
        {.name = "output",
         .value = "FILE",
         .help = "write the page to FILE (report.html in RUN)",
         .text = &output},
    };
    stk__arguments arguments = {.verb = verb,
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0],
                                .most_words = 1,
                                .own_words = true};
    stk_error error;
    int code = stk__arguments_read(&arguments, argc, argv);
    if (code < 0 && !arguments.word_count) code = stk__cli_usage("report", "name the folder of a run");
    if (code < 0) {
        code = STK_EXIT_GOOD;
        if (stk__report_write(arguments.words[0], output, &error) != STK_OK)
            code = stk__cli_fail(&error);
        else if (!stk__cli_quiet && output)
            printf("%s\n", output);
        else if (!stk__cli_quiet)
            printf("%s/" STK_REPORT_NAME "\n", arguments.words[0]);
    }
    stk__arguments_fini(&arguments);
    return code;
}

const stk__verb stk__verb_report = {
    .name = "report",
    .usage = "report RUN [--output FILE]",
    .about = "Write report.html of a run again, from the files in its folder.",
    .examples = {{"stoker report runs/faces", "writes runs/faces/report.html"},
                 {"stoker report runs/faces --output page.html", "writes page.html"}},
    .run = run_verb};
