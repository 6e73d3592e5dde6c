"""The laws must bite: each tool sees the breaches of a small made-up tree, and nothing else."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_tool(self, tool, *arguments, **options):
        done = subprocess.run([sys.executable, ROOT / "tools" / tool, *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, **options)
        return done.returncode, done.stdout

    def assert_clean(self, tool):
        status, output = self.run_tool(tool, self.tree)
        self.assertEqual(status, 0, output)
        return output

    def assert_breach(self, tool, *expected):
        status, output = self.run_tool(tool, self.tree)
        self.assertEqual(status, 1, output)
        self.assertEqual(len(output.splitlines()), len(expected), output)
        for line, start in zip(output.splitlines(), expected):
            self.assertTrue(line.startswith(start), line)


class CheckDeps(ToolTest):
    def test_lower_floors_own_room_and_public_headers_are_free(self):
        self.write("include/stoker/status.h", "#include <stdint.h>\n")
        self.write("include/stoker/batch.h", '#include "stoker/status.h"\n')
        self.write("src/core/memory.h", "#include <stoker/status.h>\n")
        self.write("src/loader/loader.c",
                   '#include "loader/slot.h"\n#include "decode/decode.h"\n#include "stoker/batch.h"\n')
        self.write("src/loader/slot.h", "")
        self.write("src/loader/slot.c", '#include "slot.h"\n')
        self.write("cli/verb_load.c", '#include "loader/loader.h"\n#include "core/memory.h"\n')
        self.write("tests/unit/test_slot.c", '#include "loader/slot.h"\n#include <cmocka.h>\n')
        self.assert_clean("check_deps")

    def test_looking_up(self):
        self.write("src/core/ring.c", '#include "core/ring.h"\n\n  #  include "image/pixels.h"\n')
        self.assert_breach("check_deps", "src/core/ring.c:3: core (floor 0) may not look up to image")

    def test_looking_up_by_a_relative_path(self):
        self.write("src/image/pixels.h", "")
        self.write("src/core/ring.c", '#include "../image/pixels.h"\n')
        self.assert_breach("check_deps", "src/core/ring.c:1: core (floor 0)")

    def test_rooms_of_one_floor(self):
        self.write("src/source/folder.c", '#include "decode/decode.h"\n')
        self.write("src/loader/loader.c", '#include "train/trainer.h"\n')
        self.assert_breach("check_deps", "src/loader/loader.c:1: loader and train share floor 5",
                           "src/source/folder.c:1: source and decode share floor 4")

    def test_public_headers_know_no_room(self):
        self.write("include/stoker/batch.h", '#include "image/pixels.h"\n')
        self.assert_breach("check_deps", "include/stoker/batch.h:1: include/ may include only public")

    def test_examples_use_the_public_face(self):
        self.write("examples/count.c", "#include <stoker/batch.h>\n#include \"core/memory.h\"\n")
        self.write("python/module.c", '#include "loader/loader.h"\n')
        self.assert_breach("check_deps", "examples/count.c:2: examples/", "python/module.c:1: python/")

    def test_rooms_must_be_known(self):
        self.write("src/core/a.c", '#include "attic/b.h"\n#include "c.h"\n')
        self.write("src/attic/b.h", '#include "core/memory.h"\n')
        self.assert_breach("check_deps", "src/attic/b.h:1: src/attic has no floor",
                           "src/core/a.c:1: 'attic' is not a room", "src/core/a.c:2: 'c.h' does not name")

    def test_file_names_are_unique(self):
        self.write("src/core/file.c", "")
        self.write("src/source/file.c", "")
        self.write("src/core/README.md", "")
        self.write("src/source/README.md", "")
        self.assert_breach("check_deps", "src/source/file.c:1: the file name 'file.c' is taken by src/core/file.c")

    def test_floors_of_what_joins_the_rooms(self):
        self.write("src/session/session.c", '#include "report/run_keys.h"\n#include "loader/loader.h"\n#include "train/run.h"\n')
        self.write("src/doctor/rows.c", '#include "session/session.h"\n')
        self.write("src/report/page.c", '#include "session/session.h"\n')
        self.write("src/session/ask.c", '#include "tune/tune.h"\n')
        self.assert_breach("check_deps", "src/report/page.c:1: report (floor 5) may not look up to session (floor 6)",
                           "src/session/ask.c:1: session (floor 6) may not look up to tune (floor 8)")

    def test_nobody_needs_the_program(self):
        self.write("cli/cli.h", "")
        self.write("cli/grid/grid.h", "")
        self.write("cli/train.c", '#include "cli.h"\n#include "grid/grid.h"\n')
        self.write("src/core/a.c", '#include "../../cli/cli.h"\n')
        self.write("tests/unit/test_a.c", '#include "../../cli/cli.h"\n#include "grid.h"\n')
        self.write("tests/unit/test_b.c", '#include "cli.h"\n')  # found by an include directory
        self.write("bench/bench.c", '#include "cli/cli.h"\n')
        self.write("examples/count.c", '#include "grid/grid.h"\n')
        self.assert_breach("check_deps", "bench/bench.c:1: cli/ is the program's alone: bench/", "examples/count.c:1: cli/",
                           "src/core/a.c:1: cli/", "tests/unit/test_a.c:1: cli/", "tests/unit/test_a.c:2: cli/",
                           "tests/unit/test_b.c:1: cli/ is the program's alone: tests/ may not use 'cli.h'")

    def test_nobody_compiles_the_program(self):
        self.write("cli/meson.build", "executable('stoker', 'main.c', include_directories: include_directories('.'))\n")
        self.write("tests/meson.build", "subdir('cli') # of the tests; not '../cli'\nsubdir('unit')\n")
        self.write("tests/unit/meson.build", "x = executable('a', 'a.c',\n  '../../cli/main.c')\n")
        self.write("bench/meson.build", "y = include_directories('../cli')\n")
        self.assert_breach("check_deps", "bench/meson.build:1: cli/ is the program's alone",
                           "tests/unit/meson.build:2: cli/ is the program's alone: tests/ may not use 'main.c'")

    def test_folders_of_the_program(self):
        self.write("cli/cli.h", "")
        self.write("cli/grid/grid.h", '#include "cli.h"\n')
        self.write("cli/grid/grid_plan.c", '#include "grid.h"\n#include "grid/grid.h"\n#include "../cli.h"\n')
        self.write("cli/monitor/screen.c", '#include "cli.h"\n#include "grid/grid.h"\n')
        self.write("cli/selftest/row.c", '#include "../grid/grid.h"\n#include "core/memory.h"\n')
        self.assert_breach("check_deps", "cli/monitor/screen.c:2: cli/monitor and cli/grid may not",
                           "cli/selftest/row.c:1: cli/selftest and cli/grid may not")

    def test_the_session_neither_prints_nor_ends(self):
        self.write("cli/train.c", "printf(text); exit(1); fork();\n")
        self.write("src/core/thread.c", "sigaction(number, &action, 0);\n")
        self.write("src/session/open.c", 'snprintf(text, size, "exit_status");\nint x;\nfprintf(stderr, text); /* fork */\n')
        self.write("src/session/stats/rows.c", "typedef unsigned long long number; /* for printf */\n")
        self.assert_breach("check_deps", "src/session/open.c:3: the session leaves 'fprintf' to the program",
                           "src/session/stats/rows.c:1: the session leaves 'printf' to the program")

    def test_internal_names_have_one_meaning(self):
        self.write("src/train/run.h", "/* stk__facts */\ntypedef struct stk__run {\n    int step;\n} stk__run;\n\n"
                   "int stk__run_train(stk__run *run);\n#define RUN(x) stk__run_train(x)\n")
        self.write("src/loader/stream.h", "#include <stdint.h>\n\ntypedef struct stk__run {\n    int first;\n} stk__run;\n")
        self.write("src/loader/slot.h", "typedef int (*stk__look)(int);\nconst char *\nstk__slot_name(int slot);\n")
        self.write("src/train/trainer.h", "typedef long stk__look;\nvoid stk__facts(void);\n")
        self.write("src/train/pass/pass.h", "typedef enum stk__facts {\n    A\n} stk__facts;\n")
        self.write("cli/slots.h", "static inline const char *stk__slot_name(int slot)\n{\n    return stk__other(slot);\n}\n")
        self.assert_breach("check_deps",
                           "src/train/trainer.h:2: 'stk__facts' (function) is declared in src/train/pass/pass.h:3 already (type)",
                           "src/train/trainer.h:1: 'stk__look' (type) is declared in src/loader/slot.h:1 already (type)",
                           "src/train/run.h:4: 'stk__run' (type) is declared in src/loader/stream.h:5 already",
                           "src/loader/slot.h:3: 'stk__slot_name' (function) is declared in cli/slots.h:1 already")

    def test_the_inside_of_a_type_may_stand_elsewhere(self):
        self.write("src/train/trainer.h", "typedef struct stk__trainer stk__trainer;\nvoid stk__trainer_close(stk__trainer **t);\n")
        self.write("src/train/trainer_parts.h", "struct stk__trainer {\n    int x;\n};\nstruct stk__engine;\n")
        self.write("src/train/trainer.c", "void stk__trainer_close(stk__trainer **t)\n{\n}\n")
        self.write("src/engine/engine.h", "typedef struct stk__engine stk__engine;\n")
        self.assert_clean("check_deps")


class CheckDocs(ToolTest):
    def test_a_figure_stands_in_one_document(self):
        self.write("README.md", "# A\n\n| **1.25 x** | faster |\n")
        self.write("docs/a.md", "a kernel has 466 instructions a pixel, a step 1,003.4 ms or 0.97, 4 x 64 pixels\n")
        self.write("docs/notes/2026-11-17-a.md", "then 1.25 x and 466 instructions\n")
        self.assert_clean("check_docs")
        self.write("docs/b.md", "# B\n\n1.25 times,\nand 0.97; 466\ninstructions\n")
        self.assert_breach("check_docs", "docs/a.md:1: the figure '0.97' stands in docs/b.md:4, too",
                           "README.md:3: the figure '1.25' stands in docs/b.md:3, too",
                           "docs/a.md:1: the figure '466 instructions' stands in docs/b.md:4, too")
        self.write("tools/figures_allowed.txt", "# why\n0.97: share\n1.25: version\n466 instructions: other kernel\n")
        self.assert_clean("check_docs")

    def test_figures_within_a_document_and_plain_numbers(self):
        self.write("README.md", "2.7 x, again 2.7 x; 8 workers, 512 x 512, 0.5, 2026, PyTorch 2.15.0\n")
        self.write("docs/a.md", "8 workers, 512 x 512, 0.5, 2026, PyTorch 2.15.0\n")
        self.assert_clean("check_docs")

    def test_width(self):
        self.write("docs/a.md", "w" * 49 + " " + "w" * 50 + "\n| " + "cell " * 30 + "|\n" + "w" * 120 + "\n")
        self.write("docs/notes/a.md", "```\n" + "row " * 30 + "\n```\n")
        self.assert_clean("check_docs")
        self.write("docs/a.md", "a word " * 15 + "\n")
        self.write("docs/notes/a.md", "\n" + "row " * 30 + "\n")
        self.write("CHANGELOG.md", "```\n" + "row " * 30 + "\n```\n")
        self.assert_breach("check_docs", "CHANGELOG.md:2: 120 columns", "docs/a.md:1: 105 columns (limit 100)",
                           "docs/notes/a.md:2: 120 columns")

    def test_links_lead_somewhere(self):
        self.write("docs/a.md", "# The first, `a`\n\n[b](b.md#the-second) [top](#the-first-a) [far](https://a.b)\n")
        self.write("docs/b.md", "## The second\n\n[c](c.md) [a](a.md#second)\n")
        self.assert_breach("check_docs", "docs/b.md:3: 'c.md' does not exist",
                           "docs/b.md:3: 'a.md#second' has no such heading")

    def test_issues_and_avoided_words(self):
        self.write("docs/a.md", "a &#124; b, [x](#1-x)\n\n## 1 x\n")
        self.assert_clean("check_docs")
        self.write("docs/a.md", "see issue 6\nfixed by #12\nit goes on\n")
        self.assert_breach("check_docs", "docs/a.md:1: 'issue 6'", "docs/a.md:2: '#12'", "docs/a.md:3: 'goes on'")
        self.write("docs/a.md", "fast beside PyTorch\n")
        self.assert_breach("check_docs", "docs/a.md:1: 'beside'")

    def test_spelling(self):
        self.write("docs/a.md", "the row `optimiser`, kernel_colour.h, stk_grey, color, gray\n")
        self.write("docs/notes/a.md", "```\noptimiser 0.4 %\n```\n")
        self.assert_clean("check_docs")
        self.write("docs/a.md", "the optimiser\nGrey and colours\n")
        self.assert_breach("check_docs", "docs/a.md:1: 'optimiser'", "docs/a.md:2: 'Grey'", "docs/a.md:2: 'colours'")

    def test_rooms(self):
        self.write("src/core/README.md", "a word " * 15 + "\n")
        self.write("cli/README.md", "beside\n")
        self.assert_breach("check_docs", "cli/README.md:1: 'beside'", "src/core/README.md:1: 105 columns (limit 100)")


def function(name, lines, parameters="void"):
    """A function of exactly so many lines, signature and braces included."""
    return f"static int {name}({parameters})\n{{\n" + "    step();\n" * (lines - 3) + "}\n"


class CheckSizes(ToolTest):
    def test_limits_are_inclusive(self):
        self.write("src/core/a.c", function("fits", 60, "int a, int b, int c, int d, int e, int f"))
        self.write("src/core/b.c", "int x;\n" * 500)
        output = self.assert_clean("check_sizes")
        self.assertIn("note: src/core/a.c:1: 'fits' has 60 lines", output)
        self.assertIn("note: src/core/b.c:1: the file has 500 lines", output)

    def test_long_file(self):
        self.write("src/core/a.h", "int x;\n" * 501)
        self.assert_breach("check_sizes", "src/core/a.h:1: the file has 501 lines (limit 500)")

    def test_long_function(self):
        self.write("cli/a.c", "#include <stdio.h>\n\n" + function("short", 9) + "\n" + function("long", 61))
        self.assert_breach("check_sizes", "cli/a.c:13: 'long' has 61 lines (limit 60)")

    def test_braces_in_text_and_comments_do_not_count(self):
        self.write("cli/a.c", function("a", 30).replace("    step();\n", '/*\n}\n{\n*/ f("\\"}");\n', 1)
                   + function("b", 40))
        self.assert_clean("check_sizes")

    def test_structs_and_tables_are_not_functions(self):
        self.write("src/core/a.c", "static const int table[] = {\n" + "    1,\n" * 100 + "};\n\nstruct a\n{\n"
                   + "    int x;\n" * 100 + "};\n")
        self.assert_clean("check_sizes")

    def test_parameters(self):
        many = "int a, void (*b)(int, int), int c,\n    int d, int e, int f[2], int g"
        self.write("src/core/a.c", function("six", 9, many[:-7]) + "\n" + function("seven", 9, many))
        self.assert_breach("check_sizes", "src/core/a.c:12: 'seven' has 7 parameters (limit 6)")

    def test_allowed_with_a_reason(self):
        self.write("src/core/a.c", function("long", 61))
        self.write("tools/sizes_allowed.txt", "# exceptions\nsrc/core/a.c:long  a table in disguise\n")
        self.assertIn("allowed: a table in disguise", self.assert_clean("check_sizes"))

    def test_not_allowed_without_a_reason(self):
        self.write("src/core/a.c", function("long", 61))
        self.write("tools/sizes_allowed.txt", "src/core/a.c:long\n")
        self.assert_breach("check_sizes", "tools/sizes_allowed.txt:1", "src/core/a.c:1: 'long' has 61 lines")


class CheckHeads(ToolTest):
    SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
    HEAD = SPDX + "/* What this file is for, in a sentence. */\n"

    def test_heads_of_all_kinds(self):
        self.write("src/core/a.c", self.HEAD + '#include "core/a.h"\n')
        self.write("cli/b.c", self.SPDX + "// What this file is for,\n// in a sentence.\n#include <stdio.h>\n")
        self.write("tests/unit/c.c", self.SPDX + "/* Copyright somebody */\n/* What this file is for, in words. */\n")
        self.write("src/core/a.h", self.SPDX + "#pragma once\n")
        self.assertIn("4 files", self.assert_clean("check_heads"))

    def test_a_licence_comes_first(self):
        self.write("src/core/a.c", "/* What this file is for, in a sentence. */\n" + self.SPDX)
        self.write("include/stoker/b.h", "/* SPDX-License-Identifier: MIT */\n#pragma once\n")
        self.assert_breach("check_heads", "include/stoker/b.h:1: the first line is not", "src/core/a.c:1: the first line is not")

    def test_code_first(self):
        self.write("src/core/a.c", self.SPDX + '#include "core/a.h"\n\n/* What this file is for, in a sentence. */\n')
        self.write("tests/unit/b.c", self.SPDX)
        self.assert_breach("check_heads", "src/core/a.c:1: no head comment", "tests/unit/b.c:1: no head comment")

    def test_a_licence_is_not_a_head(self):
        self.write("src/core/a.c", self.SPDX + "/* Copyright somebody and some more words */\n#include <a.h>\n")
        self.assert_breach("check_heads", "src/core/a.c:1: no head comment")

    def test_empty_words(self):
        self.write("bench/a.c", self.SPDX + "/* Implementation of a_very_long_name.h. */\n")
        self.write("src/core/b.c", self.SPDX + "/* The parser. */\nint x;\n")
        self.assert_breach("check_heads", "bench/a.c:1: the head comment 'Implementation of",
                           "src/core/b.c:1: the head comment 'The parser.' says too little")


class Setup(ToolTest):
    """tools/setup with a made-up list of packages and a made-up apt, root and sudo."""

    def setUp(self):
        super().setUp()
        self.bin = self.tree / "bin"
        self.bin.mkdir()
        for tool in ("cat", "cp", "chmod", "dirname", "env", "mktemp", "rm", "sh", "sort", "tail", "touch", "tr"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.write("tools/packages.txt", "# group package proof\nbuild old-name|new-name command:new-tool\n"
                                         "build sh command:sh\nother rare command:rare-tool\n")
        shutil.copy(ROOT / "tools" / "setup", self.tree / "tools" / "setup")
        self.fake("id", "echo 0")

    def fake(self, name, script):
        self.write("bin/" + name, "#!/bin/sh\n" + script + "\n").chmod(0o755)

    def fake_apt(self, knows="new-name"):
        """An apt whose index is empty until `update`; installing new-name brings new-tool."""
        self.fake("apt-cache", f'test -e "{self.tree}/updated" && for name; do :; done && test "$name" = "{knows}"')
        self.fake("apt-get", f"""echo "$@" >> {self.tree}/calls
            case "$*" in
            *" update") touch {self.tree}/updated ;;
            *" new-name") cp {self.bin}/id {self.bin}/new-tool ;;
            esac""")

    def run_setup(self, *groups):
        done = subprocess.run([self.bin / "sh", self.tree / "tools" / "setup", *groups], text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.bin)})
        return done.returncode, done.stdout

    def test_silent_when_all_is_there(self):
        self.fake("new-tool", "")
        self.assertEqual(self.run_setup("build"), (0, ""))

    def test_installs_the_name_that_apt_knows_after_one_update(self):
        self.fake_apt()
        self.assertEqual(self.run_setup("build"), (0, "setup: installing new-name\n"))
        calls = (self.tree / "calls").read_text().splitlines()
        self.assertEqual([call.split()[-1] for call in calls], ["update", "new-name"])
        self.assertIn("--no-install-recommends", calls[1])
        self.assertEqual(self.run_setup("build"), (0, ""))

    def test_a_file_as_proof(self):
        self.write("tools/packages.txt", f"build old-name file:{self.tree}/new-file\n")
        self.assertEqual(self.run_setup("build"), (1, "setup: these are missing (Debian's names): old-name\n"))
        self.write("new-file", "")
        self.assertEqual(self.run_setup("build"), (0, ""))

    def test_package_that_nobody_knows(self):
        self.fake_apt(knows="nothing")
        status, output = self.run_setup("build")
        self.assertEqual(status, 1)
        self.assertIn("apt-get install --no-install-recommends old-name", output)

    def test_install_that_brings_nothing(self):
        self.fake_apt(knows="old-name")
        status, output = self.run_setup("build")
        self.assertEqual(status, 1)
        self.assertIn("could not install old-name|new-name", output)

    def test_sudo(self):
        self.fake_apt()
        self.fake("id", "echo 1000")
        self.fake("sudo", f'printf "%s " "$@" >> {self.tree}/sudo_calls; shift; exec "$@"')
        self.assertEqual(self.run_setup("build")[0], 0)
        self.assertIn("-n env DEBIAN_FRONTEND=noninteractive apt-get", (self.tree / "sudo_calls").read_text())

    def test_neither_root_nor_sudo(self):
        self.fake_apt()
        self.fake("id", "echo 1000")
        status, output = self.run_setup("build")
        self.assertEqual(status, 1)
        self.assertIn("apt-get update && apt-get install --no-install-recommends old-name", output)
        self.assertFalse((self.tree / "calls").exists())

    def test_without_apt(self):
        status, output = self.run_setup("build", "other")
        self.assertEqual((status, output), (1, "setup: these are missing (Debian's names): old-name rare\n"))
        self.fake("new-tool", "")
        self.assertEqual(self.run_setup("build"), (0, ""))


    def test_modules_of_python(self):
        self.write("tools/packages.txt", "build venv python:ensurepip\n")
        self.fake("python3", 'test "$*" = "-c import ensurepip"')
        self.assertEqual(self.run_setup("build"), (0, ""))
        self.fake("python3", "exit 1")
        self.assertEqual(self.run_setup("build"), (1, "setup: these are missing (Debian's names): venv\n"))

    def test_sanitizers_of_clang(self):
        self.write("tools/packages.txt", "fuzz runtime sanitizer:fuzzer\n")
        self.fake("clang", 'test "$1" = -fsanitize=fuzzer')
        self.assertEqual(self.run_setup("fuzz"), (0, ""))
        self.fake("clang", "exit 1")
        self.assertEqual(self.run_setup("fuzz"), (1, "setup: these are missing (Debian's names): runtime\n"))


class PeersSetup(ToolTest):
    """bench/peers/setup with a made-up Python, made-up pins and a made-up tools/setup. `pip` fails for the packages named in
    a file `refused`, importing for those in `broken`, tools/setup for the groups in `unpackaged`."""

    PINS = "# made up\nnumpy numpy==1\nfast.io fast-core==1\nfast.io fast-io==2\nslow slow==3\n"

    def setUp(self):
        super().setUp()
        self.python = self.write("python", f"""#!/bin/sh
            echo "$@" >> {self.tree}/calls
            case "$*" in
            "-c import sys"*) echo 3.11 ;;
            "-m venv "*) mkdir -p "$3/bin" && cp {self.tree}/python "$3/bin/python" ;;
            "-m pip install "*) for word; do last=$word; done
                ! grep -qsx "$last" {self.tree}/refused || {{ echo 'ERROR: no network'; exit 1; }} ;;
            "-c import "*) ! grep -qsx "${{2#import }}" {self.tree}/broken || {{ echo "ImportError: no libslow.so"; exit 1; }} ;;
            esac
            """)
        self.python.chmod(0o755)
        self.write("bench/peers/pins.txt", self.PINS)
        self.write("bench/peers/setup", (ROOT / "bench" / "peers" / "setup").read_text()).chmod(0o755)
        self.write("tools/setup", f"""#!/bin/sh
            echo "setup $*" >> {self.tree}/calls
            ! grep -qsx "$1" {self.tree}/unpackaged || {{ echo "setup: could not install g++"; exit 1; }}
            """).chmod(0o755)
        self.environment = dict(os.environ, PYTHON=str(self.python), XDG_CACHE_HOME=str(self.tree / "cache"))

    def run_peers(self, *arguments):
        done = subprocess.run([self.tree / "bench" / "peers" / "setup", *arguments], text=True, timeout=60,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stdout.strip(), done.stderr

    def calls(self):
        lines = (self.tree / "calls").read_text().splitlines()
        (self.tree / "calls").write_text("")
        return [line for line in lines if "version_info" not in line]

    def notes(self, python):
        folder = pathlib.Path(python).parent.parent / "peers"
        return {path.name: path.read_text() for path in folder.iterdir() if path.suffix != ".log"}

    def test_installs_once(self):
        status, python, said = self.run_peers()
        self.assertEqual(status, 0, said)
        self.assertTrue(python.startswith(str(self.tree / "cache" / "stoker" / "peers-3.11-")), python)
        self.assertTrue(os.access(python, os.X_OK))
        calls = self.calls()
        self.assertIn("setup peer-fast.io", calls)
        self.assertIn("-m pip install --disable-pip-version-check --no-deps fast-core==1 fast-io==2", calls)
        self.assertIn("-c import fast.io", calls)
        self.assertEqual(set(self.notes(python)), {"numpy.there", "fast.io.there", "slow.there"})
        self.assertEqual(self.run_peers(), (0, python, ""))
        self.assertEqual(self.calls(), [])

    def test_comments_do_not_count(self):
        _, python, _ = self.run_peers()
        self.write("bench/peers/pins.txt", "# more words\n" + self.PINS)
        self.assertEqual(self.run_peers(), (0, python, ""))
        self.write("bench/peers/pins.txt", self.PINS.replace("slow==3", "slow==4"))
        self.assertNotEqual(self.run_peers()[1], python)

    def check_failure(self, file, line, reason):
        """One group fails for that reason, the others are there; it is tried again when asked to."""
        self.write(file, line)
        status, python, said = self.run_peers()
        self.assertEqual(status, 0, said)
        self.assertIn(f"cannot install it: {reason}", said)
        self.assertEqual(self.notes(python), {"numpy.there": "", "slow.there": "", "fast.io.failed": reason + "\n"})
        self.calls()
        status, again, said = self.run_peers()
        self.assertEqual((status, again, self.calls()), (0, python, []))
        self.assertIn(f"without fast.io: {reason}; bench/peers/setup --retry", said)
        (self.tree / file).unlink()
        self.assertEqual(self.run_peers("--retry")[:2], (0, python))
        self.assertIn("-c import fast.io", self.calls())
        self.assertNotIn("fast.io.failed", self.notes(python))

    def test_refused(self):
        self.check_failure("refused", "fast-io==2", "ERROR: no network")

    def test_broken(self):
        self.check_failure("broken", "fast.io", "ImportError: no libslow.so")

    def test_unpackaged(self):
        self.check_failure("unpackaged", "peer-fast.io", "setup: could not install g++")

    def test_too_slow(self):
        script = self.tree / "bench" / "peers" / "setup"
        script.write_text(script.read_text().replace("limit_s=1800", "limit_s=1"))
        self.python.write_text(self.python.read_text().replace('"-c import "*)', '"-c import slow") sleep 30 ;;\n"-c import "*)'))
        status, python, said = self.run_peers()
        self.assertEqual(status, 0, said)
        self.assertEqual(self.notes(python)["slow.failed"], "not done in 1 s\n")

    def test_offline(self):
        """Nothing can be installed: nothing is left, and the next run tries again."""
        self.write("refused", "numpy==1")
        status, output, said = self.run_peers()
        self.assertEqual((status, output), (1, ""))
        self.assertIn("cannot install it: ERROR: no network", said)
        self.assertEqual(list((self.tree / "cache" / "stoker").iterdir()), [])
        (self.tree / "refused").unlink()
        self.assertEqual(self.run_peers()[0], 0)

    def test_reasons_are_found(self):
        """serve.py tells why a module is not there from the note."""
        (self.tree / "peers").mkdir()
        self.write("peers/nosuch.io.failed", "RuntimeError: Could not find opencv\n")
        self.write("load_any.py", "import nosuch\n")
        self.write("load_other.py", "import nothing_here\n")
        self.write("load_worker.py", "Contestant = Setup = None\n")
        self.write("serve.py", (ROOT / "bench" / "peers" / "serve.py").read_text().replace("sys.prefix", repr(str(self.tree))))
        for peer, answer in (("load_any", "absent not installed: RuntimeError: Could not find opencv\n"),
                             ("load_other", "absent ModuleNotFoundError: No module named 'nothing_here'\n")):
            done = subprocess.run([sys.executable, self.tree / "serve.py", peer, "how", "2", "data", "1", "2", "3"], text=True,
                                  timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.assertEqual(done.stdout, answer)


class CliRunner(ToolTest):
    """tests/cli/run.py, with the shell's own commands in the place of stoker."""

    def run_script(self, text):
        path = self.write("a.test", text)
        status, output = self.run_tool("../tests/cli/run.py", "--path", self.tree, path)
        return status, output

    def assert_passes(self, text):
        status, output = self.run_script(text)
        self.assertEqual(status, 0, output)
        self.assertEqual(output.splitlines()[-1], "1 passed, 0 failed")

    def assert_fails(self, text, *said):
        status, output = self.run_script(text)
        self.assertEqual(status, 1, output)
        self.assertEqual(output.splitlines()[-1], "0 passed, 1 failed")
        for words in said:
            self.assertIn(words, output)

    def test_exact_output_and_status(self):
        self.assert_passes("# about\n$ echo one; echo two >&2\none\ntwo\n\n$ exit 3\n? 3\n")

    def test_wrong_line(self):
        self.assert_fails("$ echo one\ntwo\n", "a.test:1", "- two", "+ one")

    def test_missing_and_surplus_lines(self):
        self.assert_fails("$ echo one\none\ntwo\n")
        self.assert_fails("$ echo one; echo two\none\n")

    def test_wrong_status(self):
        self.assert_fails("$ false\n", "status 1, expected 0")
        self.assert_fails("$ true\n? 1\n", "status 0, expected 1")

    def test_wildcards(self):
        self.assert_passes("$ echo 'rate 12.5/s, -3e-07 (a.b)'\nrate <number>/s, <number> (<text>)\n")
        self.assert_fails("$ echo 'rate x/s'\nrate <number>/s\n")
        self.assert_fails("$ echo aXb\na.b\n")
        self.assert_passes("$ seq 9\n1\n...\n8\n9\n")
        self.assert_passes("$ echo 1; echo 9\n1\n...\n9\n")
        self.assert_fails("$ seq 9\n1\n...\n5\n")

    def test_commands_of_several_lines_share_a_folder(self):
        self.assert_passes("$ cat > a.csv <<END\n> x,y\n>\n> 1,2\n> END\n$ cat a.csv\nx,y\n\n1,2\n$ ls\na.csv\n")

    def test_blank_lines_of_output(self):
        self.assert_passes("$ echo a; echo; echo b\na\n\nb\n")

    def test_settings_of_the_caller_do_not_leak_in(self):
        os.environ["STOKER_DATA_SEED"] = "7"
        self.addCleanup(os.environ.pop, "STOKER_DATA_SEED")
        self.assert_passes("$ echo \"[$STOKER_DATA_SEED]\"\n[]\n")

    def test_a_script_without_commands_fails(self):
        self.assert_fails("nothing\n", "before the first command")
        self.assert_fails("# nothing\n", "no command")

    def test_a_command_that_hangs(self):
        self.assert_fails("! timeout 0.2\n$ sleep 30\n", "no end after 0.2 s")


