"""tools/setup_torch: what is there is taken, what is not is installed once, and why not is said."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class TorchSetup(unittest.TestCase):
    """With a made-up Python, df and tools/setup. `pip` fails where there is a file `refused`; a file `broken`
    makes a library that cannot be opened."""

    PINS = ("numpy numpy==1\ntorch torch==2.50.1\ntorch filelock==1\ntorch nvidia-cuda-runtime==7\ntorch nvidia-cuda-cupti==8\n"
            "torch nvidia-cublas==3\ntorch sympy==9\n")

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        python = self.write("bin/python3", f"""#!/bin/sh
            echo "python3 $@" >> {self.tree}/calls
            case "$*" in
            "-m venv "*) mkdir -p "$3/bin" && cp {self.tree}/bin/pip "$3/bin/pip" && cp {self.tree}/bin/python3 "$3/bin/python3" ;;
            "-c import ctypes"*) test ! -e {self.tree}/broken ;;
            "-m pip "*) shift 2 && "${{0%/python3}}/pip" "$@" ;;
            esac
            """)
        pip = self.write("bin/pip", f"""#!/bin/sh
            echo "pip $@" >> {self.tree}/calls
            test ! -e {self.tree}/refused || {{ echo 'ERROR: no network' >&2; exit 1; }}
            lib="${{0%/bin/pip}}/lib/python3.11/site-packages/torch/lib"
            mkdir -p "$lib" && touch "$lib/libtorch_cpu.so" "$lib/../../sympy"
            """)
        df = self.write("bin/df", f"""#!/bin/sh
            printf 'Filesystem 1M-blocks Used Available\n/dev/x 9 9 %s\n' "$(cat {self.tree}/free)"
            """)
        setup = self.write("tools/setup", "#!/bin/sh\nexit 0\n")
        for path in (python, pip, df, setup):
            path.chmod(0o755)
        self.write("free", "9000")
        self.write("bench/peers/pins.txt", self.PINS)
        self.write("tools/setup_torch", (ROOT / "tools" / "setup_torch").read_text()).chmod(0o755)
        self.cache = self.tree / "cache" / "stoker"
        self.environment = dict(os.environ, PATH=f"{self.tree}/bin:{os.environ['PATH']}", XDG_CACHE_HOME=str(self.tree / "cache"))
        self.environment.pop("STOKER_TORCH", None)

    def run_torch(self):
        done = subprocess.run([self.tree / "tools" / "setup_torch"], text=True, timeout=60, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr

    def assert_skips(self, *reasons):
        folder, said = self.run_torch()
        self.assertEqual(folder, "")
        for reason in reasons:
            self.assertIn(reason, said)
        self.assertIn("the tests of the engine torch will be skipped", said)
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_installs_once(self):
        folder, said = self.run_torch()
        self.assertEqual(folder, f"{self.cache}/torch-2.50.1/lib/python3.11/site-packages/torch/lib")
        self.assertIn("installing PyTorch 2.50.1", said)
        calls = (self.tree / "calls").read_text()
        self.assertIn("--no-deps torch==2.50.1 filelock==1 nvidia-cuda-runtime==7 nvidia-cuda-cupti==8 sympy==9\n", calls)
        self.assertEqual([path.name for path in self.cache.iterdir()], ["torch-2.50.1"])
        self.assertEqual(self.run_torch(), (folder, ""))
        self.assertEqual((self.tree / "calls").read_text(), calls)

    def test_one_of_before_is_completed(self):
        folder, _ = self.run_torch()
        needed = pathlib.Path(folder).parent.parent / "sympy"
        needed.unlink()
        self.assertEqual(self.run_torch(), (folder, ""))
        self.assertTrue(needed.exists())
        self.assertTrue((self.tree / "calls").read_text().endswith("--no-deps filelock==1 sympy==9\n"))
        needed.unlink()
        self.write("refused", "")
        found, said = self.run_torch()
        self.assertEqual(found, folder)
        self.assertIn("could not be installed; the tests that import torch", said)

    def test_what_is_there_is_taken(self):
        peers = self.cache / "peers-3.11-1"
        library = self.write(f"{peers}/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "")
        self.assertIn("installing", self.run_torch()[1])  # without its stamp it was cut off
        shutil.rmtree(self.cache / "torch-2.50.1")
        self.write(f"{peers}/peers/torch.there", "")
        self.assertEqual(self.run_torch(), (str(library.parent), ""))
        self.environment["STOKER_TORCH"] = str(self.write("own/libtorch_cpu.so", "").parent)
        self.assertEqual(self.run_torch(), (f"{self.tree}/own", ""))

    def test_too_little_space(self):
        self.write("free", "2999")
        self.assert_skips(f"PyTorch needs 3000 MB in '{self.cache}', which has 2999")

    def test_no_network(self):
        self.write("refused", "")
        self.assert_skips("PyTorch could not be installed (no network?)", "ERROR: no network")

    def test_a_library_that_cannot_be_opened(self):
        self.write("broken", "")
        self.assert_skips("PyTorch could not be installed")


if __name__ == "__main__":
    unittest.main()
