"""test_symbols.py LIBRARY: what the shared library exports is symbols.list, no more and no less, and all of it is
declared in a public header."""
import re
import subprocess
import sys
import unittest

import public_headers as public

LIBRARY = None
ADVICE = ("if this is meant: change tests/api/symbols.list, and list it in CHANGELOG.md (docs/api.md says which changes "
          "which version may have)")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True, stdout=subprocess.PIPE).stdout
    return sorted(line.split()[-1].partition("@")[0] for line in text.splitlines())


def compare(listed, found):
    """Complaints, one per symbol."""
    for symbol in sorted(set(found) - set(listed)):
        if not re.fullmatch(r"stk_[a-z]\w*", symbol) or symbol.startswith("stk__"):
            yield f"{symbol} is exported, but is not public: it must be static, or without STK_API"
        else:
            yield f"{symbol} is exported, but not in the list; {ADVICE}"
    for symbol in sorted(set(listed) - set(found)):
        yield f"{symbol} is in the list, but not exported: programs that use it will not start any more; {ADVICE}"


class Symbols(unittest.TestCase):
    def test_library_exports_the_list(self):
        complaints = list(compare(public.listed_symbols(), exported(LIBRARY)))
        self.assertEqual(complaints, [], "\n".join(complaints))

    def test_headers_declare_the_list(self):
        declared = [f.name for f in public.functions()]
        self.assertEqual(sorted(declared), sorted(set(declared)), "declared twice")
        self.assertEqual(list(compare(public.listed_symbols(), declared)), [])

    def test_list_is_sorted(self):
        listed = public.listed_symbols()
        self.assertEqual(listed, sorted(set(listed)))

    def test_additions_and_removals_are_seen(self):
        listed = ["stk_a", "stk_b"]
        self.assertEqual(list(compare(listed, listed)), [])
        added, = compare(listed, listed + ["stk_c"])
        self.assertIn("stk_c is exported, but not in the list", added)
        self.assertIn("symbols.list", added)
        self.assertIn("CHANGELOG", added)
        removed, = compare(listed, ["stk_a"])
        self.assertIn("stk_b is in the list, but not exported", removed)

    def test_internals_are_never_public(self):
        for symbol in ("stk__ring_push", "json_dumps", "main"):
            complaint, = compare([], [symbol])
            self.assertIn("must be static", complaint)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    unittest.main()