class RunTests(ToolTest):
    """Sums of tools/run_tests, with a made-up meson that leaves a log."""

    def run_with(self, status, *tests):
        (self.tree / "meson-logs").mkdir(exist_ok=True)
        self.write("log", "\n".join(tests))
        fake = self.write("meson", f"#!/bin/sh\ncd '{self.tree}' && cp log meson-logs/testlog.json; exit {status}\n")
        fake.chmod(0o755)
        environment = dict(os.environ, PATH=f"{self.tree}:{os.environ['PATH']}")
        code, output = self.run_tool("run_tests", self.tree, env=environment)
        return code, output.splitlines()[-1]

    def test_sums(self):
        code, last = self.run_with(
            0, '{"result": "OK", "stdout": "[  PASSED  ] 6 test(s).\\n[  SKIPPED ] 1 test(s), listed below:"}',
            '{"result": "OK", "stdout": "ok a\\n4 passed, 0 failed\\n"}',
            '{"result": "OK", "stdout": "", "stderr": "Ran 3 tests in 0.1s\\n\\nOK (skipped=1)"}',
            '{"result": "OK", "stdout": "silent"}', '{"result": "SKIP", "stdout": ""}')
        self.assertEqual((code, last), (0, "13 passed, 0 failed, 3 skipped"))

    def test_failures(self):
        code, last = self.run_with(
            1, '{"result": "FAIL", "stdout": "[  PASSED  ] 4 test(s).\\n[  FAILED  ] 2 test(s), listed below:"}',
            '{"result": "TIMEOUT", "stdout": "[       OK ] a"}',
            '{"result": "FAIL", "stderr": "Ran 3 tests in 0.1s\\n\\nFAILED (failures=1, errors=1)"}')
        self.assertEqual((code, last), (1, "5 passed, 5 failed"))

    def test_no_tests_is_a_failure(self):
        self.assertEqual(self.run_with(0), (1, "0 passed, 1 failed"))

    def test_a_status_that_no_count_explains(self):
        self.assertEqual(self.run_with(1, '{"result": "OK", "stdout": "2 passed, 0 failed"}'),
                         (1, "2 passed, 1 failed"))


