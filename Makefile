# Everything that people and CI call. Whatever a target needs is installed first: Python packages
# by uv from hashed locks, web packages by npm from its lock, system packages by apt when root.

PYTHON ?= $(shell scripts/python)
TOOLS := build/tools
UV := $(TOOLS)/bin/uv
BIN := .venv/bin
ASSETS := src/benchvise/report/assets/report.js
NATIVE := src/benchvise/trace/native.abi3.so

SUITE_PACKAGES := openssh-client openssh-server busybox-static strace zsh fish mksh tcsh \
	qemu-user-static gcc libc6-dev device-tree-compiler \
	libc6-arm64-cross libc6-armhf-cross libc6-riscv64-cross postgresql chromium-headless-shell \
	wrk qemu-system-x86 iperf3 iproute2 trace-cmd babeltrace2 sigrok-cli linux-perf dmsetup \
	bzip2 procps systemd groff-base lttng-tools liblttng-ust-dev nftables
RIG_PACKAGES := openssh-client qemu-system-arm qemu-system-misc qemu-system-x86 mtools dosfstools \
	fdisk e2fsprogs debian-archive-keyring bmap-tools lbzip2 pigz pbzip2 zstd xz-utils
BENCH_PACKAGES := sigrok-cli linux-perf gcc libc6-dev pv \
	fio hdparm iperf3 iproute2 sockperf qperf hyperfine wrk apache2-utils nginx-light \
	rt-tests bmap-tools trace-cmd babeltrace2 libbabeltrace2-dev pkg-config \
	nghttp2-client libtirpc-dev chromium
# What the open bench slows down, and what it does that with.
OPEN_PACKAGES := openssh-client openssh-server iproute2 nftables busybox-static strace gcc libc6-dev \
	python3 perl git curl openssl zstd bsdextrautils sqlite3 procps locales e2fsprogs mawk

# make test STRICT=1: no test may be left out for what can be installed, built or fetched here. CI is
# strict by itself, or a green run would hide what its machine lacked; STRICT=0 is for such a machine.
STRICT ?= $(if $(filter-out 0 false,$(CI)),1)
export STRICT

# In CI the decoder is compiled for the tests alone, once with their own. Elsewhere it is as users have it.
export NATIVE_PROFILE := $(if $(filter-out 0 false,$(CI)),suite,release)

# Where this is set, every `benchvise` that a test starts would compile all its modules anew.
unexport PYTHONDONTWRITEBYTECODE

# Of several targets at once, the lines of each come together.
IN_TURN := $(MAKE) --no-print-directory --output-sync=target

.PHONY: demo demo-boards test tests-compiled test-beside test-settings test-units test-alone \
	test-nightly checks tests-in-turn units-meanwhile checks-meanwhile lint lint-python lint-web lint-crates \
	format-crates test-web test-crates guest-kernel bench score score-open fuzz docs pictures man dist clean install pins probe probes web

# The first answer takes the probe of this machine alone; the script has the rest made afterwards.
demo: probe
	@scripts/demo $(RIG_PACKAGES)

demo-boards: .venv/.installed
	@$(BIN)/python probe/build.py --arch aarch64 --arch riscv64

test:
	@scripts/system-packages --optional $(SUITE_PACKAGES) $(RIG_PACKAGES)
	+@$(IN_TURN) -j2 install probes web guest-kernel tests-compiled
	+@$(MAKE) --no-print-directory -j4 tests-in-turn checks-meanwhile
	+@$(MAKE) --no-print-directory test-alone

tests-in-turn:
	+@$(MAKE) --no-print-directory test-beside
	+@$(MAKE) --no-print-directory test-settings units-meanwhile

# Once, before each of several would rewrite and compile all the same modules of tests. Those few
# that have changed since cost less than this.
tests-compiled: build/collected

build/collected: .venv/.installed | $(NATIVE)
	@$(BIN)/pytest --collect-only -q >$@.new && mv $@.new $@

# The parts of the suite are those of tests/suite_parts.py.
# So many wait for something at any time that the others leave a CPU idle for moments only.
test-beside:
	SUITE_PART=beside $(BIN)/pytest -n 5 --dist loadfile --no-loadscope-reorder

# What they change, other tests would feel. One at a time, they leave a CPU idle.
test-settings:
	SUITE_PART=settings $(BIN)/pytest

test-units:
	SUITE_PART=units $(BIN)/pytest -n 2 --dist loadfile

# They compute where other tests leave room: these may be starved for minutes, as none of them waits
# for an answer; of tests/unit some do.
checks-meanwhile:
	+@nice -n 19 $(MAKE) --no-print-directory checks

