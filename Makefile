# Every target creates .venv if it is missing; no other preparation is needed.
PYTHON ?= python3
BIN := .venv/bin
# make test WORKERS=2: processes that run tests
WORKERS ?= 4
# make conformance FILES="tests/conformance/cases/core-*.xz" VERSION=2.2 MORE="--every 10"; without FILES: all packed recordings
FILES ?=
VERSION ?= 2.4
# Recordings for upgrade-check; without them: the packed ones about access control, virtual hosts, .htaccess files and rewriting
UPGRADES ?=
MORE ?=
DIALECT = $(if $(filter 2.2,$(VERSION)), --dialect 2.2,)
# make fuzz TIME=600 ONLY="head http2": seconds of each target, and their names (all without it)
TIME ?= 60
ONLY ?=
# make hostile HOSTILE="--scale 0.1 mutated-requests"; `--list` names the measures
HOSTILE ?=
# make faults FAULTS="--only slow-disk full-disk/proxy --seconds 1"; `--list` names the faults
FAULTS ?=
# make upgrade-access ACCESS="--sections 400 --seed 7"
ACCESS ?=
# make crawl CRAWL="--only cgit --limit 60 --details crawl.jsonl"; `--list` names the applications
CRAWL ?=
# make differential DIFFERENTIAL="--seconds 300 --seed 7 --details differences.jsonl"
DIFFERENTIAL ?=
# make specialized SPECIALIZED="--seconds 300 --first 7 --details differences.txt"
SPECIALIZED ?=
# make starts STARTS="--count 500 --seed 7"
STARTS ?=
# make bench BENCH="--seconds 10 --rounds 5 --cases 1k,404"
BENCH ?=
# make soak HOURS=2 SOAK="--seed 7 --json FILE --document docs/reliability.md"; make races RACES="--seed 7"
HOURS ?= 1
SOAK ?=
RACES ?=
# make nightly TIME=60 NIGHTLY="--seed 7 --only soak races --markdown FILE --html FILE": minutes of all parts
NIGHTLY ?=
# make verify VERIFY="--count 200 --seed 7 --mirror"
VERIFY ?=
# make fleet FLEET="--count 100 --files 20 --jobs 4"
FLEET ?=
# make verify-upgraded UPGRADED="--count 500 --seed 7 --between --details trials.jsonl"
UPGRADED ?=
# make verify-live LIVE="--count 500 --seed 7 --details trials.jsonl"
LIVE ?=
# make mutants COUNT=300 SEED=7 MUTANTS="--only src/whimbrel/verify --details mutants.jsonl"
# make mutants MUTANTS="--near --tests tests/unit": without notes; "--again mutants.jsonl": the survivors, with all tests
COUNT ?= 60
SEED ?= 0
MUTANTS ?=
# make logs LEVEL=trace4: access and error lines beside apache2's (docs/logs.md)
LEVEL ?= trace1

# modules that were not compiled cost each started program a second
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help serve test static check conformance upgrade-check upgrade-access starts bench hostile faults logs crawl \
	differential specialized explained fuzz soak races nightly verify verify-live verify-upgraded fleet mutants grammar lock coverage audit dist \
	sbom docs manual packages \
	clean

