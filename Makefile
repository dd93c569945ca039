# One command per check. Needs Python >= 3.11, make and a package registry, nothing else.
# Another interpreter: make PYTHON=/path/to/python test

RUNS = $(1) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
ifndef PYTHON
PYTHON := $(shell if $(call RUNS,python3.11); then echo python3.11; else echo python3; fi)
endif

VENV  := .venv
BIN    = $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
# What is imported is compiled then; compiling all that is installed takes longer.
PIP_INSTALL = -m pip install --quiet --disable-pip-version-check --no-input --no-compile

# Tests share the cores between processes, so each process keeps its linear algebra on one thread.
WORKERS ?= 2
PYTEST_ARGS ?=
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST = $(ONE_THREAD) $(BIN)/python -m pytest
TESTS = $(PYTEST) -n $(WORKERS) --dist loadgroup $(PYTEST_ARGS)

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-fast time-tests test-haswell test-bounds test-lowest test-nightly attack lint format docs bench build check-release lock clean

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' Makefile | expand -t 18

# Three sets of packages, each on top of the one before: a target installs no more than it needs.
DEMO := $(VENV)/.demo
DEV  := $(VENV)/.dev
DOCS := $(VENV)/.docs
$(DEMO): EXTRAS := plot,cli
$(DEV):  EXTRAS := dev,downstream
$(DOCS): EXTRAS := docs
$(DEV): $(DEMO)
$(DOCS): $(DEV)

$(DEMO) $(DEV) $(DOCS): pyproject.toml constraints.txt
	@$(call RUNS,$(PYTHON)) || { \
	    echo "error: Python >= 3.11 is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)" >&2; \
	    echo "       name another one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo "installing $(EXTRAS) into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

venv: $(DOCS)  ## Create .venv with the locked versions of everything

demo: $(DEMO)  ## Reproduce the papers in small; writes results/index.html
	$(BIN)/python -m papers all --quick --jobs 2 --out results

test: $(DOCS) lint  ## Lint, then all tests and doctests; ends with the twenty slowest
	$(TESTS) --durations=20

test-fast: $(DOCS)  ## The tests that take little time (tests/slow.txt has the others)
	$(TESTS) -q -m "not slow"

time-tests: $(DOCS)  ## All tests; measures which are slow, and writes tests/slow.txt
	$(TESTS) -q -p tests.helpers.timing

# Numbers are rounded otherwise where there is no AVX-512, as in most computers.
HASWELL = OPENBLAS_CORETYPE=Haswell NUMBA_CPU_NAME=generic MPLBACKEND=Agg
ROOMS = _core classifier codings engines kernels likelihoods posteriors rows selection spaces
test-haswell: $(DOCS)  ## Numerics, pages and gallery, as on a computer without AVX-512
	$(HASWELL) $(TESTS) -q -m "not slow" $(wildcard $(addprefix tests/,$(ROOMS))) src
	$(HASWELL) $(TESTS) -q tests/docs/test_pages.py
	set -e; for script in examples/*.py; do echo "$$script"; \
	    $(HASWELL) $(ONE_THREAD) $(BIN)/python -W error::RuntimeWarning "$$script" >/dev/null; done

test-bounds: $(DOCS)  ## All tests, with every index into an array checked
	NUMBA_BOUNDSCHECK=1 $(TESTS)

# Other versions have an environment of their own. The pages are not run: their numbers and pictures
# are those of the locked versions.
test-lowest: VENV := .venv-lowest
test-lowest:  ## All tests, with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)
	$(PYTHON) tools/lowest_versions.py > $(VENV)/lowest.txt
	$(BIN)/python $(PIP_INSTALL) -c $(VENV)/lowest.txt -e ".[dev,plot,cli]"
	$(TESTS) --ignore tests/docs

NIGHTLY ?= scipy scikit-learn
test-nightly: VENV := .venv-nightly
test-nightly:  ## All tests, with nightly builds of NIGHTLY from the package index NIGHTLY_INDEX
	@test -n "$(NIGHTLY_INDEX)" || { echo "error: name the index of nightly builds: make NIGHTLY_INDEX=... test-nightly" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e ".[dev,plot,cli]"
	$(BIN)/python $(PIP_INSTALL) --pre --upgrade --index-url $(NIGHTLY_INDEX) $(NIGHTLY)
	$(TESTS) --ignore tests/docs

# Arguments of the attack, such as ATTACK="--files 0 --commands 50"; see docs/contributing/hardening.md.
ATTACK ?=
attack: $(DEV)  ## Thousands of hostile fits, parameters, model files and commands
	$(ONE_THREAD) nice -n 15 $(BIN)/python -m tests.attack $(ATTACK)

lint: $(DEV)  ## Style, format, types, import directions, workflows
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python tools/check_imports.py src/bayespoint
	$(BIN)/python tools/check_private.py src/bayespoint
	$(BIN)/python tools/check_workflows.py
	$(BIN)/python tools/write_capabilities.py --check

format: $(DEV)  ## Rewrite the code in the house format
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

docs: $(DOCS)  ## Run every example of the pages and the gallery; writes docs/_build/index.html
	$(PYTEST) -q tests/docs/test_pages.py
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -n -q docs docs/_build

BENCHMARKS = $(filter-out benchmarks/_%,$(sort $(wildcard benchmarks/*.py)))
bench: $(DEV)  ## Run every benchmarks/*.py
	@$(if $(BENCHMARKS),,echo "no benchmarks yet";) set -e; for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python "$$script"; done

build: $(DEV)  ## Wheel and source archive in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build

# RELEASING.md says what is checked. TAG: nothing may be skipped. PYTHONS: interpreters to use.
TAG ?=
PYTHONS ?=
check-release: build  ## Check what make build made, in bare environments of every Python that is here
	$(PYTHON) tools/check_release.py --tag "$(TAG)" --pythons $(PYTHONS)

lock: pyproject.toml  ## Renew constraints.txt from the registry
	rm -rf .venv-lock
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python $(PIP_INSTALL) -e ".[dev,downstream,plot,cli,docs]"
	{ sed -n '/^#/p' constraints.txt; .venv-lock/bin/python -m pip freeze --exclude-editable; } > .venv-lock/constraints.txt
	mv .venv-lock/constraints.txt constraints.txt
	rm -rf .venv-lock

clean:  ## Remove what the other targets made, results/ excepted
	rm -rf docs/_build docs/gallery docs/api/generated
	rm -rf $(VENV) .venv-lock .venv-lowest .venv-nightly .venv-release dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src papers tests tools benchmarks docs examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
