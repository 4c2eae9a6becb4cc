# `make help` says what there is. Everything runs from .venv, which `make setup` makes; no target needs it activated.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
UV = $(or $(shell command -v uv),$(BIN)/uv)

# Set-up is done when it was done for exactly these files: a name made of their content, so that neither a checkout's
# times nor an old .venv can lie about it.
INPUTS := requirements.lock pyproject.toml scripts/setup jobs/process/jars.py jobs/process/jars.toml
READY := .venv/.ready-$(shell cat $(INPUTS) | cksum | tr ' ' -)

##@ Start here

.PHONY: setup
setup: $(READY) ## Make .venv from the lock; fetch Java and the Delta jars if they are missing

$(READY):
	scripts/setup
	@rm -f .venv/.ready-* && touch $@

.PHONY: demo
demo: setup ## Watch a stream archive being fed, turned, probed, corrected and audited; leaves it in data/
	$(BIN)/tidewheel demo

.PHONY: airflow
airflow: setup ## Airflow on this machine, with an archive fed every minute (PORT=8080, USERS=anna:viewer); Ctrl-C stops it
	$(BIN)/python scripts/airflow --port $(or $(PORT),8080) $(if $(USERS),--users $(USERS))

##@ Every change

# Each process takes whole files, so that what a file's tests share is made once, and has a Spark of its own; with more of
# them memory would end before cores do.
SIDE_BY_SIDE := --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: test
test: check ## Lint, types, dead code and the default tests, in two processes side by side
	$(BIN)/pytest -q $(SIDE_BY_SIDE)

.PHONY: test-fast
test-fast: setup ## The tests that need no engine and start no program: the inner loop
	$(BIN)/pytest -q --without-engines

.PHONY: check
check: setup ## Lint, types and dead code only
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/vulture

.PHONY: format
format: setup ## Let ruff rewrite what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

##@ Now and then

.PHONY: test-nightly
test-nightly: setup ## The tests that take minutes
	$(BIN)/pytest -q -m nightly

.PHONY: simulate
simulate: setup ## Ten million steps of random histories with faults, against the oracle (SEED=0)
	$(BIN)/python -m tests.simulate --seed $(or $(SEED),0) --steps 10000000

.PHONY: test-cluster
test-cluster: setup ## Airflow on PostgreSQL, a Spark cluster, an S3 store and a Kafka broker as processes of this machine (needs Go; 10 min)
	scripts/cluster install
	TIDEWHEEL_REQUIRE_SERVICES=1 $(BIN)/pytest -q -m cluster

.PHONY: advisories
advisories: setup ## Known advisories for everything in the locks (needs osv.dev, or ARGS="--data FILE")
	$(BIN)/python scripts/advisories $(ARGS)

.PHONY: soak
soak: setup ## Thousands of updates in one archive: does anything grow? (hours; resumes; ARGS="--updates 600")
	$(BIN)/python -m benchmarks.process.soak $(ARGS)

.PHONY: bench-quick
bench-quick: setup ## The benchmarks in five minutes (what is measured already is kept; ARGS=--fresh measures anew)
	$(BIN)/python -m benchmarks quick $(ARGS)

.PHONY: bench
bench: setup ## Every contender and rival, with 1 GB live, in three quarters of an hour
	$(BIN)/python -m benchmarks standard $(ARGS)

.PHONY: bench-full
bench-full: setup ## Beside these the thesis's sizes, 500 MB and 5 GB, and other streams (an hour, 20 GB of disk)
	$(BIN)/python -m benchmarks full $(ARGS)

.PHONY: docs
docs: setup ## Write the reference pages anew: of the commands, the archive file and the query file
	$(BIN)/python -m tidewheel.cli_reference

.PHONY: site
site: setup ## The documentation as a site, with navigation and search (SERVE=8000 serves it on this machine)
	$(BIN)/python scripts/site $(if $(SERVE),--serve $(SERVE))

.PHONY: lock
lock: ## Resolve the dependencies anew into requirements.lock (add UPGRADE=1 to move to newer versions)
	$(UV) pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes \
		--no-emit-index-url --no-annotate --custom-compile-command "make lock" \
		$(if $(UPGRADE),--upgrade) pyproject.toml --output-file requirements.lock

.PHONY: wheel
wheel: setup ## Build dist/*.whl and dist/*.tar.gz
	$(BIN)/python -m build --no-isolation

.PHONY: clean
clean: ## Remove .venv, caches and what was built (not the jars: they lie in the user's cache)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist spark-warehouse
	find . -name __pycache__ -prune -exec rm -rf {} +

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
