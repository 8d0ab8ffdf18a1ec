PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export RPCAG_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo install lint test test-tenth test-quick test-oldest coverage fuzz bench bench-models study docs pictures first-steps package import-time recovery clean

demo: $(VENV)/demo  ## set up, write example files, repair the table
	$(BIN)/rpcag demo --files demo
	$(BIN)/rpcag repair demo/sensors.csv -o demo/repaired.csv --force

test: install lint  ## set up, lint, type-check, run the tests
	$(BIN)/python -m pytest -n 2 --durations=5

test-quick: install  ## the tests that are not slow: two minutes
	$(BIN)/python -m pytest -n 2 -m "not slow"

TENTH := \
	tests/penalties/test_penalties.py \
	tests/linalg/test_linalg.py \
	tests/graphs/test_graphs.py \
	tests/models/test_spectral.py \
	tests/files/test_files_text.py \
	tests/page/test_page.py
test-tenth: install  ## a tenth of the tests, in about ten seconds
	$(BIN)/python -m pytest -q -m "not slow" $(TENTH)

coverage: install  ## lines that no test runs, and their floor; takes 1.4 times as long as test
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n 2
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

FITS ?= 10000
SEED ?= 0
fuzz: install  ## random problems for every model, each answer checked independently
	$(BIN)/python benchmarks/fuzz.py --fits $(FITS) --seed $(SEED)

OLDEST := "numpy==1.26.*" "scipy==1.12.*" "scikit-learn==1.6.*"
test-oldest:  ## the oldest dependencies, and none of the optional ones
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet $(OLDEST) \
		cvxpy pandas pytest pytest-xdist
	$(VENV)-oldest/bin/python -m pip install --quiet --no-deps --editable .
	$(VENV)-oldest/bin/python -m pytest -n 2 \
		-W "ignore::pytest.PytestRemovedIn10Warning" \
		-W "ignore:The default value of raise_error:PendingDeprecationWarning" tests

install: $(VENV)/dev

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

PEERS := tensorly pyrpca skpcp sporco
bench: $(VENV)-bench/peers  ## against other packages; resumes, and makes docs/benchmarks.md
	$(VENV)-bench/bin/python benchmarks/run.py $(SECTIONS)
	$(VENV)-bench/bin/python benchmarks/report.py

bench-models: install  ## every model of the paper's comparison on occluded faces
	$(BIN)/python benchmarks/comparison.py

STUDY := study/results/clustering.jsonl.xz
study: install  ## the paper's evaluation on the real data; resumes, and takes hours
	$(BIN)/rpcag reproduce timing --store $(STUDY)
	$(BIN)/rpcag reproduce components --store $(STUDY)
	$(BIN)/rpcag reproduce graph-quality --store $(STUDY)
	$(BIN)/rpcag reproduce parameters --store $(STUDY)
	$(BIN)/rpcag reproduce as-printed --store $(STUDY)
	$(BIN)/rpcag reproduce clustering --store $(STUDY)
	$(BIN)/rpcag report --store $(STUDY) --page docs/reproduction.md

RECOVERY := study/results/recovery.jsonl.xz
recovery: install  ## phase diagrams, faces, directions, videos; resumes, and makes docs/recovery.md
	$(BIN)/rpcag reproduce phase --size 400 --store $(RECOVERY)
	$(BIN)/rpcag reproduce faces --store $(RECOVERY)
	$(BIN)/rpcag reproduce directions --store $(RECOVERY)
	$(BIN)/rpcag reproduce video --store $(RECOVERY)
	$(BIN)/rpcag report --store $(RECOVERY) --recovery docs/recovery.md

docs: $(VENV)/docs  ## the site, in build/docs; runs the gallery, a warning is an error
	$(BIN)/python docs/make_models_page.py
	$(BIN)/python docs/make_command_page.py
	$(BIN)/python docs/make_map.py
	$(BIN)/python -m sphinx -W --keep-going docs build/docs
	$(BIN)/python docs/check_site.py build/docs
	$(BIN)/python docs/measure_prose.py

pictures: install  ## those of the pages, in docs/images
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/make_readme_pictures.py

first-steps: install  ## a new user's first five minutes, really run
	$(BIN)/python docs/make_first_steps.py

package: install  ## sdist and wheel, tried in a clean environment of every Python here
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m build --outdir dist study
	.ci/package dist

import-time: install  ## import rpcag beside scikit-learn's PCA
	$(BIN)/python benchmarks/import_time.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "rpcag needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/demo: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[cli,plots]"
	@touch $@

$(VENV)/dev: pyproject.toml study/pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[all]" --editable ./study --group dev
	@touch $@ $(VENV)/demo

$(VENV)/docs: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

$(VENV)-bench/peers: pyproject.toml
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet $(PEERS)
	$(VENV)-bench/bin/python -m pip install --quiet --editable ".[plots]" --editable ./study
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-bench build demo dist docs/api docs/gallery .coverage* .mypy_cache .pytest_cache .ruff_cache
