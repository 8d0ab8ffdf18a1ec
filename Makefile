PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export RPCAG_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo install lint test bench clean

demo: $(VENV)/demo  ## set up, decompose occluded digits, show the result
	$(BIN)/rpcag demo

test: install lint  ## set up, lint, type-check, run all tests
	$(BIN)/python -m pytest -n 2 --durations=5

install: $(VENV)/dev

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: install  ## the solver against the printed algorithm, on the real data
	$(BIN)/python benchmarks/printed_algorithm.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "rpcag needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/demo: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[cli,plots]"
	@touch $@

$(VENV)/dev: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@ $(VENV)/demo

clean:
	rm -rf $(VENV) demo dist .mypy_cache .pytest_cache .ruff_cache
