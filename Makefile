# Everything a fresh machine needs: Python 3.11 and make. `make demo` and `make test` set up
# the environment themselves; the second time they find it ready.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Real data sets for the tests that can use them: a folder beside the repository, if it is there.
TRUERANK_DATA ?= $(wildcard $(CURDIR)/../shared/data)
export TRUERANK_DATA
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable
BROWSER := $(firstword $(foreach folder,$(subst :, ,$(PATH)),$(wildcard $(addprefix $(folder)/,$(BROWSERS)))))

# No extra at all: an environment of its own shows that the core needs none.
CORE := .venv-core

# Other libraries bring old pins (ray 2.6, pandas 2): an environment of their own.
ADAPTERS := .venv-adapters

# How long `make fuzz-worlds` runs, from which world on, in how many processes (1 or 2).
MINUTES ?= 10
FIRST ?= 0
PROCESSES ?= 2

.PHONY: setup demo check test test-core test-docs test-adapters fuzz-worlds test-bounds lint bench-ranking bench-estimators bench-fit bench-mf clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "truerank needs Python 3.11 or later; set PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[torch,frames,dev]'
	@touch $@

demo: setup
	$(BIN)/truerank demo --out demo-output

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Before every commit: all rules, and all tests but the slow ones (tests/slow_tests.txt).
check: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

# Two processes, files kept together: the tests of one file share what they prepared.
test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile
	@test -n "$(BROWSER)" || echo "The browser tests of the report did NOT run: there is no Chromium; install the package chromium."

# Links, names and examples of the pages; pages that a script writes in seconds are written anew.
test-docs: setup
	$(BIN)/python -m pytest tests/docs tests/data/test_docs.py tests/metrics/test_conformance.py
	$(BIN)/python docs/api.py
	$(BIN)/python docs/conformance.py
	git diff --exit-code -- docs

$(CORE)/.ready: pyproject.toml
	test -x $(CORE)/bin/python || $(PYTHON) -m venv $(CORE)
	$(CORE)/bin/python -m pip install --quiet . 'pytest>=8.3'
	@touch $@

# The installed package, from data to verdict, and the quick tests that import no extra.
test-core: $(CORE)/.ready
	$(CORE)/bin/python -m pip install --quiet --no-deps --force-reinstall .
	$(CORE)/bin/truerank doctor
	$(CORE)/bin/truerank demo --out demo-output
	TRUERANK_CORE=1 $(CORE)/bin/python -m pytest -p no:cacheprovider -m "not slow" tests/test_public_face.py tests/test_files.py \
		tests/metrics tests/split tests/ranking tests/estimators tests/comparison tests/report \
		--deselect tests/comparison/test_compare.py::test_every_way_out_says_whose_metric_it_is \
		--deselect tests/comparison/test_compare.py::test_ways_out \
		--deselect tests/comparison/test_significance_page.py::test_ranx_hands_the_scores_to_the_unpaired_tukey

# Random worlds from data to verdict (tests/worlds); a fixed few of them are part of `make test`.
# Another thousand: make fuzz-worlds FIRST=100000. One again: python -m tests.worlds.fuzz --world N
fuzz-worlds: setup
	$(BIN)/python -m tests.worlds.fuzz --minutes $(MINUTES) --first $(FIRST) --processes $(PROCESSES)

# Every compiled kernel with its indices checked, more sizes than in `make test`, and whole worlds.
test-bounds: setup
	$(BIN)/python -m tests.bounds.run --whole

$(ADAPTERS)/.ready: pyproject.toml constraints.txt
	test -x $(ADAPTERS)/bin/python || $(PYTHON) -m venv $(ADAPTERS)
	$(ADAPTERS)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[torch,frames,adapters]' 'pytest>=8.3'
	# RecTools 0.19 asks for numpy < 2 below Python 3.13 but runs with numpy 2.
	$(ADAPTERS)/bin/python -m pip install --quiet --no-deps rectools==0.19.0 typeguard==4.6.0
	@touch $@

# Ranks of fitted models of implicit, irspack, LensKit, RecTools and RecBole, by the real packages.
test-adapters: $(ADAPTERS)/.ready
	TRUERANK_ADAPTERS=required OMP_NUM_THREADS=1 $(ADAPTERS)/bin/python -m pytest -p no:cacheprovider tests/adapters -rs

$(VENV)/.bench: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	@touch $@

bench-ranking: $(VENV)/.bench
	$(BIN)/python benchmarks/ranking.py

bench-fit: $(VENV)/.bench
	$(BIN)/python benchmarks/fit.py

bench-mf: setup
	$(BIN)/python benchmarks/mf.py

bench-estimators: setup
	$(BIN)/python benchmarks/estimators.py

clean:
	rm -rf $(VENV) $(CORE) $(ADAPTERS) build dist demo-output bench-output
