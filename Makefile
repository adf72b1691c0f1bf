# `make demo` sets everything up and runs the main job; `make test` sets everything up and runs the tests.
PYTHON ?= python3
WEATHER ?=

.PHONY: demo test check verify bench clean

demo: .venv/ready
	scripts/demo $(WEATHER)

test: .venv/ready
	scripts/test

check: .venv/ready
	scripts/check

verify: .venv/ready
	scripts/verify

bench: .venv/ready
	scripts/bench

.venv/ready: requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Steppe needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Give one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch .venv/ready

clean:
	rm -rf .venv .venv-peers* runs
