# Requires make, a C compiler and Python 3.11 or later. Everything else is installed into $(VENV).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
# The first of these that is recent enough. To choose another: `make PYTHON=/path/to/python`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

BIN := $(VENV)/bin
comma := ,
SOURCES := setup.py $(shell find ext -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h')
TYPED := streamnative_serdes tools $(wildcard tests/typing examples benchmarks)
# Stamp files: for the environment of developers, for the compiled modules, and for the environment of the demo.
INSTALLED := $(VENV)/.installed
BUILT := $(VENV)/.built
DEMO := $(VENV)/.demo

# All targets that are words: none is a file.
.PHONY: $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The editable install also compiles. After that, only changed modules are recompiled.
$(BUILT): pyproject.toml $(SOURCES)
	@if test pyproject.toml -nt $(INSTALLED); then $(MAKE) --no-print-directory install; \
	else echo "compiling changed modules"; $(BIN)/python setup.py --quiet build_ext --inplace; fi
	@touch $@

# By a .pth file: Spark looks for data sources with pkgutil, which does not see what the hooks of editable installs add.
EDITABLE := --config-settings editable_mode=compat --editable

# Versions that have passed all tests: `make lock` writes the file, and CONSTRAINTS= installs the newest of all.
CONSTRAINTS ?= constraints.txt
# Python compiles each module at its first import; pip would compile all of them, and most are never imported.
PIP_INSTALL = -m pip install --quiet --no-compile $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))

# $(call install,GROUP): the package, its extras that Spark and the command line need, and a group of pyproject.toml
define install
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or later found; name one: make PYTHON=/path/to/python" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python $(PIP_INSTALL) $(EDITABLE) ".[spark,cli]" --group $(1)
endef

install:
	$(call install,dev)
	@touch $(INSTALLED)

install-demo:
	$(call install,demo)

lock: $(BUILT) ## write constraints.txt: the versions that are installed here, which all others then get
	$(BIN)/python -m pip freeze --exclude-editable --exclude pip --exclude setuptools > constraints.txt

# The demo needs only some of the developers' packages. If all of them are installed, they are kept up to date.
$(DEMO): pyproject.toml $(SOURCES)
	@if test -e $(INSTALLED); then $(MAKE) --no-print-directory build; else $(MAKE) --no-print-directory install-demo; fi
	@touch $@

build: $(BUILT) ## create the virtual environment and compile the modules

demo: $(DEMO) ## send 336,776 flights through Spark and Kafka, read them back and compare; DEMO_ARGS for options
	PYTHONPATH=examples $(BIN)/python -m demo $(DEMO_ARGS)

demo-columns: $(DEMO) ## the demo with encode_df and decode_df; DEMO_ARGS for options
	PYTHONPATH=examples $(BIN)/python -m demo --columns $(DEMO_ARGS)

demo-real: $(BUILT) ## the demo with a real Kafka and a real Pulsar, which it starts; DEMO_ARGS for options
	PYTHONPATH=tests/servers:examples $(BIN)/python -m servers demo $(DEMO_ARGS)

servers: $(BUILT) ## run a real Kafka and a real Pulsar until Ctrl-C or SIGTERM; SERVERS_ARGS: --token, --cluster, --confluent, --pulsar
	PYTHONPATH=tests/servers $(BIN)/python -m servers up $(SERVERS_ARGS)

