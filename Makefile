# Needs only make, a C compiler and Python 3.11 or later: all else is installed into $(VENV).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
# The first of these that is recent enough; or say `make PYTHON=/path/to/python`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

BIN := $(VENV)/bin
comma := ,
SOURCES := setup.py $(shell find ext -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h')
TYPED := streamnative_serdes tools $(wildcard tests/typing examples benchmarks)
# Stamps: when the environment was installed, and when the modules were compiled.
INSTALLED := $(VENV)/.installed
BUILT := $(VENV)/.built

.PHONY: help install build demo demo-columns demo-real servers test test-integration check lint types imports test-kolkata bench bench-spark bench-scale wheel asan fuzz fuzz-guided mutants format \
	clean distclean sanitized

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The editable install compiles as well; from then on only what changed is compiled again.
$(BUILT): pyproject.toml $(SOURCES)
	@if test pyproject.toml -nt $(INSTALLED); then $(MAKE) --no-print-directory install; \
	else echo "compiling what changed"; $(BIN)/python setup.py --quiet build_ext --inplace; fi
	@touch $@

install:
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or later found; name one: make PYTHON=/path/to/python" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --editable ".[dev,spark,cli]"
	@touch $(INSTALLED)

build: $(BUILT) ## make the virtual environment and the compiled modules

demo: $(BUILT) ## 336,776 flights through Kafka and Spark and back, compared; DEMO_ARGS for options
	$(BIN)/python -m streamnative_serdes demo $(DEMO_ARGS)

demo-columns: $(BUILT) ## the same flights through encode_df and decode_df; DEMO_ARGS for options
	$(BIN)/python -m streamnative_serdes demo --columns $(DEMO_ARGS)

demo-real: $(BUILT) ## the same through a real Kafka and a real Pulsar, started for it
	PYTHONPATH=tests/helpers $(BIN)/python -m servers demo $(DEMO_ARGS)

servers: $(BUILT) ## a real Kafka and a real Pulsar until Ctrl-C or SIGTERM; SERVERS_ARGS: --token, --cluster, --confluent
	PYTHONPATH=tests/helpers $(BIN)/python -m servers up $(SERVERS_ARGS)

test: $(BUILT) ## all tests; PYTEST_ARGS for options
	$(BIN)/pytest $(PYTEST_ARGS)

test-integration: $(BUILT) ## those against real servers alone, none skipped
	SERVERS_REQUIRED=1 $(BIN)/pytest tests/integration tests/interop/test_confluent_scripts.py $(PYTEST_ARGS)

check: lint types imports test test-kolkata ## the whole gate: lint, types, import rules, tests

lint: $(BUILT) ## ruff, cython-lint, and actionlint where it is installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint ext
	@if command -v actionlint >/dev/null; then echo actionlint; actionlint; else echo "skipped: actionlint not found"; fi

# Only what the stubs show is for others: the rest of the compiled modules is their own.
types: $(BUILT) ## mypy --strict, and whether the stubs of compiled modules are true
	$(BIN)/mypy --strict $(TYPED)
	$(BIN)/stubtest --ignore-missing-stub --mypy-config-file pyproject.toml $(addprefix streamnative_serdes.,_arrow _cache _codec _flights _header _serdes)

imports: $(BUILT) ## imports go downwards only
	$(BIN)/lint-imports

# Far from UTC, and not by whole hours: naive local times that slip through show here.
test-kolkata: $(BUILT) ## unit and property tests in another time zone
	TZ=Asia/Kolkata $(BIN)/pytest $(wildcard tests/unit tests/property) $(PYTEST_ARGS)

bench: $(BUILT) ## throughput against confluent-kafka, fastavro and cavro; BENCH_ARGS for options
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

bench-spark: $(BUILT) ## DataFrames to and from messages against what Spark allows; BENCH_ARGS for options
	$(BIN)/python benchmarks/spark.py $(BENCH_ARGS)

bench-scale: $(BUILT) ## 10,000 topics of 20 versions against one topic; BENCH_ARGS for options
	$(BIN)/python benchmarks/scale.py $(BENCH_ARGS)

wheel: $(BUILT) ## sdist and wheel in dist/, checked, installed elsewhere and tested there
	$(BIN)/python tools/check_wheel.py

# With AddressSanitizer and UndefinedBehaviorSanitizer, in a copy of the sources, so that the regular build stays as it
# is. Linux with gcc. Python's own -fwrapv would hide integers that overflow. What asks for gigabytes fails.
ASAN := build/asan
SANITIZERS := $$(gcc -print-file-name=libasan.so) \
	$$(g++ -print-file-name=libstdc++.so 2>/dev/null || gcc -print-file-name=libstdc++.so.6)
WITH_SANITIZERS := LD_PRELOAD="$(SANITIZERS)" PYTHONMALLOC=malloc UBSAN_OPTIONS=print_stacktrace=1 \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096
# $(call sanitized,FOLDER,FLAGS,LINKED)
define sanitized
	mkdir -p $(1)
	tar --exclude='*.so' -cf - setup.py pyproject.toml README.md LICENSE ext streamnative_serdes | tar -xf - -C $(1)
	cd $(1) && CFLAGS="-fno-wrapv $(2)" LDFLAGS="$(3)" STREAMNATIVE_SERDES_ASAN=1 \
		$(abspath $(BIN))/python setup.py --quiet build_ext --inplace
	@for module in _codec _arrow; do grep -q __asan_init $(1)/streamnative_serdes/$$module.*.so; done || { echo "not built with AddressSanitizer" >&2; exit 1; }
endef

sanitized: $(BUILT)
	$(call sanitized,$(ASAN))

# Not those against Java: a virtual machine is no place for sanitizers.
asan: sanitized ## tests of the codec and 200,000 mutants under AddressSanitizer and UndefinedBehaviorSanitizer
	PYTHONPATH=$(abspath $(ASAN)) $(WITH_SANITIZERS) $(BIN)/python tests/fuzz/mutate.py
	PYTHONPATH=$(abspath $(ASAN)) $(WITH_SANITIZERS) $(BIN)/pytest \
		$(wildcard tests/unit tests/property $(addprefix tests/adversity/test_,codec_hostile_*.py codec_threads.py arrow_*.py)) \
		--ignore-glob='*_against_java.py' $(PYTEST_ARGS)

fuzz: sanitized ## mutation fuzz alone: FUZZ_ARGS="--mutants 5000000 --seed 1" before a release
	PYTHONPATH=$(abspath $(ASAN)) $(WITH_SANITIZERS) $(BIN)/python tests/fuzz/mutate.py $(FUZZ_ARGS)

mutants: $(BUILT) ## small faults in the code, which the tests must notice; MUTANTS=20 at random, MUTANTS_ARGS for options
	$(BIN)/python tests/mutants/campaign.py $(if $(MUTANTS),--some $(MUTANTS)) $(MUTANTS_ARGS)

# libFuzzer is inside of atheris, which has no use but this one.
GUIDED := build/guided
GUIDED_ARGS ?= -max_total_time=600
fuzz-guided: $(BUILT) ## coverage-guided fuzz by libFuzzer, for ten minutes; GUIDED_ARGS for options
	mkdir -p $(GUIDED)/corpus
	test -d $(GUIDED)/atheris || $(BIN)/python -m pip install --quiet --target $(GUIDED)/atheris 'atheris>=3,<4'
	gcc -O2 -fPIC -c tests/fuzz/coverage.c -o $(GUIDED)/coverage.o
	$(call sanitized,$(GUIDED),-fsanitize-coverage=trace-pc$(comma)trace-cmp,$(abspath $(GUIDED))/coverage.o)
	ATHERIS_CORE=$$(ls $(abspath $(GUIDED))/atheris/atheris/core_with_libfuzzer*.so) \
		PYTHONPATH=$(abspath $(GUIDED)):$(abspath $(GUIDED))/atheris $(WITH_SANITIZERS) \
		$(BIN)/python tests/fuzz/guided.py $(GUIDED)/corpus -artifact_prefix=$(GUIDED)/ $(GUIDED_ARGS)

format: $(BUILT) ## rewrite the Python files as `make check` wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove what was built; the virtual environment stays
	rm -rf build dist .tox .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info $(BUILT)
	find ext streamnative_serdes tests benchmarks examples tools -name __pycache__ -prune -exec rm -rf {} +
	find streamnative_serdes \( -name '*.so' -o -name '*.pyd' \) -delete

distclean: clean ## remove the virtual environment as well
	rm -rf $(VENV)
