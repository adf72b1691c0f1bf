# `make demo` runs the main job, `make show` serves it with its page, `make test` runs the tests. Each installs what it needs into .venv.
PYTHON ?= python3
WEATHER ?=

.PHONY: demo show test check verify bench page clean

PAGE := src/steppe/server/page/index.html
WEB := $(shell find web -name node_modules -prune -o -name tests -prune -o -type f -print)

demo: .venv/user
	scripts/demo $(WEATHER)

show: .venv/user $(PAGE)
	scripts/show $(WEATHER)

test: .venv/dev $(PAGE)
	scripts/test

check: .venv/dev $(PAGE)
	scripts/check

verify: .venv/dev $(PAGE)
	scripts/verify

bench: .venv/dev $(PAGE)
	scripts/bench

page: $(PAGE)

.venv/user: requirements/user.txt pyproject.toml
	$(PYTHON) scripts/install.py user
	touch .venv/user

.venv/dev: requirements/dev.txt .venv/user
	$(PYTHON) scripts/install.py dev
	touch .venv/user .venv/dev

$(PAGE): $(WEB) hatch_build.py | .venv/user
	scripts/page

clean:
	rm -rf .venv .venv-python .venv-oldest .venv-newest .venv-peers* runs web/node_modules src/steppe/server/page
