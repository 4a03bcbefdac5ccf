# 'make help' lists what can be made.
#
# The targets install Python packages (pyproject.toml) into .venv with pip, Rust crates (Cargo.lock) with cargo, the
# Rust toolchain of rust-toolchain.toml with rustup, and `make test`, as root on a Debian-like system, the packages in
# $(PACKAGES) with apt-get. Nothing else is downloaded.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock
MATURIN := $(BIN)/maturin
SCHEDLOAD := target/release/schedload
SIMULATOR := python/schedlab/_sim.abi3.so
PLUGIN := python/schedlab/_tcg.so
PACKAGES := rt-tests rt-app dbench iperf3 iproute2 linux-perf postgresql postgresql-contrib \
	bc flex bison libelf-dev libssl-dev linux-source xz-utils util-linux chromium qemu-system-x86 busybox-static zstd lz4 openssh-server

.PHONY: help build demo wheel wheel-aarch64 test quick verify lint rust-tests test-rust test-python test-wheel packages bench torture mutants docs lock clean

help:
	@echo "make build    .venv/bin/schedlab with its simulator and its plug-in for QEMU, and .venv/bin/schedload"
	@echo "make demo     build, then run examples/first.toml on this machine's kernel"
	@echo "make wheel    dist/: a wheel for Python 3.11 and later, and an archive of the sources"
	@echo "make wheel-aarch64  the wheel for 64-bit ARM, cross-compiled; needs rustup"
	@echo "make quick    formats, lints, types, and all tests that are not marked slow: a minute on two idle CPUs"
	@echo "make test     everything that must pass; what continuous integration runs"
	@echo "make verify   comparisons with this machine's kernel and clock: for a machine that does nothing else"
	@echo "make bench    the figures that the documentation quotes"
	@echo "make torture  kills, signals, damaged files and full disks, with figures of the losses: twenty minutes"
	@echo "make mutants  changes of the code that no test notices: PACKAGE=store SAMPLE=40 SEED=1 SECONDS=3600"
	@echo "make docs     target/site: the documentation as a web site, which fetches nothing from other servers"
	@echo "make lock     resolve the newest Python packages into requirements.lock"
	@echo "make clean    remove everything that was built"

# Compile Python's modules here, so that they load fast for users who cannot write .pyc files.
build: $(BIN)/schedload $(BIN)/schedlab $(SIMULATOR) $(PLUGIN)
	@$(BIN)/python -m compileall -q python/schedlab

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; say which with PYTHON=…"; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { echo "no venv: install it with 'apt-get install python3-venv'"; exit 1; }

$(BIN)/schedlab: pyproject.toml requirements.lock | $(BIN)/python
	@echo "installing schedlab and its Python packages into $(VENV)"
	@$(INSTALL) maturin
	@PATH="$(abspath $(BIN)):$$PATH" $(INSTALL) --no-build-isolation --editable .
	@touch $@

# rustup installs the release of rust-toolchain.toml, unless it is there with its components.
.PHONY: toolchain
toolchain:
	@if command -v rustup >/dev/null; then cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 \
		|| { echo "installing the Rust release of rust-toolchain.toml"; rustup toolchain install; }; fi

# A static binary: it runs unchanged in an initramfs or on another distribution. The alias (.cargo/config.toml) gives the
# flag to that binary alone, so that it shares its compiled crates with the simulator.
.PHONY: FORCE
$(SCHEDLOAD): FORCE toolchain
	@cargo --quiet --locked schedload

$(BIN)/schedload: $(SCHEDLOAD) | $(BIN)/python
	@install -m 755 $(SCHEDLOAD) $@

# The simulator as an extension module of the stable ABI (Python 3.11 and later), beside the Python code that loads it.
# maturin replaces the file: a Python that runs keeps the file that it has mapped. Its settings are those of the wheel,
# so that both share what cargo compiles.
$(SIMULATOR): FORCE toolchain | $(BIN)/schedlab
	@mkdir -p target/wheel
	@$(MATURIN) develop --release --locked --skip-install >target/maturin.log 2>&1 || { cat target/maturin.log; exit 1; }

# The plug-in for QEMU. A QEMU that runs keeps the file that it has loaded.
$(PLUGIN): FORCE toolchain
	@cargo build --quiet --release --locked --package schedlab-tcg
	@install -m 644 target/release/libschedlab_tcg.so $@

# In dist/: a wheel for this machine's processor and every Python from 3.11, and the sources that it is built from.
wheel: $(BIN)/schedlab toolchain
	@$(BIN)/python install/backend.py
	@rm -rf dist
	@{ $(MATURIN) sdist --out dist && $(MATURIN) build --release --locked --out dist; } >target/maturin.log 2>&1 \
		|| { cat target/maturin.log; exit 1; }
	@ls -s --block-size=kB dist

