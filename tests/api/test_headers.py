"""test_headers.py VERSION COMPILER...: every public header compiles alone as C17 without a warning (as C++:
test_cxx.py), includes only public and standard headers, and says who may call each function."""
import re
import subprocess
import sys
import unittest

import public_headers as public

VERSION, C = None, None
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", str(public.INCLUDE)]
STANDARD = {"stdbool.h", "stddef.h", "stdint.h"}
THREADS = re.compile(r"Threads: (any|one)\b")


def compile_alone(command, language, standard, text):
    done = subprocess.run([*command, f"-std={standard}", *WARNINGS, "-x", language, "-"], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def foreign_includes(text):
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.M):
        if name not in STANDARD and not name.startswith("stoker/"):
            yield name


def complaints_of_all(command, language, standard):
    for header in public.headers():
        status, output = compile_alone(command, language, standard, f"#include <stoker/{header.name}>\n" * 2)
        if status:
            yield f"{header.name} as {standard}: {output}"


class Headers(unittest.TestCase):
    def test_each_alone(self):
        complaints = list(complaints_of_all(C, "c", "c17"))
        self.assertEqual(complaints, [], "\n".join(complaints))

    def test_a_warning_is_seen(self):
        status, _ = compile_alone(C, "c", "c17", "#include <stoker/stoker.h>\nint f(int unused) { return 0; }\n")
        self.assertNotEqual(status, 0)

    def test_c_linkage(self):
        for header in public.headers():
            text = header.read_text()
            if "STK_API " in text:
                self.assertLess(text.index('extern "C" {'), re.search(r"^STK_API ", text, re.M).start(), header.name)

    def test_includes(self):
        for header in public.headers():
            self.assertEqual(list(foreign_includes(header.read_text())), [], header.name)
        self.assertEqual(list(foreign_includes('#include "core/error.h"\n#include <jansson.h>\n#include <stdint.h>\n')),
                         ["core/error.h", "jansson.h"])

    def test_everything_is_in_stoker_h(self):
        text = (public.INCLUDE / "stoker/stoker.h").read_text()
        for header in public.headers():
            if header.name != "stoker.h":
                self.assertIn(f'#include "stoker/{header.name}"', text)

    def test_thread_rules(self):
        for function in public.functions():
            self.assertRegex(function.comment, THREADS, f"{function.header}: who may call {function.name}?")
        silent, = public.read_functions("/* Ends it. */\nSTK_API void stk_x(void);\n")
        self.assertNotRegex(silent.comment, THREADS)

    def test_version(self):
        """Meson's project version is the source; the headers must say the same."""
        text = (public.INCLUDE / "stoker/version.h").read_text()
        numbers = [re.search(rf"#define STK_VERSION_{part}\s+(\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(".".join(numbers), VERSION, "meson.build and include/stoker/version.h differ")


if __name__ == "__main__":
    VERSION, *C = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
