# The front door: every word installs what is missing, then does its work.
# `make` alone prints the words.

FACES = build/demo/faces
STOKER = build/cli/stoker

# The thread sanitizer of gcc 12 cannot start where the kernel scatters addresses over more than 28 bits.
TSAN_WRAP = $(shell setarch $$(uname -m) -R true 2>/dev/null && echo setarch $$(uname -m) -R)

help:
	@echo 'make demo       build, make 600 faces in build/demo, train a network that parses them'
	@echo 'make test       build, then all tests; TORCH=1 fetches PyTorch (1.3 GB, once) for those of the engine torch'
	@echo 'make build      the library and the program, into build/'
	@echo 'make wheel      a Python wheel with the program and all libraries, into build/wheels'
	@echo 'make bench      speed beside a bare decoding loop and other libraries (fetches some GB once)'
	@echo 'make check      format, dependency law, sizes; gcc and clang with warnings as errors'
	@echo 'make asan       all tests under the address and undefined-behaviour sanitizers'
	@echo 'make tsan       the tests that use threads under the thread sanitizer'
	@echo 'make fuzz       fuzzes every parser for FUZZ_SECONDS (900) each, or those of TARGETS="jpeg png"'
	@echo 'make fuzz-quick the same for 10 seconds each: what CI does'
	@echo 'make coverage   how much of the parsers tests and corpus reach, line by line'
	@echo 'make test-long  tests that take many minutes (as root: a bare Debian root)'
	@echo 'make install    into PREFIX (default /usr/local), below DESTDIR if given'
	@echo 'make format     clang-format over all C files'
	@echo 'make clean      removes build/ and build-*/'

build:
	@tools/setup build
	@tools/build build program

demo: build
	@grep -qs '"complete": true' $(FACES)/.stoker-make || $(STOKER) make faces $(FACES) --count 600
	@rm -rf build/demo/run
	$(STOKER) train examples/faces.yaml data.root=$(FACES) --run build/demo/run
	$(STOKER) eval build/demo/run --sheet build/demo/answers.png

# OpenCL on the CPU, tmux, Chromium, NVIDIA's compiler: tests that miss them are skipped and say so.
test-tools:
	@tools/setup test || echo 'setup: going on without; tests of OpenCL and of screens in tmux will be skipped' >&2
	@tools/setup browser || echo 'setup: going on without Chromium; its test of report.html will be skipped' >&2
	@tools/setup_nvrtc
	@tools/setup_nvdisasm
	@tools/setup_pynvml

# With TORCH=1: what puts a PyTorch into the environment of the command behind it. Without one tests say skipped.
WITH_TORCH = $(if $(TORCH),folder=$$(tools/setup_torch); export STOKER_TORCH="$${folder:-$$STOKER_TORCH}";)

# Without suite slow, minutes each (ALL=1: these, too; tests/long/slow.sh runs them alone).
test: test-tools
	@tools/setup build
	@tools/build build
	@$(WITH_TORCH) tools/run_tests build $(if $(ALL),,--no-suite slow)

# Without a network, or with PEERS= on the command line, our own rows alone.
PEERS = $(shell tools/setup venv >&2 && bench/peers/setup)
bench: build
	@tools/build build python/stoker/_stoker.abi3.so || echo 'bench: no Python module; its rows will say so' >&2
	@export PYTHONPATH="$(CURDIR)/build/python"; peers='$(PEERS)'; for what in load augment train python; do \
	 (set -x; $(STOKER) bench $$what --goals $${peers:+--peers "$$peers"}) || exit; echo; done

wheel:
	@tools/setup build venv
	@tools/build_wheel

check:
	@tools/setup build check
	@tools/check

# Half of the compiler's time at -O2 -g; what a sanitizer reports still has functions and lines.
SANITIZED = -Doptimization=1 -Ddebug=false -Dc_args=-g1 -Db_lundef=false

# Without suite plain, whole programs for what they compute (ALL=1: these, too).
# With TORCH=1 the engine's own handling of PyTorch (torch_handles, torch_run); what only computes with it, suite torch, is left to `make test`.
asan: test-tools
	@tools/setup build
	@tools/build build-asan build.ninja $(SANITIZED) -Db_sanitize=address,undefined
	@$(WITH_TORCH) ASAN_OPTIONS=detect_leaks=1:halt_on_error=1:allocator_may_return_null=1:intercept_tls_get_addr=0 \
	 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 tools/run_tests build-asan -t 4 --no-suite tools $(if $(TORCH),--no-suite torch) $(if $(ALL),,--no-suite plain)

tsan:
	@tools/setup build
	@tools/build build-tsan build.ninja $(SANITIZED) -Db_sanitize=thread
	@TSAN_OPTIONS=halt_on_error=1:atexit_sleep_ms=0:suppressions=$(CURDIR)/tests/support/races.txt $(TSAN_WRAP) tools/run_tests build-tsan -t 8 --suite loader --suite fail --suite threads

# Where libFuzzer cannot be had, the driver of the tests does it and says so.
fuzz:
	@tools/setup build
	@tools/setup fuzz || echo 'setup: going on without libFuzzer' >&2
	@tools/fuzz $(TARGETS)

fuzz-quick: export FUZZ_SECONDS = 10
fuzz-quick: fuzz

coverage:
	@tools/setup build
	@tools/coverage

test-long:
	@tools/setup build long
	@tests/long/run

install: build
	@meson configure build --prefix "$(or $(PREFIX),/usr/local)"
	@DESTDIR="$(if $(DESTDIR),$(abspath $(DESTDIR)))" meson install -C build

format:
	@tools/setup check
	@tools/c_files | xargs clang-format -i

clean:
	rm -rf build build-*/

.PHONY: help build demo test test-tools bench wheel check asan tsan fuzz fuzz-quick coverage test-long install format clean
