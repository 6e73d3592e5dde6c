#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assemble.py FOLDER [--script LINE;LINE] PROGRAM [ARGUMENTS]: runs a program on PyTorch's own CUDA library, without a GPU (dry.h).

FOLDER is the build folder of tests/fake: it has the fake driver and, in cudart/, the archives of the stand-ins. Libraries are put together in
FOLDER/cudart/dry-…, once for each PyTorch: links to PyTorch's own, and one stand-in for each library of NVIDIA's that they need, with the names and the
symbol versions that they want. What nobody has written is refused when it is called. LINEs are for the fake driver (tests/fake/cuda/fake_cuda.h).
--python, as the first word: Python imports
that PyTorch as torch. --print shows the variables instead. Status 77: there is no PyTorch with CUDA here."""
import hashlib
import mmap
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "torch"))
import on_fake_gpu  # noqa: E402

# PyTorch's libraries that a program may open; the last two are Python's.
TORCH = ["libc10.so", "libc10_cuda.so", "libcaffe2_nvrtc.so", "libtorch.so", "libtorch_cpu.so", "libtorch_cuda.so", "libtorch_cuda_linalg.so",
         "libtorch_nvshmem.so", "libtorch_python.so", "libtorch_global_deps.so"]
# Stem of a library: its archive, and the code that calls of it give which nobody has written (its "not supported").
STAND_INS = {"cudart": ("libdry_cudart.a", 801), "cublas": ("libdry_cublas.a", 15), "cublasLt": ("libdry_cublaslt.a", 15),
             "cudnn": ("libdry_cudnn.a", 3000), "cuda": ("libdry_driver.a", 801)}
OTHERS = ["cupti", "cusparse", "cufft", "cufile", "cusparseLt", "nccl", "nvrtc", "cusolver", "nvshmem_host", "curand", "nvtx", "nvToolsExt", "nvJitLink"]


class Elf:
    """What a shared library needs: libraries, and of which of them which symbols."""

    def __init__(self, path):
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as self.data:
            self.sections = {}
            at, size, count, names = (*struct.unpack_from("<Q", self.data, 40), *struct.unpack_from("<HHH", self.data, 58))
            headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + i * size) for i in range(count)]
            for header in headers:
                self.sections.setdefault(self.text(headers[names][4] + header[0]), header)
            self.strings = self.sections[".dynstr"][4]
            texts = [(tag, self.text(self.strings + value)) for tag, value in self.rows(".dynamic", "<QQ") if tag in (1, 15, 29)]
            self.needed = [text for tag, text in texts if tag == 1]
            self.paths = [path for tag, text in texts if tag != 1 for path in text.split(":")]  # where it looks for them
            self.read_versions()
            self.wanted = list(self.read_wanted())

    def text(self, at):
        return self.data[at:self.data.find(b"\0", at)].decode()

    def rows(self, section, form):
        header = self.sections.get(section)
        return struct.iter_unpack(form, self.data[header[4]:header[4] + header[5]]) if header else []

    def read_versions(self):
        """Number of a version: (library, name)."""
        self.versions = {}
        header = self.sections.get(".gnu.version_r")
        at = header[4] if header else 0
        while at:
            _, count, file, first, following = struct.unpack_from("<HHIII", self.data, at)
            part = at + first
            for _ in range(count):
                _, _, number, name, step = struct.unpack_from("<IHHII", self.data, part)
                self.versions[number & 0x7FFF] = (self.text(self.strings + file), self.text(self.strings + name))
                part += step
            at = at + following if following else 0

    def read_wanted(self):
        """(symbol, library, version); library None: any that has it."""
        numbers = [number for number, in self.rows(".gnu.version", "<H")]
        for i, (name, _, _, section, _, _) in enumerate(self.rows(".dynsym", "<IBBHQQ")):
            if name and section == 0:
                library, version = self.versions.get(numbers[i] & 0x7FFF, (None, None)) if numbers else (None, None)
                yield self.text(self.strings + name), library, version


def stem_of(library):
    return library.split(".so")[0].removeprefix("lib")


def owner_of(symbol, libraries):
    """The library of NVIDIA's that a symbol without a version belongs to, by its name; None: somebody else's."""
    def fits(stem):
        stem = stem.removesuffix("_host").lower()
        return symbol.lower().startswith(stem) or stem == "cuda" and symbol.startswith("cu") and symbol[2:3].isupper() and not symbol.startswith("cuFile")
    return max((library for library in libraries if fits(stem_of(library))), key=len, default=None)


def needs_of(folder):
    """Libraries of NVIDIA's that PyTorch's need: {name: ({symbols}, version)}."""
    needs, loose = {}, set()
    for name in TORCH:
        if (folder / name).exists():
            elf = Elf(folder / name)
            for library in elf.needed:
                if stem_of(library) in [*STAND_INS, *OTHERS]:
                    needs.setdefault(library, (set(), set()))
            for symbol, library, version in elf.wanted:
                if library in needs:
                    needs[library][0].add(symbol)
                    needs[library][1].add(version)
                elif library is None and symbol.startswith(("cu", "nccl", "nv")):
                    loose.add(symbol)
    for symbol in loose:
        library = owner_of(symbol, needs)
        if library:
            needs[library][0].add(symbol)
    return needs


def defined_in(archive):
    done = subprocess.run(["nm", "-g", "--defined-only", archive], capture_output=True, text=True, check=True)
    return {line.split()[2] for line in done.stdout.splitlines() if len(line.split()) == 3}


def beside(real):
    """What Python's package torch imports from the folder that it is in."""
    site = pathlib.Path(real).parent.parent
    names = ("torchgen", "functorch", "typing_extensions.py", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "filelock")
    return [site / name for name in names if (site / name).exists()]


