# `make app` and `make test` are all you need; both install first what they lack. `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# One worker keeps all tests of a file, so that they share the app or the bank that the file starts.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help app test test-fast check format results ablation requirements

help:  ## List these commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-14s %s\n", $$1, $$2}'

app: .venv/app-installed  ## Start Memoir in the browser
	$(BIN)/python app.py

test: .venv/test-installed  ## Run all tests, or those named: make test TESTS=tests/test_layers.py
	$(PYTEST) $(TESTS)

test-fast: .venv/test-installed  ## Run the tests that need no browser and take seconds
	$(PYTEST) -m "not slow and not browser and not quality" $(TESTS)

check: .venv/test-installed  ## Lint, check the format and the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/test-installed  ## Sort imports, fix what can be fixed, and format
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

results: .venv/test-installed  ## Measure the benchmark files in DATA and update the results table
	MEMOIR_DATA=$(DATA) $(BIN)/python -m eval results --jobs 2 --write eval/RESULTS.md

ablation: .venv/test-installed  ## Measure how much each retrieval factor contributes
	MEMOIR_DATA=$(DATA) $(BIN)/python -m eval ablate --jobs 2 --write eval/EXPERIMENTS.md

requirements: .venv/test-installed  ## Pin the newest compatible versions in both requirements files
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-tools
	$(COMPILE) --upgrade --extra test --output-file requirements-test.txt pyproject.toml
	cp requirements-test.txt requirements.txt
	$(COMPILE) --output-file requirements.txt pyproject.toml
# A local build tag ("+cpu") is cut off, so that the pin fits the wheel of any machine.
	sed -i.bak 's/^\(torch==[^+]*\)+.*/\1/' requirements.txt requirements-test.txt
	rm requirements.txt.bak requirements-test.txt.bak

COMPILE := $(BIN)/pip-compile --quiet --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-annotate \
	--no-header --strip-extras
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Memoir needs Python 3.11 or newer; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/app-installed: requirements.txt | .venv/bin/python
	$(PIP) -r requirements.txt
	touch $@

.venv/test-installed: requirements-test.txt requirements.txt | .venv/bin/python
	$(PIP) -r requirements-test.txt
	touch .venv/app-installed $@
