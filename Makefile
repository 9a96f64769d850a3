# Two commands do everything on a fresh machine: `make hunt` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
BUDGET ?= 5m
# Tests side by side; a file stays together, so that it starts its workers once.
JOBS ?= 2
PYTEST := $(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile

.PHONY: install hunt test lint unit museum slow quality conformance references false-alarms papers trophies trophies-index docs bench clean

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "TensorParity needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]'
	touch $(INSTALLED)

# Exit code 1 means new defects: for a hunt that is success.
hunt: install
	$(BIN)/tensorparity hunt --budget $(BUDGET) || test $$? -eq 1

test: lint unit museum

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: install
	$(PYTEST) -m 'not slow and not quality'

# Six faults of the museum; which six depends on the package's own text.
museum: install
	$(BIN)/python -m pytest -m 'quality and not slow' tests/quality/test_museum.py

# What takes minutes: large models, long sweeps.
slow: install
	$(BIN)/python -m pytest -m slow

# Every fault of the museum, planted, which rewrites the table in docs/museum.md; and what else must be found.
quality: install
	TENSORPARITY_MUSEUM_TABLE=docs/museum.md $(BIN)/python -m pytest -m quality tests/quality

# Hundreds of uses of every layer against every installed target.
DRAWS ?= 200
conformance: install
	TENSORPARITY_DRAWS=$(DRAWS) $(BIN)/python -m pytest --timeout 14400 \
	  tests/operators/test_against_keras.py tests/operators/test_against_targets.py \
	  tests/operators/test_against_compiled_torch.py

# Every reference against independent sources; rewrites the table in docs/references.md.
REFERENCE_DRAWS ?= 20
references: install
	TENSORPARITY_DRAWS=$(REFERENCE_DRAWS) TENSORPARITY_REFERENCES=docs/references.md \
	$(BIN)/python -m pytest -m 'not slow' tests/operators/sources/test_sources.py tests/operators/sources/test_calls.py

# One library against itself: threads, oneDNN, batch order. No defect may be found.
MODELS ?= 300
false-alarms: install
	$(BIN)/python bench/false_alarms.py $(MODELS)

# Every symbol that a claim of docs/papers.md is about, changed: the test that the page names must fail.
papers: install
	$(BIN)/python tests/papers/hold.py --jobs $(JOBS) --write docs/papers_held.md

# Every trophy's script with oneDNN on and off, with two instruction sets; rewrites trophies/settings.md.
# TROPHIES="NAME NAME" runs these alone.
trophies: install
	$(BIN)/python trophies/run_all.py --jobs $(JOBS) $(TROPHIES)

# The index of defects found, from the trophies' own pages; a test fails where it is stale.
trophies-index:
	$(PYTHON) trophies/make_index.py

# The site, in site/: fails for a link that leads nowhere and for a page that is not in its menu.
docs: install
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(BIN)/python -m mkdocs build --strict

bench: install
	$(BIN)/python bench/compare_overhead.py
	$(BIN)/python bench/protocol.py
	$(BIN)/python bench/triage.py
	$(BIN)/python bench/fuzz_throughput.py

clean:
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist src/*.egg-info