class Assembly:
    """One folder of libraries: site/torch/lib with links to PyTorch's, site/nvidia/…/lib with stand-ins, where PyTorch's look for NVIDIA's."""

    def __init__(self, real, archives, out):
        self.real, self.archives = pathlib.Path(real), pathlib.Path(archives)
        self.torch = out / "site/torch/lib"
        beside = "$ORIGIN/../../nvidia/"
        path = next((path for path in Elf(self.real / "libtorch_cuda.so").paths if path.startswith(beside)), None)
        if not path:
            raise SystemExit(f"'{real}' does not look for NVIDIA's libraries beside itself")
        self.place = out / "site/nvidia" / path.removeprefix(beside)
        for folder in (self.torch, self.place):
            folder.mkdir(parents=True)

    def build(self):
        for file in self.real.iterdir():
            if ".so" in file.name:
                (self.torch / file.name).symlink_to(file)
        for file in self.real.parent.iterdir():  # for Python: site/torch is a package
            if file.name != "lib":
                (self.torch.parent / file.name).symlink_to(file)
        for file in beside(self.real):
            (self.torch.parent.parent / file.name).symlink_to(file)
        needs = needs_of(self.real)
        runtime = next((library for library in needs if stem_of(library) == "cudart"), None)
        for library in sorted(needs, key=lambda name: name != runtime):  # the runtime first: others count by it
            self.stand_in(library, *needs[library], runtime)

    def stand_in(self, library, symbols, versions, runtime):
        archive, code = STAND_INS.get(stem_of(library), (None, 1))
        archive = archive and self.archives / archive
        major = int(runtime.rsplit(".", 1)[1])
        lines = ['int dry_refuse(const char *, int);']
        lines += [f'int {symbol}(void) {{ return dry_refuse("{symbol}", {code}); }}' for symbol in sorted(symbols - (defined_in(archive) if archive else set()))]
        lines += [f"const int dry_cuda_version = {major}000;"] if library == runtime else []
        place = self.place
        (place / "rest.c").write_text("\n".join(lines) + "\n")
        (place / "rest.map").write_text("".join(f"{version} {{ global: *; }};\n" for version in sorted(versions)))
        words = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"] if archive else []
        words += [f"-Wl,--version-script,{place / 'rest.map'}"] if versions else []
        words += [str(place / runtime)] if library != runtime else []
        subprocess.run(["cc", "-O1", "-w", "-fPIC", "-shared", f"-Wl,-soname,{library}", "-o", place / library, place / "rest.c", *words, "-ldl", "-lpthread"],
                       check=True)


def assembled(real, folder):
    """Folder that has it, made now if it is not there."""
    archives = pathlib.Path(folder) / "cudart"
    parts = [pathlib.Path(__file__), pathlib.Path(real) / "libtorch_cuda.so", *beside(real), *(archives / archive for archive, _ in STAND_INS.values())]
    state = "".join(f"{part.resolve()} {part.stat().st_mtime_ns} {part.stat().st_size}\n" for part in parts)
    out = archives / ("dry-" + hashlib.sha256(state.encode()).hexdigest()[:12])
    if not out.exists():
        part = pathlib.Path(tempfile.mkdtemp(dir=archives, prefix="part-"))
        try:
            Assembly(real, archives, part).build()
            part.rename(out)  # whole, or not there; the first one stays
        except OSError:
            if not out.exists():
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return out


def environment(folder, script="late 0\ngpus 2\n", **more):
    """Variables for programs, or None: there is no PyTorch with CUDA."""
    real = on_fake_gpu.real_torch()
    if not real or not os.path.exists(os.path.join(real, "libtorch_cuda.so")):
        return None
    out = assembled(real, folder)
    driver = os.path.join(folder, "libcuda.so.1")
    lines = out / (hashlib.sha256(script.encode()).hexdigest()[:12] + ".fake")
    if not lines.exists():
        part = lines.with_suffix(f".{os.getpid()}")
        part.write_text(script)
        part.replace(lines)  # whole, whoever reads it
    runtime = next((out / "site/nvidia").glob("*/lib/libcudart.so.*"))
    return dict(os.environ, STOKER_TORCH=str(out / "site/torch/lib"), STOKER_CUDA_LIBRARY=driver, STOKER_NVRTC_LIBRARY=driver, STOKER_FAKE_CUDA=str(lines),
                STOKER_DRY_LIBRARY=str(runtime), **more)


def python_environment(folder, script="late 0\ngpus 2\n", **more):
    """The same with a package torch that Python can import; None: there is none, or of another Python."""
    variables = environment(folder, script, **more)
    if not variables:
        return None
    site = pathlib.Path(variables["STOKER_TORCH"]).parent.parent
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if not (site / "torch" / f"_C{suffix}").exists() or not (site / "sympy").exists():
        return None
    paths = [str(site), *filter(None, [variables.get("PYTHONPATH")])]
    return dict(variables, PYTHONPATH=os.pathsep.join(paths))


def main():
    words = sys.argv[2:]
    of_python = words[0] == "--python"
    words = words[of_python:]
    script = "late 0\ngpus 2\n"
    if words[0] == "--script":
        script = words[1].replace(";", "\n") + "\n"
        words = words[2:]
    variables = (python_environment if of_python else environment)(os.path.abspath(sys.argv[1]), script)
    if not variables:
        print("skipped: there is no PyTorch with CUDA" + (" that this Python can import" if of_python else ""))
        return 77
    if words[0] == "--print":
        print("\n".join(f"export {name}={variables[name]}" for name in sorted(variables) if variables[name] != os.environ.get(name)))
        return 0
    os.execvpe(words[0], words, variables)


if __name__ == "__main__":
    sys.exit(main())
