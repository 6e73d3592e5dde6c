#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_null_calls.py OUTPUT: C code that calls every function of symbols.list with NULL for each of its pointer
arguments in turn, the others being good, and with NULL for all of them. Read by test_api_null.c.

A new public function is called without further ado if its types have a value here; else this fails and says so."""
import sys

import public_headers as public

# A good value for each type of argument; f is the fixture of test_api_null.c.
VALUES = {
    "char *": "f->text",
    "const char *": '"data"',
    "const int32_t *": "f->size",
    "const stk_allocator *": "&f->allocator",
    "const stk_augment_io *": "&f->io",
    "const stk_augment_options *": "&f->augment_options",
    "const stk_augmenter *": "f->augmenter",
    "const stk_batch *": "f->batch",
    "const stk_digest *": "&f->digest",
    "const stk_loader *": "f->loader",
    "const stk_loader_options *": "&f->options",
    "const stk_loader_state *": "&f->state",
    "const stk_monitor *": "f->monitor",
    "const stk_monitor_options *": "&f->monitor_options",
    "const stk_predictor *": "f->predictor",
    "const stk_predictor_options *": "&f->predictor_options",
    "const stk_tensor *": "&f->batch->images",
    "double": "1",
    "const stk_trainer *": "f->trainer",
    "const stk_trainer_options *": "&f->trainer_options",
    "int": "0",
    "int *": "&f->number",
    "int32_t": "1",
    "int64_t": "0",
    "size_t": "sizeof f->text",
    "stk_augment_explanation *": "&f->explanation",
    "stk_augmenter *": "f->augmenter",
    "stk_augmenter **": "&f->opened_augmenter",
    "stk_batch *": "give_away(f)",
    "stk_batch **": "&f->taken",
    "stk_digest *": "&f->digest",
    "stk_error *": "&f->error",
    "stk_ledger_sink": "take_entry",
    "stk_loader *": "f->loader",
    "stk_loader **": "&f->opened",
    "stk_loader_options *": "&f->options",
    "stk_loader_state *": "&f->state",
    "stk_loader_stats *": "&f->stats",
    "stk_log_level": "STK_LOG_ERROR",
    "stk_log_sink": "take_line",
    "stk_monitor *": "f->monitor",
    "stk_monitor **": "&f->opened_monitor",
    "stk_monitor_frame **": "&f->frame",
    "stk_monitor_summary *": "&f->summary",
    "stk_option_info *": "&f->info",
    "uint64_t": "0",
    "stk_prediction_sink": "take_prediction",
    "stk_predictor *": "f->predictor",
    "stk_predictor **": "&f->opened_predictor",
    "stk_trainer *": "f->trainer",
    "stk_trainer **": "&f->opened_trainer",
    "stk_trainer_progress *": "&f->progress",
    "stk_trainer_score *": "&f->score",
    "void *": "f->bytes",
}
SPECIAL = {
    ("stk_loader_state_parse", "text"): "f->state_text",
    ("stk_predictor_open", "run"): "run",
    ("stk_predictor_predict", "path"): '"make:gray?count=2"',
}

# NULL that is a wish, not a mistake: the header says which.
WELCOME = {
    ("stk_allocator_set", "allocator"),
    ("stk_batch_wait_on", "stream"),
    ("stk_monitor_open", "options"),
    ("stk_predictor_open", "options"),
    ("stk_predictor_predict", "context"),
    ("stk_predictor_predict_images", "context"),
}


def value_of(function, parameter):
    value = SPECIAL.get((function.name, parameter.name)) or VALUES.get(parameter.type)
    if not value and parameter.type.startswith("stk_") and not public.is_pointer(parameter):
        return f"({parameter.type})0"  # an enum
    if not value:
        sys.exit(f"make_null_calls.py: {function.name} takes a '{parameter.type}', for which VALUES has nothing yet")
    return value


def expectation(function, nulls):
    if function.returns == "void":
        return "NOTHING"
    if function.returns != "stk_status":
        return "NEUTRAL_TEXT" if function.returns == "const char *" else "NEUTRAL"
    mistakes = [p for p in nulls if p.type != "stk_error *" and (function.name, p.name) not in WELCOME]
    if mistakes:
        return "REFUSED"
    return "SAME" if any(p.type == "stk_error *" for p in nulls) else "TAKEN"


def check_comment(function):
    """What NULL does must be said where it is no status that tells."""
    pointers = [p for p in function.parameters if public.is_pointer(p)]
    told = function.returns == "stk_status" and not any((function.name, p.name) in WELCOME for p in pointers)
    if pointers and not told and "NULL" not in function.comment:
        sys.exit(f"{function.header}: the comment of {function.name} does not say what NULL does")


def calls(function):
    pointers = [p for p in function.parameters if public.is_pointer(p)]
    cases = [[p] for p in pointers] + ([pointers] if len(pointers) > 1 else [])
    for nulls in cases:
        arguments = ", ".join("NULL" if p in nulls else value_of(function, p) for p in function.parameters)
        yield "+".join(p.name for p in nulls), expectation(function, nulls), f"{function.name}({arguments})"


def main():
    declared = {f.name: f for f in public.functions()}
    rows, lines = [], ["/* Made by make_null_calls.py. */"]
    for symbol in public.listed_symbols():
        if symbol not in declared:
            sys.exit(f"symbols.list has {symbol}, which no public header declares")
        function = declared[symbol]
        check_comment(function)
        for what, expected, call in calls(function):
            name = f"call_{len(rows)}"
            body = f"{call}; return 0" if function.returns == "void" else f"return (intptr_t){call}"
            lines.append(f"static intptr_t {name}(fixture *f) {{ (void)f; {body}; }}")
            rows.append(f'    {{"{symbol}", "{what}", {expected}, {name}}},')
    lines += ["static const null_call null_calls[] = {", *rows, "};", ""]
    with open(sys.argv[1], "w") as output:
        output.write("\n".join(lines))


if __name__ == "__main__":
    main()
