# `make` alone lists the targets.  Every target sets up what it needs; the second time it finds it done.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PYTEST := $(BIN)/python -m pytest
# Two at a time, each with servers and a Spark of its own; engines that live for seconds compile less.
BRIEF  := SPARK_SUBMIT_OPTS=-XX:TieredStopAtLevel=1
PAIRED := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help setup test check lint demo properties faults cluster bench soak reference lock clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(STAMPS)/jars $(STAMPS)/archive ## Make .venv from the lock, find or install Java 17, fetch the jars

test: setup ## Lint and every test but the slow ones
	$(BIN)/ruff check .
	$(BRIEF) $(PYTEST) $(PAIRED) -m 'not slow and not soak'

check: setup lint ## Lint, types, unit tests and SQL scripts: the quick round
	$(BIN)/mypy
	$(BRIEF) $(PYTEST) $(PAIRED) -m 'not slow and not soak' $(wildcard tests/unit tests/scripts)

lint: setup ## Ruff
	$(BIN)/ruff check .

demo: setup ## Watch a view change while the engine is killed -9, and the topic checked at the end
	$(BIN)/tailrace demo $(ARGS)

properties: setup ## Thousands of random histories against a recompute, all night; a failure stays as a script
	$(PYTEST) --hypothesis-profile=nightly tests/properties $(ARGS)

faults: setup ## Kill real engines at every crash point, also the slow cases
	$(BRIEF) $(PYTEST) tests/faults $(ARGS)

cluster: setup ## The same pipeline on a Spark cluster of several processes, one of them killed
	$(PYTEST) tests/cluster $(ARGS)

bench: setup ## Run the benchmarks and print the ratios
	$(BIN)/python -m benchmarks $(ARGS)

soak: setup ## Steady load for ten minutes: nothing may grow
	$(PYTEST) -m soak $(ARGS)

reference: setup ## Write docs/reference from the code
	$(BIN)/python -m tailrace.reference docs/reference

lock: $(STAMPS)/python ## Write requirements.lock anew from requirements.in
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-header --no-emit-index-url --no-emit-find-links requirements.in -o requirements.lock

clean: ## Remove .venv and what tools left behind (the jars' cache stays)
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The steps of `setup`, each done once: a stamp inside .venv remembers it, so that removing .venv forgets all.

$(STAMPS)/python:
	@python=""; \
	for candidate in python3 python3.13 python3.12 python3.11; do \
	  if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then \
	    python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "error: Tailrace needs Python 3.11, 3.12 or 3.13, and found none of them on PATH" >&2; exit 1; fi; \
	echo "setup 1/5: $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV) || { \
	  echo "error: could not make a virtual environment.  On Debian: apt-get install python3-venv" >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/packages: requirements.lock | $(STAMPS)/python
	@echo "setup 2/5: packages from requirements.lock (Spark alone is 400 MB)"
	$(BIN)/python -m pip install --require-hashes -r requirements.lock
	@touch $@

$(STAMPS)/tailrace: pyproject.toml | $(STAMPS)/packages
	@echo "setup 3/5: tailrace itself"
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(STAMPS)/jars: src/tailrace/jars.lock $(STAMPS)/packages $(STAMPS)/tailrace
	@echo "setup 4/5: Java and jars"
	$(BIN)/python -m tailrace.java --install
	$(BIN)/python -m tailrace.jars
	@touch $@

$(STAMPS)/archive: src/tailrace/class_archive.py $(STAMPS)/jars
	@echo "setup 5/5: a first pipeline, so that the later ones start quickly (a minute)"
	$(BIN)/python -m tailrace.class_archive
	@touch $@