# The same wheel for aarch64: zig links the simulator with glibc 2.17, and rust-lld links schedload with musl, which Rust
# contains. Needs rustup. Not part of `make test`.
ARM := aarch64-unknown-linux
wheel-aarch64: $(BIN)/schedlab toolchain
	@rustup --quiet target add $(ARM)-gnu $(ARM)-musl
	@$(INSTALL) ziglang cargo-zigbuild
	@SCHEDLAB_TARGET=$(ARM)-musl CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld $(BIN)/python install/backend.py
	@mkdir -p dist && rm -f dist/*aarch64.whl
	@PATH="$(abspath $(BIN)):$$PATH" $(MATURIN) build --release --locked --zig --target $(ARM)-gnu --out dist >target/maturin.log 2>&1 \
		|| { cat target/maturin.log; exit 1; }
	@rm -rf target/wheel
	@ls -s --block-size=kB dist

# The wheel as its users have it: in an environment of its own, away from this folder.
test-wheel: wheel
	$(BIN)/python install/check_wheel.py dist/*.whl

demo: build
	@$(BIN)/schedlab run examples/first.toml

packages:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		missing=$$(for p in $(PACKAGES); do dpkg-query -W -f='$${db:Status-Status}' $$p 2>/dev/null | grep -q ^installed || echo $$p; done); \
		if [ -n "$$missing" ]; then echo "apt-get install" $$missing; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi; \
	else echo "not root or no apt-get: tests of missing tools will say so"; fi

$(VENV)/.dev: pyproject.toml requirements.lock | $(BIN)/schedlab
	@echo "installing test tools into $(VENV)"
	@PATH="$(abspath $(BIN)):$$PATH" $(INSTALL) --no-build-isolation --editable '.[dev]'
	@touch $@

lint: $(VENV)/.dev toolchain
	cargo fmt --all --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Limits the time of each test (.config/nextest.toml). A Python package contains the program, whose build takes minutes.
NEXTEST := $(BIN)/cargo-nextest nextest run --cargo-quiet --locked

rust-tests: toolchain
	@cargo test --quiet --locked --workspace --no-run

test-rust: $(VENV)/.dev
	$(NEXTEST) --workspace

# Two processes; tests/conftest.py says which tests share one. pytest rewrites the asserts of every test module, and without
# bytecode files it does so in each process of each run.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

test-python: build $(VENV)/.dev
	$(PYTEST) --numprocesses 2 --durations 15 --durations-min 5

# The release build takes one CPU for minutes, as do lints and debug builds, so run them in parallel.
test: packages
	@$(MAKE) --no-print-directory -j2 --output-sync=target build lint rust-tests
	@$(MAKE) --no-print-directory test-rust test-python test-wheel

quick: build lint
	$(NEXTEST) --package schedlab-workload
	$(PYTEST) --quiet --numprocesses 2 --hypothesis-profile quick -m "not (verify or root or real or slow)"

verify: build $(VENV)/.dev
	$(NEXTEST) --workspace --run-ignored only --test-threads 1
	$(PYTEST) -m verify
	$(PYTEST) -m hypothesis --hypothesis-profile search

bench: build
	$(BIN)/python benches/overhead.py
	$(BIN)/python benches/startup.py
	$(BIN)/python benches/import_speed.py
	$(BIN)/python benches/report_speed.py --formats mmtests html
	$(BIN)/python benches/hackbench_fidelity.py
	$(BIN)/python -m benches.study

TORTURE ?= --seed 1
torture: build $(VENV)/.dev
	$(BIN)/python tests/torture.py $(TORTURE)

# cosmic-ray has a separate environment: the tests run in $(VENV). pytest-cov has a separate folder, because cosmic-ray's
# environment contains other releases of packages that the tests need. cargo-mutants is needed for PACKAGE=sim only.
PACKAGE := experiment
SAMPLE := 40
SEED := 1
SECONDS := 3600
$(VENV)-mutants/bin/cosmic-ray: | $(BIN)/python
	$(PYTHON) -m venv $(VENV)-mutants
	$(VENV)-mutants/bin/python -m pip install --quiet --disable-pip-version-check 'cosmic-ray==8.7.0'

$(VENV)-mutants/coverage: | $(VENV)-mutants/bin/cosmic-ray
	$(VENV)-mutants/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ \
		'coverage==7.17.3' 'pytest-cov==7.1.0'

mutants: build $(VENV)/.dev $(VENV)-mutants/coverage
	$(VENV)-mutants/bin/python tests/mutants.py $(PACKAGE) --sample $(SAMPLE) --seed $(SEED) --seconds $(SECONDS)

# Warnings, such as a link that leads nowhere, are errors (strict in mkdocs.yml).
docs: $(BIN)/schedlab
	@$(BIN)/mkdocs --version >/dev/null 2>&1 || PATH="$(abspath $(BIN)):$$PATH" $(INSTALL) 'mkdocs-material>=9.5,<10'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo target/site/index.html

# The newest versions that pyproject.toml allows, resolved in an environment of their own.
lock:
	rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	(head -n 1 requirements.lock; $(VENV)-lock/bin/python -m pip freeze --exclude-editable) > requirements.lock.new
	mv requirements.lock.new requirements.lock && rm -rf $(VENV)-lock

clean:
	rm -rf target dist $(VENV) $(SIMULATOR) $(PLUGIN)
