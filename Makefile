.DEFAULT_GOAL := help
PY := .venv/bin/python

help: ## Show these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: ## Make .venv with everything for development
	python3 -m venv .venv && .venv/bin/pip install --quiet uv
	.venv/bin/uv pip install --quiet --editable ".[dev]" && $(PY) tools/dev_links.py

lint: ## Run the linter and the formatter's check
	.venv/bin/ruff check . && .venv/bin/ruff format --check .

format: ## Format the sources
	.venv/bin/ruff format . && .venv/bin/ruff check --fix .

types: ## Run the type checker
	$(PY) tools/dev_links.py && .venv/bin/mypy

test: ## Run the tests
	$(PY) -m pytest

nightly: ## Run a part of the slow checks: make nightly PART=3 SHARE=2 (none: list them; all)
	$(PY) tools/nightly.py $(PART) $(SHARE)

SECONDS := 600
explore: ## Run the random tests with fresh seeds: make explore SECONDS=600
	$(PY) tools/explore.py $(SECONDS)

golden: ## Write the golden text files anew
	$(PY) -m pytest --update-golden

answers: ## Compare all pinned answers
	$(PY) tests/answers/compare_answers.py

answers-update: ## Store the answers of now, after an intended change
	$(PY) tests/answers/compare_answers.py --update

oracles: ## Store the answers of slow oracles whose sources have changed, drop stale ones
	$(PY) -m pytest --update-oracles

site: ## Build the documentation as a site, into site/
	$(PY) -m pip install --quiet --editable ".[docs]" && $(PY) tools/dev_links.py
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet -f mkdocs.yml
	@echo "site/index.html; with search: $(PY) -m http.server -b 127.0.0.1 -d site"

check: lint types test ## All of the above that CI runs

gallery: ## Map every shipped workload onto every shipped architecture (ten minutes on two cores)
	$(PY) benchmarks/gallery.py --again

study: ## Run a study: make study NAME=wafer_matvec
	.venv/bin/tilewright study run $(NAME)

.PHONY: help site setup lint format types test nightly explore golden oracles answers answers-update check gallery study
