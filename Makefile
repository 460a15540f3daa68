# The tasks of inrush. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help core build docs run test test-all outcomes test-rust test-rust-told test-python test-python-apart \
  test-python-servers fuzz check check-rust check-python bench servers chdb clean wheel wheel-here try-wheel release

PYTHON ?= python3
# Of `make try-wheel`; none named: the oldest and the newest that are here (.ci/pythons).
PYTHONS ?=
# Tests at once: some wait for a server, a limit or a clock, so one more than this machine has cores, and of Rust's two.
JOBS ?= 3
THREADS ?= 4
# Tests on servers. Where servers must be there, one part follows the other, for beside each other they end no sooner and meet
# each other's load: Rust's, those without a server, those on servers. So many at once, each process on servers of its own.
ON_SERVERS := python/tests/engines
SERVER_JOBS ?= 3
# Ten minutes each.
STRESSED ?= postgresql clickhouse
# Killed in a load and in a statement: 66 kills each, of 10 to 25 seconds.
KILLED ?= postgresql mysql
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# ClickHouse's engine of today as a library, beside what inrush needs and never in it.
CHDB := .chdb
# Of a wheel: the oldest glibc, and the processors of a release.
MANYLINUX ?= manylinux_2_28
RELEASE ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
# Of `make try-wheel`: that of `make wheel`.
WHEEL ?= dist/inrush-*-$(MANYLINUX)_$(shell uname -m).whl
CORE := python/inrush/_core.abi3.so
CORE_SOURCES := $(shell find rust/*/src -name '*.rs') $(wildcard rust/*/Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
# What pip and uv choose is what was tried; see constraints.txt.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export UV_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport VIRTUAL_ENV CONDA_PREFIX
# Each run is a process of its own: without the bytecode of its modules it spends most of its start compiling them.
unexport PYTHONDONTWRITEBYTECODE
# Dependencies as `make core` compiled them; see rust/tests.toml.
CARGO_TEST := cargo test --release --config rust/tests.toml --workspace
# Of what is random, in place of the few of `make test` (rust/tests.toml).
MANY_CASES := PROPTEST_CASES=128 INRUSH_MUTATIONS=20000
# Runs a command that fetches packages; where it fails, its last line is all that is shown.
install = echo '$(1)'; said=$$($(1) 2>&1) || { echo "inrush needs a network for the first build: \
  $$(tail -n 1 <<<"$$said"); check it, or set HTTPS_PROXY" | tr -s ' ' >&2; exit 1; }

help: ## list the tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

core: $(CORE) ## the environment .venv with inrush in it, release build (first time: minutes)

build: core ## core, and the programs of the Rust tests
	$(CARGO_TEST) --no-run

run: core ## the quickstart study; prints where its report is
	$(BIN)/inrush run quickstart

# Half of the time of Rust's tests is waiting, so both halves are tested at once; where servers must be there, limits of
# seconds are tested too, which a thousand threads beside them break.
test: core ## the tests; needs no server and no browser
	@$(MAKE) --no-print-directory --keep-going --jobs $(if $(INRUSH_REQUIRE_SERVERS),1,2) test-rust-told test-python

test-all: core ## all tests, also those that are dear in time, and the wheel of a release
	$(MANY_CASES) $(CARGO_TEST)
	MAKEFLAGS= $(BIN)/python -m pytest --slow -n $(JOBS) --ignore $(ON_SERVERS)
	MAKEFLAGS= $(BIN)/python -m pytest --slow -n $(SERVER_JOBS) $(ON_SERVERS)
	$(MAKE) --no-print-directory outcomes
	$(MAKE) --no-print-directory wheel
	$(MAKE) --no-print-directory try-wheel

outcomes: core ## what each shipped study comes to at scale xs, beside what it came to
	cd python && ../$(BIN)/python -m tests.outcomes

test-python: core ## tests of the Python half and of the border
ifdef INRUSH_REQUIRE_SERVERS
	@$(MAKE) --no-print-directory --keep-going --jobs 1 test-python-apart test-python-servers
else
	MAKEFLAGS= INRUSH_START_NO_SERVERS=1 $(BIN)/python -m pytest -n $(JOBS)
endif

test-python-apart:
	MAKEFLAGS= $(BIN)/python -m pytest -o cache_dir=.pytest_cache/apart -n $(JOBS) --durations 30 --ignore $(ON_SERVERS)

test-python-servers:
	MAKEFLAGS= $(BIN)/python -m pytest -o cache_dir=.pytest_cache/servers -n $(SERVER_JOBS) --durations 30 $(ON_SERVERS)

test-rust: ## tests of the Rust half
	@tools/needs $(PYTHON) fetch
	MAKEFLAGS= RUST_TEST_THREADS=$(THREADS) $(CARGO_TEST)

# What it prints would stand among the other half's lines: it goes to a file, and is shown if a test failed.
test-rust-told: TOLD = $(or $(CARGO_TARGET_DIR),target)/rust-tests.txt
test-rust-told:
	@mkdir -p $(dir $(TOLD)); echo "tests of the Rust half: $(TOLD)"; \
	  $(MAKE) --no-print-directory test-rust >$(TOLD) 2>&1 || { cat $(TOLD); echo "the Rust half failed: $(TOLD)"; exit 1; }; \
	  awk '/^test result:/ { passed += $$4; ignored += $$8 } END { \
	    print "\nRust: " passed + 0 " tests passed, " ignored + 0 " need a server"; exit !passed }' $(TOLD)

fuzz: ## a million mutated answers to each decoder (or as many as INRUSH_MUTATIONS says)
	INRUSH_MUTATIONS=$${INRUSH_MUTATIONS:-1000000} cargo test --release -p inrush-engines -p inrush-load --lib fuzz:: -- --nocapture

check: check-rust check-python ## formatting, lints and types of both halves

# In the profile of the tests: what programs at build time made for them, such as SQLite, is not made once more.
check-rust: core
	cargo fmt --all -- --check
	cargo clippy --release --config rust/tests.toml --workspace --all-targets --features python -- -D warnings

check-python: core
	$(BIN)/ruff format --check python
	$(BIN)/ruff check python
	$(BIN)/mypy
	MYPYPATH=python $(BIN)/stubtest inrush._core --ignore-disjoint-bases

bench: core ## what inrush costs and how it compares; writes results/bench.json
	cargo bench --workspace
	cd python && ../$(BIN)/python -m benches.bench --out ../results/bench.json
	cd python && for engine in $(STRESSED); do ../$(BIN)/python -m benches.stress $$engine; done
	cd python && ../$(BIN)/python -m benches.kills $(KILLED)

docs: core ## a site of README and docs/ in site/, which a browser opens from the folder
	$(BIN)/python tools/site.py site

servers: core ## fetch the real servers that inrush can start
	$(BIN)/inrush engines fetch all

chdb: $(CHDB)/.ready ## today's ClickHouse engine for tests (180 MB), in an environment of its own

$(CHDB)/.ready: constraints.txt
ifdef UV
	uv venv --quiet --allow-existing $(CHDB)
	uv pip install --quiet --python $(CHDB)/bin/python --no-deps chdb-core
else
	$(PYTHON) -m venv $(CHDB)
	$(CHDB)/bin/python -m pip install --quiet --no-deps chdb-core
endif
	touch $@

wheel: $(VENV)/.release ## a wheel in dist/ for every Python and every Linux of this processor
	$(call wheel,$(shell uname -m)-unknown-linux-gnu)

try-wheel: ## installs the wheel without Rust in reach and runs the quickstart study from it
	.ci/try-wheel $(WHEEL) $(PYTHONS)

release: $(VENV)/.release ## the wheels for x86-64 and arm64 and the source package, in dist/
	@for target in $(RELEASE); do [ -d "$$(rustc --print target-libdir --target $$target)" ] \
	  || { echo "Rust has no standard library for $$target here; rustup target add $$target" >&2; exit 1; }; done
	$(foreach target,$(RELEASE),$(call wheel,$(target)))
	$(BIN)/maturin sdist --quiet --out dist

clean: ## remove the environments and the built core; results stay
	rm -rf $(VENV) $(CHDB) $(CORE) dist
	cargo clean

# Of what `make core` has compiled, for the glibc of this machine and later ones: what a wheel holds is tried without
# compiling all of it once more.
wheel-here: core $(VENV)/.release
	rm -rf dist/here
	PATH="$(CURDIR)/$(BIN):$$PATH" VIRTUAL_ENV=$(CURDIR)/$(VENV) maturin build --release --quiet --interpreter $(BIN)/python --out dist/here
	$(BIN)/abi3audit --strict --verbose dist/here/inrush-*.whl

# zig links against the glibc that the dependencies ask for too, whatever this machine has. maturin finds it in PATH.
define wheel
rm -f dist/inrush-*_$(firstword $(subst -, ,$(1))).whl
PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --release --zig --target $(1) --compatibility $(MANYLINUX) --out dist
$(BIN)/abi3audit --strict --verbose dist/inrush-*_$(firstword $(subst -, ,$(1))).whl

endef

$(VENV)/.release: $(VENV)/.ready
ifdef UV
	uv pip install --quiet --python $(BIN)/python --group release
else
	$(BIN)/python -m pip install --quiet --group release
endif
	touch $@

$(VENV)/.ready: pyproject.toml constraints.txt
	@tools/needs $(PYTHON) fetch
ifdef UV
	uv venv --quiet --allow-existing --python '>=3.10' $(VENV)
	@$(call install,uv pip install --quiet --python $(BIN)/python maturin pip --group dev)
else
	$(PYTHON) -m venv $(VENV)
	@$(call install,$(BIN)/python -m pip install --quiet --retries 1 --upgrade pip maturin)
	@$(call install,$(BIN)/python -m pip install --quiet --group dev)
endif
	touch $@

# maturin names the file after the stable ABI and touches it only when it changed.
$(CORE): $(VENV)/.ready $(CORE_SOURCES)
	@tools/needs $(BIN)/python
	@echo 'compiling the Rust half; the first time takes about five minutes on two cores, and prints nothing meanwhile'
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet --extras all
	touch $@
