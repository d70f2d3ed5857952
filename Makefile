# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

PYTHON ?= python3
BIN := .venv/bin
CHECK = $(BIN)/python tools/check.py
STATIC := ruff mypy yamllint ansible-lint changelog plugin-docs

.DEFAULT_GOAL := help
.PHONY: help setup floor programs demo test bench lint unit sanity conformance integration faults molecule molecule-kind \
	docs build picture readmes lab-up lab-down lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup: ## the environment .venv with the locked packages, and the link that makes the checkout importable
	@$(PYTHON) tools/bootstrap.py

floor: setup
	@$(PYTHON) tools/bootstrap.py --environment .venv-floor --python 3.11 --optional

programs: setup
	@$(BIN)/dra-lab binaries

demo: setup ## the main job on the lab, from nothing to build/demo/report.html
	@$(BIN)/python tools/demo.py

test: setup floor ## everything that CI runs
	@$(CHECK) $(STATIC) sanity docs build unit unit-floor programs molecule molecule-kind --last last

bench: setup ## the budgets, measured: build/bench.json and the table in docs/performance.md
	@$(BIN)/python tools/bench.py

lint: setup ## Python, YAML, Ansible content, types, changelog and the rules of this repository
	@$(CHECK) $(STATIC) checks

unit: setup floor ## unit tests, on the newest and on the oldest supported ansible-core
	@$(CHECK) unit unit-floor

sanity: setup ## ansible-test sanity, all tests, nothing ignored
	@$(CHECK) sanity

conformance: programs ## our rules against the real scheduler
	@$(CHECK) conformance

integration: programs ## every module and role on the lab
	@$(CHECK) integration

faults: programs ## the same while things break
	@$(CHECK) faults

molecule: programs ## the molecule scenarios that need no container
	@$(CHECK) molecule

molecule-kind: programs ## the molecule scenarios on real kubelets (needs Docker; builds images the first time)
	@$(CHECK) molecule-kind
	@$(CHECK) molecule-kind-faults
	@$(CHECK) kind

docs: setup ## the documentation, in build/docs
	@$(CHECK) docs

build: setup ## the collection's archive, in build/, and the importer's checks
	@$(CHECK) build

picture: setup ## the README's picture, docs/images/overview.svg
	@$(BIN)/python tools/picture.py

readmes: setup ## the roles' README files, from their argument specs
	@$(BIN)/python tools/role_readmes.py

lab-up: programs ## a lab on this machine; nothing to do if it is up
	@$(BIN)/dra-lab status >/dev/null 2>&1 || $(BIN)/dra-lab up

lab-down: setup ## the lab is gone
	@$(BIN)/dra-lab down

lock: setup ## requirements/dev.lock from requirements/*.in
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --output-file requirements/dev.lock requirements/dev.in

clean: ## what was built here; environments and the lab's programs stay
	@$(PYTHON) tools/clean.py