help:
	@echo "make serve        serve a copy of the example site on port 8080"
	@echo "make test         run all tests; list what is skipped, with the reason"
	@echo "make static       ruff, its format, mypy --strict, import layers"
	@echo "make check        the same and the repository's own rules (tests/meta, a part of make test)"
	@echo "make conformance  send every recorded request (FILES=..., VERSION=2.4 or 2.2, MORE=...)"
	@echo "make upgrade-check  upgrade every recorded 2.2 configuration, compare on a real apache2 (UPGRADES=..., MORE=...)"
	@echo "make upgrade-access  upgrade random conditional sections, compare both texts on apache2 (ACCESS=...)"
	@echo "make verify       find 200 mutations of upgraded recorded configurations (VERIFY=...)"
	@echo "make verify-upgraded  find mistakes in the files of upgraded servers (UPGRADED=...)"
	@echo "make verify-live  find mistakes of 120 kinds that a live apache2 shows (LIVE=...)"
	@echo "make mutants      change 60 places of src; list what no test notices (COUNT=, SEED=, MUTANTS=...)"
	@echo "make fleet        check 1,000 generated servers, some equal, some broken (FLEET=...)"
	@echo "make starts       check, start and stop 200 random configurations beside apache2 (STARTS=...)"
	@echo "make bench        requests per CPU second beside apache2 and nginx (BENCH=...)"
	@echo "make hostile      reliability under hostile traffic (HOSTILE=...; figures: docs/reliability.md)"
	@echo "make faults       faults of machine, disk, processes and back ends under load (FAULTS=...; docs/reliability.md)"
	@echo "make soak         an hour of mixed load; memory, objects, descriptors, log lines (HOURS=..., SOAK=...)"
	@echo "make races        100 graceful restarts under load, on one server and on two (RACES=...)"
	@echo "make nightly      all long tests in TIME=minutes, one page at the end (NIGHTLY=...)"
	@echo "make fuzz         parsers under coverage-guided fuzzing, a minute each (TIME=seconds, ONLY=names)"
	@echo "make logs         compare access and error lines with apache2 (LEVEL=...; differences: docs/logs.md)"
	@echo "make crawl        packaged applications of Debian beside apache2 (CRAWL=...)"
	@echo "make differential random configurations of all modules beside apache2, 30 minutes (DIFFERENTIAL=...)"
	@echo "make specialized  random sites with and without specialized answers, 30 minutes (SPECIALIZED=...)"
	@echo "make explained    explain every recorded request; the status must be the served one"
	@echo "make grammar      write the grammar of editors/vscode from the catalogue"
	@echo "make coverage     the lines that tests/unit runs; fails below the floor of pyproject.toml"
	@echo "make audit        known vulnerabilities of the pinned packages"
	@echo "make dist         wheel and sdist into dist/, equal to the byte for one commit"
	@echo "make sbom         the bill of materials of a release (CycloneDX) into build/whimbrel.cdx.json"
	@echo "make docs         the documentation site into build/site; a broken link fails"
	@echo "make manual       manual pages and completions of bash, zsh and fish into build/share"
	@echo "make packages     .deb and .rpm into dist/, with nfpm"
	@echo "make lock         rewrite the lock files from pyproject.toml"

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Requirements of the program, and those of its tests beyond them: one stamp for each.
.venv/run.stamp: requirements.lock pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# python-ldap is built from source, with a C compiler and the headers of libldap and libsasl2; without it tests are skipped
.venv/dev.stamp: requirements-dev.lock requirements-ldap.lock .venv/run.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-ldap.lock >/dev/null 2>&1 \
		|| echo "python-ldap cannot be built here: the tests of mod_ldap are skipped"
	@touch $@

.venv/docs.stamp: requirements-docs.lock .venv/run.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@touch $@

# atheris has wheels for Linux alone; without it seeds are changed at random
.venv/fuzz.stamp: requirements-fuzz.lock .venv/dev.stamp
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-fuzz.lock >/dev/null 2>&1 \
		|| echo "atheris cannot be installed here: seeds are changed without regard to coverage"
	@touch $@

serve: .venv/run.stamp
	@tools/serve-example

# Modules and the assertions of tests are compiled before the first run, in two processes, in place of once by each worker
.venv/tests.stamp: .venv/dev.stamp
	@$(BIN)/python -m compileall -q -j 2 src
	@$(BIN)/python -m pytest tests/unit --collect-only -q >/dev/null & \
		$(BIN)/python -m pytest tests --ignore tests/unit --collect-only -q >/dev/null; wait
	@touch $@

# Workers wait for servers and clocks for a part of their time, so there are more of them than processors; the unit tests, which do
# not wait, use what they leave.  A file has one worker: its servers start once.
test: .venv/tests.stamp
	$(BIN)/python -m tests.run_all --beside tests/unit tests -n $(WORKERS) --dist loadfile --no-loadscope-reorder -q --durations 25

static: .venv/dev.stamp
	$(BIN)/ruff check src tests bench tools
	$(BIN)/ruff format --quiet --check src tests bench tools
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

check: static
	$(BIN)/python -m pytest tests/meta -q

conformance: .venv/run.stamp
	$(BIN)/python -m tests.conformance.run --program "$(BIN)/whimbrel-httpd --builtin debian$(DIALECT)" --utilities "$(BIN)/whimbrel {}$(DIALECT)" \
		--version $(VERSION) --except tests/conformance/EXCEPTIONS.tsv $(MORE) $(FILES)