class GpuBound(ToolTest):
    def test_the_documentation_has_its_table(self):
        status, output = self.run_tool("gpu_bound")
        self.assertEqual(status, 0, output)
        written = (ROOT / "docs" / "gpu.md").read_text().replace("\n", " ")  # lines are wrapped there
        rows = [line for line in output.splitlines() if line]
        self.assertEqual([row for row in rows if row not in written], [])
        self.assertGreaterEqual(len(rows), 3 + 18)

    def test_the_bound_is_the_slower_of_two(self):
        """By hand: 8,388,608 pixels, an A100 of 40 GB: 20 bytes at 1555 GB/s, 108 x 128 instructions a clock of 1410 MHz."""
        count = int(re.search(r'"standard", (\d+)', (ROOT / "src/device/kernel/kernel_cost.list").read_text())[1])
        _, output = self.run_tool("gpu_bound")
        issue = 32 * 512 * 512 * count / (108 * 128 * 1410e3)
        self.assertIn(f"| A100 40 GB | 108 | 1410 | 1555 | 0.108 ms | {issue:.3f} ms | {2 * max(issue, 0.108):.3f} ms |", output)

    def test_the_limit_is_the_self_tests(self):
        times = float(re.search(r"#define AUGMENT_TIMES\s+(\S+)", (ROOT / "cli/selftest/selftest_speed.c").read_text())[1])
        limit = float(re.search(r"^LIMIT = (\d+)", (ROOT / "tools/gpu_bound").read_text(), re.M)[1])
        self.assertEqual(times, limit)

    def test_occupancy_is_read_from_a_table(self):
        done = subprocess.run([ROOT / "tools/gpu_bound", "--occupancy"], input="| sm_80 | stk_augment | 40 | 11760 | 0 | 37120 |\n", text=True,
                              capture_output=True, check=True)
        self.assertIn("| A100 40 GB | 80 | 40 | 6 / 13 / 8 | 1536 of 2048 (75 %) | 32768 / 648 | 36 KiB |", done.stdout)
        self.assertNotIn("T4", done.stdout)


if __name__ == "__main__":
    unittest.main()
