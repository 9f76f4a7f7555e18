# Every target does its own set-up: a Python >= 3.11 is all that has to be there.
# The environment is .venv; .ci/environment makes it and refreshes it when what decides its content has changed.

.DEFAULT_GOAL := help
SHELL := bash

# The Python to work with. By default the first of python3, python and the newest installed that is 3.11 to 3.14.
PYTHON ?=
# More arguments for pytest: make test PYTEST_ARGS="-x -k registry"
PYTEST_ARGS ?=

# How many tests run beside each other: one for each processor. make test WORKERS= PYTEST_ARGS=--pdb
WORKERS ?= --numprocesses=auto --dist=loadfile --max-worker-restart=0

BIN := .venv/bin
SOURCES := tools-core/src scaffold/src tools-shell/src tools-filesystem/src $(wildcard packages/*/src)
PROJECTS := . tools-core tools-shell tools-filesystem $(patsubst %/pyproject.toml,%,$(wildcard packages/*/pyproject.toml))

.PHONY: help demo test test-all test-huge test-user check coverage bench ecosystem format build clean environment suite

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

environment:
	@.ci/environment .venv dev $(PYTHON)

suite: environment
	@$(BIN)/python .ci/json_schema_suite.py
	@.ci/judges $(PYTHON)
	@$(BIN)/python .ci/function_definitions.py

demo: ## see tools found, called and newly made
	@.ci/environment .cache/environments/demo demo $(PYTHON)
	@bash tests/ecosystem/demo.sh .cache/environments/demo

test: suite ## run all tests but the huge ones
	$(BIN)/python -m pytest $(WORKERS) $(PYTEST_ARGS)

test-all: ## run all tests on every installed Python of 3.11 to 3.14
	.ci/test-all $(PYTEST_ARGS)

test-huge: environment ## run the tests with a million files and with gigabytes
	$(BIN)/python -m pytest -m huge tests/tools_filesystem $(PYTEST_ARGS)

test-user: environment ## run the tests of tools-shell as an ordinary user, which only root can do
	.ci/test-user $(PYTEST_ARGS)

check: environment ## lint, types, architecture
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(SOURCES)
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-logo
	@for script in .ci/* tests/ecosystem/*.sh; do case $$script in *.py) ;; *) bash -n $$script || exit 1 ;; esac; done

coverage: suite ## run all tests and report what they leave out
	$(BIN)/python -m pytest --cov --cov-report=term $(PYTEST_ARGS)

bench: environment ## compare speeds with their baselines, alone on the machine
	$(BIN)/python tests/benchmarks/bench.py $(WORDS)

ecosystem: suite ## build, install and run whole packages
	$(BIN)/python -m pytest tests/ecosystem $(PYTEST_ARGS)

format: environment ## format, and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

build: environment ## build every wheel and source distribution into dist/
	@for project in $(PROJECTS); do (cd $$project && "$(CURDIR)/$(BIN)/python" -m hatchling build -d "$(CURDIR)/dist") || exit 1; done

clean: ## remove what the other targets made
	rm -rf .venv .cache dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