upgrade-check: .venv/run.stamp
	$(BIN)/python -m tests.conformance.upgrade_run --upgrade "$(BIN)/whimbrel upgrade --write" --floor 99.5 \
		--except tests/upgrade/EXCEPT.tsv $(MORE) $(UPGRADES)
	$(BIN)/python -m tests.upgrade.marks $(MORE) $(UPGRADES)

upgrade-access: .venv/dev.stamp
	$(BIN)/python -m tests.upgrade.conditional_access $(ACCESS)
	$(BIN)/python -m tests.upgrade.nested_sections

starts: .venv/dev.stamp
	$(BIN)/python -m tests.differential.start_runs $(STARTS)

bench: .venv/run.stamp
	$(BIN)/python -m bench.run $(BENCH)

hostile: .venv/dev.stamp
	$(BIN)/python -m tests.hostile.run $(HOSTILE)

faults: .venv/dev.stamp
	$(BIN)/python -m tests.faults.run $(FAULTS)

logs: .venv/dev.stamp
	WHIMBREL_LOG_LEVEL=$(LEVEL) $(BIN)/python -m pytest tests/differential/test_log_lines.py -q

crawl: .venv/dev.stamp
	$(BIN)/python -m tests.crawl.run $(CRAWL)

differential: .venv/dev.stamp
	$(BIN)/python -m tests.differential.random_run $(DIFFERENTIAL)

specialized: .venv/dev.stamp
	$(BIN)/python -m tests.differential.specialized_run $(SPECIALIZED)

explained: .venv/run.stamp
	$(BIN)/python -m tests.conformance.explained $(MORE)
	$(BIN)/python -m tests.conformance.explained_lines

fuzz: .venv/fuzz.stamp
	$(BIN)/python -m tests.fuzz.run --seconds $(TIME) $(ONLY)

soak: .venv/dev.stamp
	$(BIN)/python -m tests.hostile.run soak --scale $(HOURS) $(SOAK)

races: .venv/dev.stamp
	$(BIN)/python -m tests.hostile.run races races-shared $(RACES)

nightly: .venv/fuzz.stamp
	$(BIN)/python -m tests.nightly.run --minutes $(TIME) $(NIGHTLY)

verify: .venv/dev.stamp
	$(BIN)/python -m tests.verify.run $(VERIFY)

fleet: .venv/dev.stamp
	$(BIN)/python -m tests.performance.fleet_run $(FLEET)

mutants: .venv/fuzz.stamp
	$(BIN)/python -m tests.mutants.run --count $(COUNT) --seed $(SEED) $(MUTANTS)

verify-upgraded: .venv/dev.stamp
	$(BIN)/python -m tests.verify.upgraded_run $(UPGRADED)

verify-live: .venv/dev.stamp
	$(BIN)/python -m tests.verify.live_run $(LIVE)

grammar: .venv/run.stamp
	$(BIN)/python -m tools.make_grammar

dist manual packages: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

coverage: .venv/dev.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage
	$(BIN)/python -m coverage run -m pytest tests/unit -q
	$(BIN)/python -m coverage report

audit: .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	for lock in requirements requirements-dev requirements-docs requirements-fuzz requirements-ldap; do \
		$(BIN)/python -m pip_audit --require-hashes --disable-pip -r $$lock.lock || exit 1; done

dist: .venv/run.stamp
	$(BIN)/python -m hatchling build -d dist

# What a release is made of: the packages of an environment that has only the program, as CycloneDX 1.6
sbom: .venv/run.stamp
	rm -rf build/sbom && $(PYTHON) -m venv build/sbom/program && $(PYTHON) -m venv build/sbom/tool
	build/sbom/program/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	build/sbom/program/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation .
	build/sbom/tool/bin/python -m pip install --quiet --disable-pip-version-check cyclonedx-bom
	build/sbom/tool/bin/cyclonedx-py environment build/sbom/program --pyproject pyproject.toml --output-reproducible \
		--output-format JSON --output-file build/sbom/environment.json
	tools/release materials build/sbom/environment.json > build/whimbrel.cdx.json

docs: .venv/docs.stamp
	$(BIN)/python -m tools.documentation build/docs
	$(BIN)/zensical build --clean --strict
	$(BIN)/python -m tools.documentation.check_site build/site

manual: .venv/run.stamp
	$(BIN)/python -m tools.package_files build/share

packages: .venv/run.stamp
	tools/package_root

lock: .venv/bin/python
	tools/lock

clean:
	rm -rf .venv .venv-bench build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
