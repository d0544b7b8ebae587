# Shortcuts only: each recipe prints the plain commands it runs, and they work without make too.

# The two stacks that are tested. Any other interpreter: make test PYTHON=python3.12
PYTHON ?= python3.11
PYTHON_UPSTREAM ?= python3.10

VENV := .venv
VENV_UPSTREAM := .venv-upstream

.DEFAULT_GOAL := help
.PHONY: help venv demo docs docs-check test test-thorough test-upstream coverage bench bench-serve bench-preprocess lint format wheel clean distclean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/.installed  ## make .venv: torch, fairseq, the tools and this project

demo: venv  ## the main job on the sample log, from raw log to suggestions
	$(VENV)/bin/python examples/sample_log/demo.py

serve: venv  ## a page to type into, with the model of `make demo`; ARGS="--port 8080"
	@test -d runs/demo/bundle || { echo "there is no model yet: make demo"; exit 1; }
	$(VENV)/bin/mtn-serve runs/demo/bundle $(ARGS)

test: $(VENV)/.installed-spark  ## the whole test suite; narrow it down with ARGS="tests/unit -k mask"
	$(call pytest,$(VENV)) $(ARGS)

test-thorough: $(VENV)/.installed-spark  ## the same with many times the random examples
	$(call pytest,$(VENV)) --hypothesis-profile many $(ARGS)

test-upstream: $(VENV_UPSTREAM)/.installed-spark  ## the same suite on Python 3.10 and upstream fairseq
	$(call pytest,$(VENV_UPSTREAM)) $(ARGS)

coverage: $(VENV)/.installed-spark  ## the suite again, with branch coverage
	$(call pytest,$(VENV)) --cov --cov-report=term $(ARGS)

bench: $(VENV)/.installed-bench  ## training and decoding, against stock fairseq, 20 minutes
	$(VENV)/bin/python benchmarks/models/run.py $(ARGS)

bench-serve: $(VENV)/.installed-bench  ## one request through each engine, 10 minutes
	$(VENV)/bin/python benchmarks/serving/engines.py $(ARGS)

bench-preprocess: $(VENV)/.installed-bench  ## time and memory on 36 million rows, half an hour
	$(VENV)/bin/python benchmarks/preprocess/run.py $(ARGS)

docs: $(VENV)/.installed-docs  ## the documentation as a site, in build/docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build  # --quiet would hide warnings from `strict`
	@echo "==> to read it: $(VENV)/bin/python -m http.server --directory build/docs"

docs-check: $(VENV)/.installed-docs  ## links, anchors and commands of README and docs; the site; the notebook
	$(call pytest,$(VENV)) tests/unit/test_links.py tests/unit/test_written_commands.py tests/integration/test_docs.py

lint: venv  ## ruff and mypy, changing nothing
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: venv  ## let ruff repair what it can
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

wheel: venv  ## build dist/mtn_fairseq-*.whl, and dist/mtn_serving-*.whl for machines that serve
	rm -rf build serving/build  # setuptools would pack modules deleted since the last build
	$(VENV)/bin/python -m build --wheel --no-isolation
	$(VENV)/bin/python -m build --wheel --no-isolation --outdir dist serving

clean:  ## remove what was built and cached; the environments stay
	rm -rf build dist *.egg-info serving/build serving/*.egg-info htmlcov .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

distclean: clean  ## remove the environments as well
	rm -rf $(VENV) $(VENV_UPSTREAM)

# --- environments -------------------------------------------------------------------------------

# Re-done when the requirements change; pip then only installs the difference.
$(VENV)/.installed: setup.py constraints.txt
	$(call install,$(VENV),$(PYTHON),PYTHON)

$(VENV_UPSTREAM)/.installed: setup.py constraints.txt
	$(call install,$(VENV_UPSTREAM),$(PYTHON_UPSTREAM),PYTHON_UPSTREAM)

%/.installed-docs: %/.installed
	$(call pip,$*) --no-build-isolation -e '.[docs]'
	@touch $@

# The suite needs Spark, 500 MB that nobody else should wait for; and Java, 17 or later.
%/.installed-spark: %/.installed-docs
	$(call pip,$*) --no-build-isolation -e '.[spark]'
	@touch $@

%/.installed-bench: %/.installed-spark
	$(call pip,$*) --no-build-isolation -e '.[bench]'
	@touch $@

# $(call pytest,venv). Two workers with torch's threads each would fight for two cores. A file stays
# on one worker, so that what its tests share (a trained model, say) is made once. Files are taken in
# order, those that train longest first: last, one of them would run alone for minutes.
pytest = OMP_NUM_THREADS=1 $(1)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# $(call find_python,name): the first that runs of the name itself (a pyenv shim may be there and
# still refuse) and pyenv's own interpreters of that version.
find_python = $(firstword $(foreach p,\
	$(1) $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/$(patsubst python%,%,$(1)).*/bin/python),\
	$(if $(shell $(p) -c 'print("runs")' 2>/dev/null),$(p))))
need_python = $(or $(call find_python,$(1)),$(error $(1) does not run here: install it, or name \
	another interpreter, as in: make $(MAKECMDGOALS) $(2)=/path/to/python3))

# $(call pip,venv). The constraints go through the environment because they then hold in isolated
# builds too: no build can fetch another torch. With CUDA_HOME set, fairseq would compile kernels
# whose sources its release leaves out.
pip = env -u CUDA_HOME PIP_CONSTRAINT=constraints.txt $(1)/bin/python -m pip install

# fairseq-fixed names torch as a build requirement, so it is built against the one just installed.
# Upstream fairseq (Python < 3.11) is the opposite: it names none, and where it can see torch it
# compiles sources that its release leaves out, so it must be built in isolation.
isolation = $(shell $(1) -c 'import sys; sys.version_info < (3, 11) or print("--no-build-isolation")')

# $(call install,venv,interpreter,variable that names the interpreter)
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