# A room's tests stand in folders with its name, and these in folders of others.
ALSO_OF_cli := tests/integration/kop/test_kop_ping.py
ALSO_OF_codec := tests/fuzz
ALSO_OF_formats := tests/integration/kop/test_kop_formats.py
ALSO_OF_integrations := tests/integration/kop/test_kop_sign_in.py
ALSO_OF_migration := tests/integration/kop/test_kop_keys.py tests/integration/kop/test_kop_migration.py
ALSO_OF_models := tests/typed
ALSO_OF_spark := tests/spark tests/integration/kop/test_kop_spark.py
ALSO_OF_testing := tests/integration/contract
ROOMS = $(sort $(notdir $(patsubst %/,%,$(wildcard $(addsuffix /[a-z]*/,$(addprefix tests/,unit adversity property docs interop))))))
OF_ROOM = $(if $(filter $(ROOM),$(ROOMS)),$(wildcard tests/*/$(ROOM)) $(ALSO_OF_$(ROOM)),\
	$(error no tests for a room "$(ROOM)"; the rooms: $(ROOMS)))

# In five groups beside each other: with real servers, migration with them, a real KoP, Spark, and all others.
test: $(BUILT) ## run all tests, in five groups at once; ROOM=migration: of one room; PYTEST_ARGS="FILE ...": these
ifeq ($(ROOM)$(PYTEST_ARGS),)
	@echo "five groups of tests run at once; the output of each comes at its end"
	@$(MAKE) --no-print-directory --jobs=5 --output-sync=target --keep-going \
		test-servers test-migration test-kop test-spark test-others
else
	$(BIN)/pytest $(if $(ROOM),$(OF_ROOM)) $(PYTEST_ARGS)
endif

PYTEST := $(BIN)/pytest --durations=20
ON_SERVERS := tests/integration tests/interop/compat/test_confluent_scripts.py
# Migration's take half of the time of all, most of it waiting for rebalances, transactions and servers that were killed:
# beside the others, with a Kafka and a Pulsar of their own, they end at about the same time.
MIGRATION := tests/integration/migration
MIGRATION_WITH_SPARK := $(MIGRATION)/test_migrate_with_spark.py
test-servers: $(BUILT)
	$(PYTEST) $(ON_SERVERS) $(addprefix --ignore=,tests/integration/kop $(MIGRATION))

test-migration: $(BUILT)
	$(PYTEST) $(MIGRATION) --ignore=$(MIGRATION_WITH_SPARK)

downloads: $(BUILT) ## download the servers and Java's libraries for tests (about 800 MB, once)
	PYTHONPATH=tests/servers $(BIN)/python -m servers download

test-kop: $(BUILT)
	$(PYTEST) tests/integration/kop

# Tests that use the shared Spark session, so that one run starts it; migration's too, since migration takes longer.
SPARK_PAGES := tests/docs/package/test_every_block.py::test_the_pages_on_connect_and_spark
ON_SPARK := tests/spark tests/docs/spark
test-spark: $(BUILT)
	$(PYTEST) $(ON_SPARK) $(SPARK_PAGES) $(MIGRATION_WITH_SPARK)

# Kolkata is far from UTC, and not by whole hours, so naive local times become visible. With a part of the examples of
# each property: test-long has them all, and ten times as many. Java and hypothesis are most of what an example takes.
EXAMPLES ?= 0.3
test-others: $(BUILT)
	TZ=Asia/Kolkata SERDES_EXAMPLES=$(EXAMPLES) \
		$(PYTEST) tests --ignore=tests/site $(addprefix --ignore=,$(ON_SPARK) $(ON_SERVERS)) --deselect=$(SPARK_PAGES)

test-long: asan ## run what takes hours: kill loops, long outages, ten times the examples, a million mutants; before a release
	SERVERS_REQUIRED=1 $(PYTEST) -m long tests
	SERDES_EXAMPLES=10 HYPOTHESIS_PROFILE=dev $(PYTEST) tests/property tests/integration/contract
	$(MAKE) --no-print-directory fuzz FUZZ_ARGS="--mutants 1000000 --seed $$RANDOM"

# Without a GIL, and without what has no wheels there. The modules are built in a copy, so the regular build is not
# touched. PYTHON_GIL=0, since clients of Kafka may switch it on; test_free_threaded.py looks without that.
FREE := build/free-threaded
PYTHON_FREE ?= python3.14t
FREE_TESTS ?= $(addprefix tests/unit/,$(OF_COMPILED)) tests/unit/package/test_free_threaded.py \
	$(wildcard $(addprefix tests/property/,codec serdes) $(addprefix tests/adversity/,codec serdes)) tests/race
test-free-threaded: ## run what is compiled on a free-threaded Python; PYTHON_FREE=python3.14t, FREE_TESTS
	mkdir -p $(FREE)
	test -x $(FREE)/venv/bin/python || $(PYTHON_FREE) -m venv $(FREE)/venv
	$(FREE)/venv/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(FREE)/venv/bin/python -m pip install --quiet --group free-threaded
	tar --exclude='*.so' -cf - setup.py pyproject.toml README.md LICENSE ext streamnative_serdes | tar -xf - -C $(FREE)
	cd $(FREE) && venv/bin/python setup.py --quiet build_ext --inplace
	PYTHON_GIL=0 PYTHONPATH=$(abspath $(FREE)) $(FREE)/venv/bin/pytest $(FREE_TESTS) $(PYTEST_ARGS)

bench-threads: ## compare two threads with one on a free-threaded Python, after test-free-threaded; BENCH_ARGS for options
	PYTHON_GIL=0 PYTHONPATH=$(abspath $(FREE)) $(FREE)/venv/bin/python benchmarks/threads.py $(BENCH_ARGS)

test-integration: $(BUILT) ## run only the tests against real servers, and skip none of them
	SERVERS_REQUIRED=1 $(BIN)/pytest $(ON_SERVERS) $(PYTEST_ARGS)

# On a free-threaded interpreter, set PYTHON_GIL=0: other packages may switch the GIL on.
RACE_SECONDS ?= 60
race: $(BUILT) ## let 16 threads do everything at once with one serializer and one deserializer, for RACE_SECONDS (60)
	RACE_SECONDS=$(RACE_SECONDS) $(BIN)/pytest -s tests/race $(PYTEST_ARGS)

race-free-threaded: ## the same without a GIL, and with a race in compiled code; see test-free-threaded
	RACE_SECONDS=$(RACE_SECONDS) $(MAKE) --no-print-directory test-free-threaded FREE_TESTS="-s tests/race"

# TSAN_PYTHON was built with --disable-gil --with-thread-sanitizer; it uses the packages of the ordinary free-threaded
# Python of the same version, which test-free-threaded installs. Addresses must not be random (setarch -R).
TSAN := build/tsan
TSAN_PYTHON ?= python3.14t-tsan
race-tsan: ## the race under ThreadSanitizer, after test-free-threaded; TSAN_PYTHON=python built with it, RACE_SECONDS
	mkdir -p $(TSAN)
	tar --exclude='*.so' -cf - setup.py pyproject.toml README.md LICENSE ext streamnative_serdes | tar -xf - -C $(TSAN)
	cd $(TSAN) && STREAMNATIVE_SERDES_TSAN=1 $(abspath $(FREE))/venv/bin/python setup.py --quiet build_ext --inplace
	PYTHONPATH=$(abspath $(TSAN)):$$($(FREE)/venv/bin/python -c 'import site; print(site.getsitepackages()[0])') \
		PYTHONSAFEPATH=1 PYTHON_GIL=0 OPENBLAS_NUM_THREADS=1 RACE_SECONDS=$(RACE_SECONDS) RACE_STALE_SECONDS=300 \
		TSAN_OPTIONS="suppressions=$(abspath tests/race/tsan.supp) history_size=5 report_signal_unsafe=0" \
		setarch -R $(TSAN_PYTHON) -m pytest -p no:cacheprovider -s tests/race/test_race.py tests/race/test_shared_structures.py \
		-k "not found" $(PYTEST_ARGS)

check: lint types imports test ## run all checks: lint, types, import rules, tests

lint: $(BUILT) ## run ruff, cython-lint, the linters in tools/, and actionlint if it is installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint ext
	$(BIN)/python tools/check_sources.py
	$(BIN)/python tools/phrases.py
	$(BIN)/python tools/api_page.py --check
	$(BIN)/python tools/pictures.py --check
	$(BIN)/python tools/promises.py --check
	$(BIN)/python tools/private_members.py
	@if command -v actionlint >/dev/null; then echo actionlint; actionlint; else echo "skipped: actionlint not found"; fi

# Only names in the stubs are for other modules. All other names in the compiled modules are internal.
types: $(BUILT) ## run mypy --strict, and check the stubs of compiled modules
	$(BIN)/mypy --strict $(TYPED)
	$(BIN)/stubtest --ignore-missing-stub --mypy-config-file pyproject.toml $(addprefix streamnative_serdes.,_arrow _cache _codec _flights _header _records _serdes)

imports: $(BUILT) ## check that imports go downwards only
	$(BIN)/lint-imports

bench: $(BUILT) ## compare throughput with confluent-kafka, fastavro and cavro; BENCH_ARGS for options
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

bench-spark: $(BUILT) ## compare DataFrames to and from messages with what Spark allows; BENCH_ARGS for options
	$(BIN)/python benchmarks/spark.py $(BENCH_ARGS)

bench-migration: $(BUILT) ## compare `migrate topic` with a loop that consumes and produces; BENCH_ARGS for options
	$(BIN)/python benchmarks/migration.py $(BENCH_ARGS)

bench-consuming: $(BUILT) ## compare Kafka to polars frames with other ways, on a real Kafka; BENCH_ARGS for options
	$(BIN)/python benchmarks/consuming.py $(BENCH_ARGS)

bench-scale: $(BUILT) ## compare 10,000 topics of 20 versions with one topic; BENCH_ARGS for options
	$(BIN)/python benchmarks/scale.py $(BENCH_ARGS)

bench-key-value: $(BUILT) ## compare KEY_VALUE messages with key and value on two AVRO topics; BENCH_ARGS for options
	$(BIN)/python benchmarks/pairs.py $(BENCH_ARGS)

bench-entries: $(BUILT) ## compare records of Kafka's batches to messages and columns with aiokafka's parser; BENCH_ARGS for options
	$(BIN)/python benchmarks/entries.py $(BENCH_ARGS)

# Beside this checkout, BASE is built with the same packages. RECORD=FILE notes the ratios, and does not fail.
BASE ?= HEAD~1
instructions: $(BUILT) ## count instructions per message here and at the commit BASE; needs valgrind; fails over 0.5 % more
	rm -rf build/base && git worktree prune && git worktree add --force --detach build/base $(BASE)
	cd build/base && $(abspath $(BIN))/python setup.py --quiet build_ext --inplace
	$(BIN)/python benchmarks/instructions.py build/base . $(if $(RECORD),--record $(RECORD),--check 0.5)
	git worktree remove --force build/base

# cargo is neither installed nor looked for by anything else; it builds benchmarks/arrow_avro into build/arrow_avro.
bench-rust: $(BUILT) ## compare Arrow columns with Rust's arrow-avro; needs cargo; BENCH_ARGS for options
	$(BIN)/python benchmarks/arrow_avro.py $(BENCH_ARGS)

wheel: $(BUILT) ## build sdist and wheel in dist/, check them, install the wheel elsewhere and test it there
	$(BIN)/python tools/check_wheel.py $(WHEEL_ARGS)

release-check: WHEEL_ARGS := --all
release-check: wheel ## do all of a release that needs no account, and say what is left to a person
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/release_check.py

# Builds with AddressSanitizer and UndefinedBehaviorSanitizer in a copy of the sources, so the regular build is not
# touched. Requires Linux and gcc. -fno-wrapv, because Python's own -fwrapv would hide integer overflows.
# Allocations of more than 4 GB fail.
ASAN := build/asan
SANITIZERS := $$(gcc -print-file-name=libasan.so) \
	$$(g++ -print-file-name=libstdc++.so 2>/dev/null || gcc -print-file-name=libstdc++.so.6)
WITH_SANITIZERS := LD_PRELOAD="$(SANITIZERS)" PYTHONMALLOC=malloc UBSAN_OPTIONS=print_stacktrace=1 \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096
# What Cython wrote for the regular build, which is up to date by then.
C_CODE := build/cython-release
# $(call sanitized,PYTHON,FOLDER,FLAGS,LINKED)
define sanitized
	mkdir -p $(2)
	tar --exclude='*.so' -cf - setup.py pyproject.toml README.md LICENSE ext streamnative_serdes $$(ls -d $(C_CODE)) | \
		tar -xf - -C $(2)
	find $(2)/$(C_CODE) -name '*.c' -exec touch {} + # it is newer than the environment, whose Cython has files of its own
	cd $(2) && CFLAGS="-fno-wrapv $(3)" LDFLAGS="$(4)" STREAMNATIVE_SERDES_ASAN=1 \
		$(abspath $(1)) setup.py --quiet build_ext --inplace
	@for module in _codec _arrow _records; do grep -q __asan_init $(2)/streamnative_serdes/$$module.*.so; done || { echo "not built with AddressSanitizer" >&2; exit 1; }
endef

# On the newest Python here: memory, cycles, interrupts and the C API differ from Python to Python, so one run proves
# both. Without pyspark, which none of this needs.
NEWEST := $(VENV)-newest
NEEDED = $(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*p["dependencies"], *p["optional-dependencies"]["arrow"], *p["optional-dependencies"]["cli"], sep="\n")'
$(NEWEST)/.installed: pyproject.toml $(BUILT)
	test -x $(NEWEST)/bin/python || $$($(BIN)/python tools/newest_python.py) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(NEEDED) > $(NEWEST)/needed.txt
	$(NEWEST)/bin/python $(PIP_INSTALL) --requirement $(NEWEST)/needed.txt --group dev "pandas>=2.2,<3" "cryptography>=42"
	@touch $@

sanitized: $(NEWEST)/.installed
	$(call sanitized,$(NEWEST)/bin/python,$(ASAN))

# Without the tests against Java: sanitizers do not work inside a Java virtual machine. JSON, primitives and protobuf are
# read in Python; the compiled part of KEY_VALUE, the split by lengths, is in the mutants (tests/fuzz) too.
OF_COMPILED := arrow codec converters serdes
UNDER_SANITIZERS := $(addprefix tests/unit/,$(OF_COMPILED)) $(addprefix tests/property/,$(OF_COMPILED)) \
	$(addprefix tests/adversity/,$(OF_COMPILED))
asan: sanitized ## on the newest Python here, run the tests of what is compiled, and 200,000 mutants, under AddressSanitizer and UndefinedBehaviorSanitizer
	PYTHONPATH=$(abspath $(ASAN)) $(WITH_SANITIZERS) $(NEWEST)/bin/python tests/fuzz/mutate.py $(FUZZ_ARGS)
	PYTHONPATH=$(abspath $(ASAN)) $(WITH_SANITIZERS) \
		$(NEWEST)/bin/pytest $(wildcard $(UNDER_SANITIZERS)) --ignore-glob='*_against_java.py' --durations=20 $(PYTEST_ARGS)

fuzz: sanitized ## run only the mutation fuzzer; before a release: FUZZ_ARGS="--mutants 5000000 --seed 1"
	PYTHONPATH=$(abspath $(ASAN)) $(WITH_SANITIZERS) $(NEWEST)/bin/python tests/fuzz/mutate.py $(FUZZ_ARGS)

mutants: $(BUILT) ## put small faults into the code and check that tests fail; MUTANTS=20 at random, MUTANTS_ARGS for options
	$(BIN)/python tests/mutants/campaign.py $(if $(MUTANTS),--some $(MUTANTS)) $(MUTANTS_ARGS)

# atheris is only installed here, because it contains libFuzzer.
GUIDED := build/guided
GUIDED_ARGS ?= -max_total_time=600
fuzz-guided: $(BUILT) ## run libFuzzer, guided by coverage, for ten minutes; GUIDED_ARGS for options
	mkdir -p $(GUIDED)/corpus
	test -d $(GUIDED)/atheris || $(BIN)/python -m pip install --quiet --target $(GUIDED)/atheris 'atheris>=3,<4'
	gcc -O2 -fPIC -c tests/fuzz/coverage.c -o $(GUIDED)/coverage.o
	$(call sanitized,$(BIN)/python,$(GUIDED),-fsanitize-coverage=trace-pc$(comma)trace-cmp,$(abspath $(GUIDED))/coverage.o)
	ATHERIS_CORE=$$(ls $(abspath $(GUIDED))/atheris/atheris/core_with_libfuzzer*.so) \
		PYTHONPATH=$(abspath $(GUIDED)):$(abspath $(GUIDED))/atheris $(WITH_SANITIZERS) \
		$(BIN)/python tests/fuzz/guided.py $(GUIDED)/corpus -artifact_prefix=$(GUIDED)/ $(GUIDED_ARGS)

format: $(BUILT) ## format the Python files as `make check` requires
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Sphinx reads docstrings and stubs without importing them. The browser is Debian's.
SITE := build/site
site: $(BUILT) ## build the site of the documentation in build/site, and look at it with a headless browser
	$(BIN)/python $(PIP_INSTALL) --group site
	rm -rf $(SITE)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --jobs auto --fresh-env -d build/site-cache docs $(SITE)
	@command -v chromium-headless-shell >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null; } \
		|| echo "no browser: the tests that need one are skipped"
	$(BIN)/pytest tests/site

docs-api: $(BUILT) ## write docs/api.md, the page of all public names
	$(BIN)/python tools/api_page.py

clean: ## remove build results, but keep the virtual environment
	rm -rf build dist .tox .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info $(BUILT) $(DEMO)
	find ext streamnative_serdes tests benchmarks examples tools -name __pycache__ -prune -exec rm -rf {} +
	find streamnative_serdes \( -name '*.so' -o -name '*.pyd' \) -delete

distclean: clean ## also remove the virtual environment
	rm -rf $(VENV) $(NEWEST)
