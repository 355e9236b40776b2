# The two commands of the README are `make app` and `make test`; both set up first, which takes a second when done.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: app test check results ablation setup requirements

app: setup
	$(BIN)/python app.py

test: setup
	$(BIN)/python -m pytest $(TESTS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The table of results in the README, over whatever benchmark files are in DATA.
results: setup
	MEMOIR_DATA=$(DATA) $(BIN)/python -m eval results --jobs 2 --write README.md

# The table beside it: what each factor of recall is worth.
ablation: setup
	MEMOIR_DATA=$(DATA) $(BIN)/python -m eval ablate --jobs 2 --write README.md

setup: .venv/installed

.venv/installed: requirements.txt
	$(PYTHON) -c 'import sys; sys.exit("Memoir needs Python 3.11 or newer; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch .venv/installed

# Pin anew. A local build tag ("+cpu") is cut off, so that the pin fits the wheel of any machine.
requirements:
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-annotate --no-header \
		--strip-extras --extra dev --output-file requirements.txt pyproject.toml
	sed -i.bak 's/^\(torch==[^+]*\)+.*/\1/' requirements.txt && rm requirements.txt.bak
