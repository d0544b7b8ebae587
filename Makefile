# Shortcuts only: each recipe prints the commands it runs, and they work without make too.

# The two tested stacks. To use another interpreter: make test PYTHON=python3.12
PYTHON ?= python3.11
PYTHON_UPSTREAM ?= python3.10

VENV := .venv
VENV_UPSTREAM := .venv-upstream

.DEFAULT_GOAL := help
.PHONY: help venv demo docs docs-check test test-thorough test-upstream coverage bench bench-serve bench-preprocess lint format wheel clean distclean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/.installed  ## make .venv: torch, fairseq, the tools and this project

demo: venv  ## the demo on the sample log, from raw log to suggestions
	$(VENV)/bin/python examples/sample_log/demo.py

serve: venv  ## serve the model of `make demo` with a web page; ARGS="--port 8080"
	@test -d runs/demo/bundle || { echo "there is no model yet: make demo"; exit 1; }
	$(VENV)/bin/mtn-serve runs/demo/bundle $(ARGS)

test: $(VENV)/.installed-spark  ## the whole test suite; select tests with ARGS="tests/unit -k mask"
	$(call pytest,$(VENV)) $(ARGS)

test-thorough: $(VENV)/.installed-spark  ## the same with many more random examples
	$(call pytest,$(VENV)) --hypothesis-profile many $(ARGS)

test-upstream: $(VENV_UPSTREAM)/.installed-spark  ## the same suite on Python 3.10 and upstream fairseq
	$(call pytest,$(VENV_UPSTREAM)) $(ARGS)

coverage: $(VENV)/.installed-spark  ## the suite again, with branch coverage
	$(call pytest,$(VENV)) --cov --cov-report=term $(ARGS)

bench: $(VENV)/.installed-bench  ## training and decoding compared with stock fairseq, 20 minutes
	$(VENV)/bin/python benchmarks/models/run.py $(ARGS)

bench-serve: $(VENV)/.installed-bench  ## requests through each engine, then over HTTP, 15 minutes
	PECOS=$(PECOS) $(VENV)/bin/python benchmarks/serving/engines.py \
		--docs benchmarks/serving/README.md $(ARGS)
	@test -d runs/demo/bundle || echo "without requests over HTTP: no runs/demo/bundle; make demo"
	test ! -d runs/demo/bundle || $(VENV)/bin/python benchmarks/serving/load.py \
		--demo runs/demo --output benchmarks/serving --docs docs/serving.md

bench-preprocess: $(VENV)/.installed-bench  ## time and memory on 36 million rows, half an hour
	$(VENV)/bin/python benchmarks/preprocess/run.py $(ARGS)

docs: $(VENV)/.installed-docs  ## the documentation as a site, in build/docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build  # --quiet would hide warnings from `strict`
	@echo "==> to read it: $(VENV)/bin/python -m http.server --directory build/docs"

docs-check: $(VENV)/.installed-docs  ## links, commands and figures of README and docs; the site; the notebook
	$(call pytest,$(VENV)) tests/unit/test_links.py tests/unit/test_written_commands.py tests/unit/test_readme_figures.py \
		tests/integration/test_docs.py tests/integration/test_written_pages.py

lint: venv  ## check with ruff and mypy
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: venv  ## fix and format with ruff
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

wheel: venv  ## build dist/mtn_fairseq-*.whl, and dist/mtn_serving-*.whl for machines that serve
	rm -rf build serving/build  # setuptools would pack modules deleted since the last build
	$(VENV)/bin/python -m build --wheel --no-isolation
	$(VENV)/bin/python -m build --wheel --no-isolation --outdir dist serving

clean:  ## remove builds and caches; keep the environments
	rm -rf build dist *.egg-info serving/build serving/*.egg-info htmlcov .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean  ## remove the environments as well
	rm -rf $(VENV) $(VENV_UPSTREAM)

# --- environments -------------------------------------------------------------------------------

# Runs again when the requirements change; pip then installs only the difference.
$(VENV)/.installed: setup.py constraints.txt
	$(call install,$(VENV),$(PYTHON),PYTHON)

$(VENV_UPSTREAM)/.installed: setup.py constraints.txt
	$(call install,$(VENV_UPSTREAM),$(PYTHON_UPSTREAM),PYTHON_UPSTREAM)

%/.installed-docs: %/.installed
	$(call pip,$*) --no-build-isolation -e '.[docs]'
	@touch $@

# For the tests of the Spark engine: 500 MB, and Java 17 or later must be installed.
%/.installed-spark: %/.installed-docs
	$(call pip,$*) --no-build-isolation -e '.[spark]'
	@touch $@

%/.installed-bench: %/.installed-spark
	$(call pip,$*) --no-build-isolation -e '.[bench]'
	@touch $@

# $(call pytest,venv). One torch thread per worker, because two workers share two cores. All tests
# of a file run on one worker, so that shared fixtures (such as a trained model) are made once.
# Files run in order, the longest first, so that none runs alone at the end.
pytest = OMP_NUM_THREADS=1 $(1)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# $(call find_python,name): the first that works of the name itself (a pyenv shim may exist but
# fail) and pyenv's interpreters of that version.
find_python = $(firstword $(foreach p,\
	$(1) $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/$(patsubst python%,%,$(1)).*/bin/python),\
	$(if $(shell $(p) -c 'print("runs")' 2>/dev/null),$(p))))
need_python = $(or $(call find_python,$(1)),$(error $(1) does not run here: install it, or name \
	another interpreter, as in: make $(MAKECMDGOALS) $(2)=/path/to/python3))

# $(call pip,venv). Constraints in the environment also apply to isolated builds, so no build
# fetches another torch. With CUDA_HOME set, fairseq would compile kernels whose sources are missing
# from its release.
pip = env -u CUDA_HOME PIP_CONSTRAINT=constraints.txt $(1)/bin/python -m pip install

# fairseq-fixed lists torch as a build requirement, so it is built against the installed one.
# Upstream fairseq (Python < 3.11) does not, and if it finds torch it compiles sources that are
# missing from its release, so it must be built in isolation.
isolation = $(shell $(1) -c 'import sys; sys.version_info < (3, 11) or print("--no-build-isolation")')

# $(call install,venv,interpreter,name of the variable for the interpreter)
define install
	@echo "==> 1/4 $(1), by $(call need_python,$(2),$(3))"
	test -x $(1)/bin/python || $(call find_python,$(2)) -m venv $(1)
	@echo "==> 2/4 build tools"
	$(call pip,$(1)) pip setuptools wheel cython numpy
	@echo "==> 3/4 torch, the version of constraints.txt"
	$(call pip,$(1)) torch
	@echo "==> 4/4 fairseq, which may be compiled for some minutes, the tools and this project"
	$(call pip,$(1)) $(call isolation,$(call find_python,$(2))) -e '.[dev,preprocess,ranker,report,serve]' || { \
		echo "==> failed; to compile fairseq, a C++ compiler and Python.h are needed" \
		     "(Debian: apt install g++ python3-dev)"; exit 1; }
	@touch $@
	@echo "==> $(1) is ready"
endef
