# Two commands do all the set-up on a machine with Python 3.11+, git and make:
#   make search   creates .venv, installs, and runs the main job
#   make test     creates .venv, installs, and runs lint, type check and tests
# docs/testing.md explains the others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --constraint requirements.lock
TORCH := $(shell sed -n 's/^torch==//p' requirements.lock)

# The compiled rules as plain Python, whose lines can be counted, and the tests that end in time so.
INTERPRETED := NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --hypothesis-profile=interpreted \
  -m "not slow and not cyborg and not compiled"
INTERPRETED_TESTS := tests/scenario tests/sim tests/belief tests/nets tests/workflow \
  tests/parity/test_replay.py::test_the_recordings_replay_without_a_mismatch \
  $(addprefix tests/agents/test_,action_space.py scripts.py) \
  $(addprefix tests/ppo/test_,acting.py loss.py network.py returns.py) tests/ppo/fused \
  tests/ppo/test_engines.py::test_loss_terms_and_gradients_are_the_textbooks \
  $(addprefix tests/train/test_,alignment.py episodes.py)

.PHONY: results search test test-slow coverage mutation chaos fuzz docs dist images lint lock clean

search: $(VENV)/.installed
	$(BIN)/python workflow_rl/parallel_train_workflow_rl.py \
	  --n-envs 200 --n-workflows 20 --max-episodes 50 --min-episodes 5 --red-agent bline

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

# Branch coverage of both ways to run the rules, one line per package.
coverage: $(VENV)/.installed-dev
	$(BIN)/coverage erase
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile --cov --cov-report=
	$(INTERPRETED) --cov --cov-append --cov-report= $(INTERPRETED_TESTS)
	$(BIN)/coverage json -q -o .coverage.json
	$(BIN)/python -m tests.coverage_summary .coverage.json

# Hours: tries every small change of the rules. Goes on where it was stopped.
mutation: $(VENV)/.installed-dev
	$(BIN)/python -m tests.mutation $(MUTATION)

# Faults of the disk at random points of toy searches, which then go on; CHAOS=N points.
chaos: $(VENV)/.installed-dev
	$(BIN)/python -m tests.chaos $(CHAOS)

# Malformed command lines, configurations and files; FUZZ=N cases of each kind.
fuzz: $(VENV)/.installed-dev
	FUZZ=$(or $(FUZZ),500) $(BIN)/python -m pytest tests/fuzz

# The figures of docs/results.md that are cheap to measure, and the page; the rest keeps its figures.
results: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.results
	$(BIN)/python -m docs.pages results > docs/results.new && mv docs/results.new docs/results.md

# The documentation as a site in site/, which opens from disk: site/index.html.
docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Wheel and source distribution in dist/, checked, and the wheel tried in an environment elsewhere.
dist: $(VENV)/.installed-dev
	$(BIN)/python -m tests.installed_wheel

# The pictures of the documents, of a finished search and a landscape (with Chromium):
# make images RUN=logs/exp_... LANDSCAPE=logs/exp_...
images: $(VENV)/.installed-dev
	$(BIN)/python -m tests.pages.screenshots $(RUN) $(LANDSCAPE)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Resolves the newest versions that pyproject.toml allows and pins all of them; torch stays at the
# version named in requirements.lock: edit that line to change it.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet torch==$(TORCH)
	$(VENV)-lock/bin/python -m pip install --quiet '.[dev,docs,search,sb3,pettingzoo,ray,export]'
	echo '# Exact versions of the reproducible set-up. Made by `make lock`; used as pip constraints.' > requirements.lock
	$(VENV)-lock/bin/python -m pip freeze --exclude workflow-rl | sed 's/+cpu$$//' >> requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) $(VENV)-lock dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .mutation .coverage .coverage.*

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "workflow-rl needs Python 3.11 or newer as '$(PYTHON)'; say which with: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml requirements.lock | $(VENV)/bin/python
	@echo "installing into $(VENV) ..."
	$(PIP_INSTALL) --editable '.[search]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml requirements.lock | $(VENV)/bin/python
	@echo "installing into $(VENV), with the tools for development ..."
	$(PIP_INSTALL) --editable '.[dev,docs,search,sb3,pettingzoo,ray,export]'
	@touch $@ $(VENV)/.installed
