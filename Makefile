# `make demo` and `make test` need nothing but make and Python 3.11 or newer.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test check bench soak screenshots clean

demo: $(VENV)/.installed
	@$(BIN)/dashboard demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.bench

soak: $(VENV)/.installed-dev
	$(BIN)/python -m tests.soak --kills 2000

screenshots: $(VENV)/.installed
	$(BIN)/dashboard screenshots

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if v >= (3, 11) else "Python 3.11 or newer is needed, and $(PYTHON) is %d.%d. Name another: make PYTHON=python3.12 ..." % v)'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "installing subagent-dashboard into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	@echo "installing subagent-dashboard and its development tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/.installed $@
