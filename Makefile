# Python 3.11 or later and make are all that is needed; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: bench coverage demo docs generate mutants pictures referee test test-data test-databases test-spark test-long reproduce lint package versions screenshots clean

demo: $(VENV)/.core
	@$(BIN)/hedgerow demo

# Two processes share two cores: threads inside linear algebra would only get in each other's way.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
# What is compiled is kept, whatever the shell says: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n 2 -m "not long and not databases and not spark"

# The tests that a change of a folder of src/hedgerow needs: make test-release, make test-engines, …
test-%: $(VENV)/.dev
	@paths=$$($(BIN)/python -m tests.mirror $*) \
	  && $(BIN)/python -m pytest -q -n 2 -m "not long and not databases and not spark" $$paths

# The tests that read public data files, alone; HEDGEROW_DATA names the folder of the files.
test-data: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n 2 -m "data and not long"

# PostgreSQL is asked of the machine: the tests start a server of their own, and are skipped by name where there is none.
test-databases: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m "databases and not long" tests/contracts

# Java is asked of the machine: without it the tests are skipped, and the last line of a run says so. Each kind of Spark is
# a run of its own: two of them cannot share a process.
test-spark: $(VENV)/.spark
	HEDGEROW_SPARK=local $(BIN)/python -m pytest -q -m "spark and not long" tests/contracts
	HEDGEROW_SPARK=cluster $(BIN)/python -m pytest -q -m "spark and not long" tests/contracts/test_spark*.py
	HEDGEROW_SPARK=connect $(BIN)/python -m pytest -q -m "spark and not long" tests/contracts/test_spark*.py

test-long: $(VENV)/.mutants
	$(BIN)/python -m pytest -q -n 2 --hypothesis-profile=default

# Whether the tests notice random small faults in the code that the promises rest on: N faults, the same in every run of a
# seed. make mutants N=60 FOLDERS="accounting noise" takes minutes; all 500 take hours.
N ?= 500
SEED ?= 1
FOLDERS ?= accounting mechanisms noise release/spend inference ledger
mutants: $(VENV)/.mutants
	nice $(BIN)/python -m tests.mutation --count $(N) --seed $(SEED) --folders $(FOLDERS)

# Whether what every public call adds noise to moves within its certificate, on real neighbours. Testers of other projects
# look too, where HEDGEROW_DP_RECORDER and HEDGEROW_DP_AUDITORIUM name their source: tests/referee/testers.py.
PAIRS ?= 12
SEARCHED ?= 40
referee: $(VENV)/.dev
	nice $(BIN)/python -m tests.referee --pairs $(PAIRS) --searched $(SEARCHED)

# Every line and branch of the code that prices, draws and spends is run by the tests of its folder, or they are named.
COVERED := accounting/* mechanisms/* noise/* release/spend.py
coverage: $(VENV)/.mutants
	@mkdir -p build
	nice $(BIN)/coverage run -m pytest -q -m "not long and not databases and not spark" \
	  $$($(BIN)/python -m tests.mirror accounting mechanisms noise) tests/unit/release
	@failed=0; for part in $(COVERED); do \
	  $(BIN)/coverage report --include="src/hedgerow/$$part" --fail-under=100 || failed=1; done; exit $$failed

# The papers' figures beside ours. Public data are read from the folder that HEDGEROW_DATA names, or from
# reproduction/data; what needs a file that is not there is left out, and it is said where the file is had.
reproduce: $(VENV)/.dev
	$(BIN)/python -m reproduction.brawner_honaker
	$(BIN)/python -m reproduction.win_vector
	$(BIN)/python -m reproduction.okeefe_charest
	$(BIN)/python -m reproduction.multicalibration

# Ratios of time over what does the same without privacy: some ten minutes, 2 GB of a temporary folder. A quick look, which
# renews no page: .venv/bin/python -m benchmarks.ratios --rows 1000000
bench: $(VENV)/.spark
	$(BIN)/python -m benchmarks.ratios --write

# The exports and the page of the reference that follow from the registry of statistics.
generate: $(VENV)/.dev
	$(BIN)/python -m tests.generate

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site is written to docs/_build/html. Warnings are errors, and so is a page that asks another machine for a part of it.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -b html docs docs/_build/html

# Every page of the built site as a browser shows it, wide and narrow, light and dark; needs a Chromium.
screenshots: $(VENV)/.docs
	$(BIN)/python docs/screenshots.py

# The picture of the README and of the home page, for light and for dark pages.
pictures: $(VENV)/.core
	$(BIN)/python docs/pictures.py

# The archives that users get, looked into and tried in a clean environment; then what the core weighs.
package: $(BIN)/python
	@$(BIN)/python -c 'import build' 2>/dev/null || $(BIN)/pip install -qq build
	.ci/package $(abspath $(BIN))/python

# A dry run of the installer for every supported Python, also those that this machine lacks.
versions: $(BIN)/python
	$(BIN)/python .ci/versions

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'hedgerow needs Python 3.11 or later: make PYTHON=python3.12 …'; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml
	@echo 'Installing hedgerow into $(VENV) …'
	@$(BIN)/pip install -qq -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo 'Installing what the tests need into $(VENV) …'
	@$(BIN)/pip install -qq -e '.[dev]'
	@touch $@

$(VENV)/.mutants: $(VENV)/.dev
	@echo 'Installing what makes faults and measures lines into $(VENV) …'
	@$(BIN)/pip install -qq 'pip>=25.1'  # the first that knows dependency groups
	@$(BIN)/pip install -qq --group mutants
	@touch $@

$(VENV)/.spark: $(VENV)/.dev
	@echo 'Installing Spark into $(VENV) …'
	@$(BIN)/pip install -qq -e '.[spark]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	@echo 'Installing what the documentation needs into $(VENV) …'
	@$(BIN)/pip install -qq 'pip>=25.1'  # the first that knows dependency groups
	@$(BIN)/pip install -qq -e '.[sklearn,xlsx,formulas]' --group docs
	@touch $@

clean:
	rm -rf docs/_build docs/reference/generated $(VENV) .pytest_cache .mypy_cache .ruff_cache hedgerow-demo
