# `make demo` sets everything up and runs the main job, `make show` serves it with its page; `make test` sets everything up and runs the tests.
PYTHON ?= python3
WEATHER ?=

.PHONY: demo show test check verify bench clean

PAGE := src/steppe/server/page/index.html
WEB := $(shell find web -name node_modules -prune -o -name tests -prune -o -type f -print)

demo: .venv/ready
	scripts/demo $(WEATHER)

show: .venv/ready
	scripts/show $(WEATHER)

test: .venv/ready
	scripts/test

check: .venv/ready
	scripts/check

verify: .venv/ready
	scripts/verify

bench: .venv/ready
	scripts/bench

.venv/ready: .venv/packages $(PAGE)
	touch .venv/ready

.venv/packages: requirements/dev.txt pyproject.toml hatch_build.py
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Steppe needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Give one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch .venv/packages

$(PAGE): $(WEB) | .venv/packages
	.venv/bin/python hatch_build.py

clean:
	rm -rf .venv .venv-python .venv-peers* runs web/node_modules src/steppe/server/page
