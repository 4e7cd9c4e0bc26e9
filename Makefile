# Everything runs in .venv: made by uv, or by Python's own venv and pip where there is no uv, filled
# from a lock with hashes, and filled again only when the lock or pyproject.toml has changed.
#   make serve ARGS="--port 9000"    make test ARGS="-k pig"    make PYTHON=/opt/python/bin/python3 test

VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
ARGS ?=
# One more than there are processors: tests wait for servers much of their time.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
# The first that runs and is new enough; that a name is on the PATH doesn't mean that it runs.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p $(NEW_ENOUGH) >/dev/null 2>&1 && command -v $$p && break; done)

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--only-binary :all: --no-emit-index-url --no-emit-find-links \
	--custom-compile-command 'make lock' --group build

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help serve test check format openapi golden policies pictures simulate fuzz simulator soak planted mutants verifiers streams bench bench-long migrate lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: $(VENV)/.runtime ## run the server (ARGS go to `cubilete serve`)
	$(BIN)/cubilete serve $(ARGS)

test: $(VENV)/.dev ## run all tests (ARGS go to pytest)
	$(RUN) pytest -n $(WORKERS) --maxprocesses 4 --dist loadgroup $(ARGS)

check: $(VENV)/.dev ## lint, format, types and import contracts, changing nothing
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev ## format the code and fix what can be fixed safely
	$(RUN) ruff check --fix-only .
	$(RUN) ruff format .

openapi: $(VENV)/.dev ## write openapi/openapi.json from the application
	@mkdir -p openapi
	$(BIN)/cubilete openapi > openapi/openapi.json.new
	mv openapi/openapi.json.new openapi/openapi.json

golden: $(VENV)/.dev ## write the golden playthroughs anew; review them in the diff
	$(RUN) tests.golden.make
	CUBILETE_WRITE_GOLDEN=1 $(RUN) pytest -k golden $(ARGS)

policies: $(VENV)/.dev ## solve the games that the bot `optimal` plays anew and store how
	$(RUN) tests.golden.policies

pictures: $(VENV)/.dev ## draw docs/pictures/ anew from a real server in Chromium
	$(RUN) tests.pictures

simulate: $(VENV)/.dev ## play random games of every ruleset and check each (ARGS="--games 2000")
	$(RUN) tests.simulate $(ARGS)

simulator: $(VENV)/.dev ## play games over a store that dies and fails, audit each (ARGS="--games 20000")
	$(RUN) soak.simulator $(ARGS)

soak: $(VENV)/.dev ## kill, cut off and starve servers while clients play, audit all (ARGS="--kills 1000")
	$(RUN) soak $(ARGS)

planted: $(VENV)/.dev ## plant bugs in a copy, one by one: each must fail its test (ARGS="--only key")
	$(RUN) soak.planted $(ARGS)

mutants: $(VENV)/.dev ## change rules and dice at random in a copy: tests must notice (ARGS="--count 300")
	$(RUN) soak.mutants $(ARGS)

fuzz: $(VENV)/.dev ## the whole contract under schemathesis, with a seed (ARGS="--examples 500 --seed 7")
	$(RUN) tests.fuzz $(ARGS)

verifiers: $(VENV)/.dev ## both verifiers on 10,000 random games and changed copies (ARGS="--seed 7")
	$(RUN) tests.compare_verifiers --games 10000 $(ARGS)

streams: $(VENV)/.dev ## listeners by the hundred, cuts and restarts: figures of streams (ARGS="--idle 2000")
	$(RUN) tests.live_figures $(ARGS)

bench: $(VENV)/.dev ## measure for some minutes and write bench/README.md
	$(RUN) bench $(ARGS)

bench-long: $(VENV)/.dev ## the same for longer, with a million games in the tables
	$(RUN) bench --long $(ARGS)

migrate: $(VENV)/.runtime ## bring the database to the newest schema
	$(BIN)/cubilete db upgrade $(ARGS)

lock: $(BIN)/uv ## write both locks from pyproject.toml (ARGS=--upgrade: newest of what is not pinned)
	$(LOCK) $(ARGS) --output-file requirements.lock pyproject.toml
	$(LOCK) $(ARGS) --extra dev --constraint requirements.lock \
		--output-file requirements-dev.lock pyproject.toml

clean: ## remove caches and build output; .venv and data stay
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.runtime: requirements.lock pyproject.toml
	@$(call install,requirements.lock,project)
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml
	@$(call install,requirements-dev.lock,project)
	@touch $(VENV)/.runtime $@

$(BIN)/uv:
	@$(call install,requirements-dev.lock)

# The lock first: wheels only, each checked by its hash, so that no setup code of others runs here.
# Then the project itself, with the build backend from the lock and without any index.
# A person's own pip settings may name an index, but not where or what to install.
define install
set -eu; \
no() { echo "cubilete: $$*" >&2; exit 1; }; \
if uv --version >/dev/null 2>&1; then uv=uv; else uv=; fi; \
py="$(PYTHON)"; \
if ! $(BIN)/python $(NEW_ENOUGH) >/dev/null 2>&1; then \
	[ -n "$$py" ] || no "needs Python 3.11 or newer and found none; name one with make PYTHON=..."; \
	"$$py" $(NEW_ENOUGH) >/dev/null 2>&1 || no "$$py does not run or is older than Python 3.11"; \
	if [ "$$uv" ]; then uv venv --quiet --clear --no-project --python "$$py" $(VENV); \
	elif "$$py" -c 'import ensurepip, venv' 2>/dev/null; then "$$py" -m venv --clear $(VENV); \
	elif "$$py" -m pip --python "$$py" --version >/dev/null 2>&1; then \
		"$$py" -m venv --clear --without-pip $(VENV); \
	else no "$$py has neither ensurepip nor pip; on Debian or Ubuntu install python3-venv"; fi; \
	echo "made $(VENV) with $$py"; \
fi; \
echo "installing $(1) into $(VENV)"; \
if [ "$$uv" ]; then \
	install() { uv pip install --quiet --python $(BIN)/python "$$@"; }; \
else \
	export PIP_USER=0 PIP_CONSTRAINT=/dev/null PIP_REQUIRE_HASHES=0 PIP_DISABLE_PIP_VERSION_CHECK=1; \
	$(RUN) pip --version >/dev/null 2>&1 || $(RUN) ensurepip >/dev/null 2>&1 || : ; \
	if $(RUN) pip --version >/dev/null 2>&1; then pip() { $(RUN) pip "$$@"; }; \
	else pip() { "$$py" -m pip --python $(BIN)/python "$$@"; }; fi; \
	install() { pip install --quiet --no-input "$$@"; }; \
fi; \
install --require-hashes --only-binary :all: -r $(1); \
$(if $(2),install --no-index --no-deps --no-build-isolation --editable .)
endef
