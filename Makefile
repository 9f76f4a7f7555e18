# Needs Python >= 3.11, make and git. Each target prepares its own environment: with uv if it is installed, else with pip.

.DEFAULT_GOAL := help
SHELL := bash

# The Python to use: by default, the first of these that is 3.11 or newer.
PYTHON ?= $(shell for name in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; assert sys.version_info >= (3, 11); print(sys.executable)' 2>/dev/null && break; done)
VENV ?= .venv
# Additional arguments for pytest: make test PYTEST_ARGS="-x -k registry"
PYTEST_ARGS ?=
# One worker for each processor. To debug: make test WORKERS= PYTEST_ARGS=--pdb
WORKERS ?= --numprocesses=auto --dist=loadfile --max-worker-restart=0

BIN := $(VENV)/bin
PYTEST = $(BIN)/python -m pytest $(WORKERS) $(PYTEST_ARGS)
PROJECTS := tools-core tools-shell tools-filesystem $(patsubst %/pyproject.toml,%,$(wildcard packages/*/pyproject.toml))
# Installed without its dependency, which is large and not released for the newest Python; the group `check` has it.
BARE := packages/tools-ray
SOURCES := scaffold/src $(PROJECTS:%=%/src)

# Fall back to pip, since an index or a proxy may be configured only for pip.
OPTIONS = --quiet --constraint constraints.txt
install = { uv --version && uv pip install --python $(BIN)/python $(OPTIONS) $(1); } >/dev/null 2>&1 || \
	$(BIN)/python -m pip install --disable-pip-version-check $(OPTIONS) $(1)

.PHONY: help environment demo test test-slow test-user check docs coverage bench format release api clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# An environment with editable installations of all packages; `packages` changes when one is added or removed.
$(VENV)/.demo: pyproject.toml constraints.txt packages tools-core/hatch_build.py $(PROJECTS:%=%/pyproject.toml)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "Preparing $(VENV) with $$("$(PYTHON)" --version)" >&2
	@"$(PYTHON)" -m venv --clear $(VENV) 2>/dev/null || uv venv --quiet --clear --seed --python "$(PYTHON)" $(VENV) || \
		{ echo "$(PYTHON) cannot make an environment: install python3-venv, or uv" >&2; exit 1; }
	@$(call install,"pip>=25.1")
	@$(call install,--group demo)
	@$(call install,--no-build-isolation $(patsubst %,--editable=./%,$(filter-out $(BARE),$(PROJECTS))))
	@$(call install,--no-build-isolation --no-deps $(BARE:%=--editable=./%))
	@touch $@

# The same environment with another dependency group of pyproject.toml.
$(VENV)/.%: $(VENV)/.demo
	@echo "Installing the group $* in $(VENV)" >&2
	@$(call install,--group $*)
	@touch $@

environment: $(VENV)/.test $(VENV)/.check

demo: ## list, call and create tools
	@$(MAKE) --no-print-directory VENV=.cache/demo .cache/demo/.demo
	@bash tests/ecosystem/demo.sh .cache/demo

test: $(VENV)/.test ## run the fast tests, on all processors: some minutes
	$(PYTEST)

test-slow: $(VENV)/.slow $(if $(CI),,test-user) ## run the slow tests: installation, clusters, crashes, sandboxes, large files
	$(PYTEST) -m slow

test-user: $(VENV)/.slow ## as root: run the fast tests of tools-shell and tools-filesystem, and all days, as an ordinary user
	bash tests/as_user.sh $(BIN)/python $(WORKERS) tests/tools_shell tests/tools_filesystem $(PYTEST_ARGS)
	bash tests/as_user.sh $(BIN)/python $(WORKERS) -m "slow or not slow" tests/days $(PYTEST_ARGS)

ifdef PACKAGE
# The sources of one package, and its tests.
CHECKED = $(firstword $(wildcard $(PACKAGE)/src packages/$(PACKAGE)/src))
CHECKED_TESTS = $(wildcard tests/$(subst -,_,$(PACKAGE)) tests/tools_$(PACKAGE))
check: environment ## lint, types, architecture; make check PACKAGE=tools-core takes seconds
	@test -n "$(CHECKED)" || { echo "There is no package $(PACKAGE)" >&2; exit 1; }
	$(BIN)/ruff check $(CHECKED) $(CHECKED_TESTS)
	$(BIN)/ruff format --check $(CHECKED) $(CHECKED_TESTS)
	$(BIN)/mypy $(CHECKED)
	$(BIN)/basedpyright --pythonpath $(BIN)/python $(CHECKED)
	$(BIN)/lint-imports --no-logo
else
check: environment
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(SOURCES)
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-logo
	bash -n .ci/run && bash -n tests/as_user.sh && bash -n tests/ecosystem/demo.sh
endif

docs: $(VENV)/.docs ## build the documentation in site/; read it with: python -m http.server -d site
	$(BIN)/python docs/build.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

coverage: environment ## run the fast tests and report the lines that they miss
	$(PYTEST) --cov --cov-report=term

bench: $(VENV)/.test ## compare speeds with their baselines; needs an idle machine
	$(BIN)/python tests/benchmarks/bench.py $(WORDS)

format: environment ## format, and apply ruff's fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

release: $(VENV)/.release ## build all distributions of the last commit into dist/, check them and install them
	$(BIN)/python .ci/release.py

api: $(VENV)/.demo ## write the public interfaces in tests/ecosystem/api again, after a change on purpose
	$(BIN)/python tests/ecosystem/test_api.py

clean: ## remove the files that other targets create
	rm -rf .venv .cache dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
