# Two commands do all the set-up on a machine with Python 3.11+, git and make:
#   make search   creates .venv, installs, and runs the main job
#   make test     creates .venv, installs, and runs lint, type check and tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --constraint requirements.lock

.PHONY: search test test-slow lint lock clean

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

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Resolves the newest versions that pyproject.toml allows and pins all of them.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet torch==2.13.0
	$(VENV)-lock/bin/python -m pip install --quiet '.[dev,sb3,ray]'
	echo '# Exact versions of the reproducible set-up. Made by `make lock`; used as pip constraints.' > requirements.lock
	$(VENV)-lock/bin/python -m pip freeze --exclude workflow-rl | sed 's/+cpu$$//' >> requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) $(VENV)-lock .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "workflow-rl needs Python 3.11 or newer as '$(PYTHON)'; say which with: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml requirements.lock | $(VENV)/bin/python
	@echo "installing into $(VENV) ..."
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml requirements.lock | $(VENV)/bin/python
	@echo "installing into $(VENV), with the tools for development ..."
	$(PIP_INSTALL) --editable '.[dev,sb3,ray]'
	@touch $@ $(VENV)/.installed