units-meanwhile:
	+@nice -n 19 $(MAKE) --no-print-directory test-units

# Those that compute one after another, and beside them those that wait.
test-alone:
	SUITE_PART=alone $(BIN)/pytest -n 2

# What takes too long for every change. PART="long fuzz": only these.
test-nightly:
	@scripts/system-packages --optional $(SUITE_PACKAGES) $(RIG_PACKAGES) $(BENCH_PACKAGES)
	+@$(IN_TURN) -j2 install probes web guest-kernel
	$(BIN)/python scripts/nightly.py $(PART)

# Those of the crates are compiled by clippy.
checks:
	+@$(IN_TURN) lint-python lint-web format-crates test-crates test-web

lint: lint-python lint-web lint-crates

lint-python: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-web: build/web-linted

# What has not changed since it was found clean is not looked through again, as the other linters
# and the compilers do by themselves: all that is read there, the assets are made of, too.
build/web-linted: $(ASSETS)
	npm --prefix web run --silent lint
	@mkdir -p build && touch $@

lint-crates: format-crates
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings

format-crates:
	cargo fmt --check

test-crates: .venv/.installed
	scripts/test-crates

test-web: web
	npm --prefix web run --silent test

guest-kernel: .venv/.installed
	@$(BIN)/python scripts/guest_kernel.py

# What simulated boards are made of, as Debian has it now.
pins: .venv/.installed
	$(BIN)/python scripts/pin_packages.py

# Fails where a claim does not hold; one that is undecided (exit status 3) is only named.
bench: install probe
	@scripts/system-packages --optional $(BENCH_PACKAGES)
	@NATIVE_PROFILE=release scripts/native
	@benchmarks/references/tools || echo "not available: mhz, multichase, lmbench (see above)"
	$(BIN)/python -m benchmarks || [ $$? = 3 ]

# The table of the documentation, from simulated boards. The others keep their last results:
# ARGS='--real --publish' and ARGS='--held-out' run these.
score: install
	$(BIN)/python -m benchmarks.why $(or $(ARGS),--publish)

# Its other half, causes as integrators meet them, as many as fit: make score-open SECONDS=3600
# Those held out, once, and where a run was interrupted again for the rest:
# make score-open ARGS='--held-out --results build/open-held-out.json'
score-open: install probe
	@scripts/system-packages --optional $(OPEN_PACKAGES) $(RIG_PACKAGES)
	$(BIN)/python -m benchmarks.why.open --publish --seconds $(or $(SECONDS),14400) $(ARGS)

# SECONDS for each target: make fuzz SECONDS=600
fuzz:
	scripts/fuzz $(or $(SECONDS),60)

docs: install probe
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build -q -W -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The screenshots of the documentation, from real pages; those of a report show what `make demo` measured.
pictures: install web
	$(BIN)/python docs/pictures.py

# Man pages and completions, which the wheel brings.
man: .venv/.installed
	@rm -rf build/share
	@$(BIN)/python -m benchvise.cli.reference.share build/share
	@echo "build/share/man/man1/benchvise.1"

# The source distribution and manylinux wheels for x86_64 and aarch64, in dist/.
dist: .venv/.installed probes web man
	@$(BIN)/python scripts/dist.py

clean:
	rm -rf build dist target .venv docs/_build docs/reference/generated web/node_modules \
		src/benchvise/board/probes src/benchvise/report/assets src/benchvise/web/assets $(NATIVE) \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

install: .venv/.installed $(NATIVE)

probe: .venv/.installed
	@$(BIN)/python probe/build.py --arch native

probes: .venv/.installed
	@$(BIN)/python probe/build.py

web: $(ASSETS)

# Without Rust, all but `benchvise trace` works, so only what cannot do without insists on it.
$(NATIVE): Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null)
	@scripts/native --optional

$(UV): requirements-uv.lock
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || scripts/system-packages python3-venv
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.venv/.installed: requirements-dev.lock pyproject.toml $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	VIRTUAL_ENV=.venv $(UV) pip sync --quiet --compile-bytecode --require-hashes requirements-dev.lock
	VIRTUAL_ENV=.venv $(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

web/node_modules/.installed: web/package-lock.json
	@command -v npm >/dev/null || scripts/system-packages npm
	npm --prefix web ci --silent --no-audit --no-fund
	@touch $@

$(ASSETS): web/node_modules/.installed $(shell find web/src web/scripts web/*.js web/*.json -type f 2>/dev/null)
	npm --prefix web run --silent build
	@touch $@
