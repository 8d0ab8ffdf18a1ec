"""What is shipped, what is imported, and what is told of it."""

import ast
import importlib.util
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import rpcag

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rpcag"
MEBIBYTE = 2**20


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- archives --------------------------------------------------------------------------


def build(target: str, folder: Path, source: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The sdist, and the wheel that is built from it, not from here."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("needs hatchling, which builds the archives")
    folder = tmp_path_factory.mktemp("dist")
    sdist = build("sdist", folder / "sdist", ROOT)
    with tarfile.open(sdist) as file:
        file.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return sdist, build("wheel", folder / "wheel", source)


def shipped_files():
    kept = (path for path in SOURCE.rglob("*") if path.is_file())
    return {
        path.relative_to(SOURCE.parent).as_posix()
        for path in kept
        if "__pycache__" not in path.parts
    }


def test_the_wheel_is_the_package_and_nothing_else(archives):
    with zipfile.ZipFile(archives[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == shipped_files()
    assert "rpcag/py.typed" in names
    assert not any("study" in name for name in names)
    assert archives[1].stat().st_size < MEBIBYTE


def test_no_data_and_no_pictures_are_in_the_package():
    kinds = {Path(name).suffix for name in shipped_files()}
    assert kinds <= {".py", ".typed", ".csv", ".html", ".css", ".js", ".svg", ".json"}


def test_the_sdist_has_what_it_takes_to_test_it(archives):
    with tarfile.open(archives[0]) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames()]
    for name in ("pyproject.toml", "README.md", "LICENSE", "CITATION.cff"):
        assert name in names
    tests = {path.name for path in (ROOT / "tests").glob("*.py")}
    assert {name[6:] for name in names if name.startswith("tests/")} >= tests
    assert not any(name.startswith(("study", "benchmarks")) for name in names)
    assert not any(name.endswith((".npz", ".mat", ".jsonl", ".mp4")) for name in names)
    assert archives[0].stat().st_size < 5 * MEBIBYTE


# -- metadata --------------------------------------------------------------------------


def test_one_version_everywhere():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {rpcag.__version__}\n" in citation
    assert metadata.version("rpcag") == rpcag.__version__
    assert f"## {rpcag.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_citation_names_the_authors_of_the_readme():
    names = re.search(
        r"\((Shahid[^*]*), \*", (ROOT / "README.md").read_text().replace("\n", " ")
    )
    cited = re.findall(r"family-names: (\w+)", (ROOT / "CITATION.cff").read_text())
    assert names[1].split(", ") == cited


def test_the_extra_all_is_all_of_them():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = dict(project["optional-dependencies"])
    (line,) = extras.pop("all")
    assert line == f"rpcag[{','.join(sorted(extras))}]"


def test_the_versions_of_all_dependencies_are_shown(capsys):
    rpcag.show_versions()
    shown = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()
    )
    assert shown["rpcag"] == rpcag.__version__
    assert shown["python"] == ".".join(map(str, sys.version_info[:3]))
    for name in ("numpy", "scipy", "scikit-learn"):
        assert shown[name] == metadata.version(name)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for lines in project["optional-dependencies"].values():
        for line in lines:
            name = re.match(r"[\w-]+", line)[0]
            assert name == "rpcag" or name in shown


def test_what_is_not_installed_is_said():
    code = """
from importlib import metadata
import rpcag.versions
rpcag.versions._dependencies = lambda: ["numpy", "no-such-package"]
print(rpcag.versions.versions()["no-such-package"])"""
    assert python(code) == "not installed\n"


# -- imports ---------------------------------------------------------------------------

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "dask", "typer", "rich")


def test_importing_the_package_loads_nothing_heavy():
    loaded = python("import sys, rpcag; print(*sys.modules)").split()
    assert not set(HEAVY) & set(loaded)


@pytest.mark.slow
def test_a_model_loads_no_more_than_scikit_learn_and_the_core():
    """Robust where seconds are not; `make import-time` measures those."""
    theirs = python("import sys, sklearn.decomposition; print(*sys.modules)").split()
    code = "import sys; from rpcag import RPCAG; print(*sys.modules)"
    more = {name for name in python(code).split() if name not in theirs}
    roots = {name.partition(".")[0] for name in more}
    assert not roots & {"matplotlib", "dask", "distributed", "typer", "networkx", "PIL"}
    others = [name for name in more if not name.startswith("rpcag")]
    assert len(others) <= 0.1 * len(theirs)


@pytest.mark.slow
def test_every_public_name_is_there_though_loaded_late():
    code = """
import rpcag
for name in dir(rpcag):
    assert name in ("commands", "plots") or getattr(rpcag, name) is not None
from rpcag import *
print(sorted(set(rpcag.__all__) - set(globals())))
print(rpcag.graphs.KNNGraph, set(rpcag.__all__) <= set(dir(rpcag)))"""
    missing, rest = python(code).splitlines()
    assert missing == "[]"
    assert rest == "<class 'rpcag.graphs.neighbors.KNNGraph'> True"
    with pytest.raises(AttributeError, match="'rpcag' has no attribute 'RPCGA'"):
        rpcag.RPCGA  # noqa: B018


def test_every_module_is_listed():
    found = {
        path.stem
        for path in SOURCE.iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists())
        and not path.name.startswith("_")
    }
    assert set(dir(rpcag)) == found | set(rpcag.__all__)


def test_type_checkers_see_the_same_names():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name for node in block.body for alias in node.names}
    assert seen | {"__version__"} == set(rpcag.__all__)


def test_only_commands_print():
    for path in SOURCE.rglob("*.py"):
        if "commands" in path.parts or path.name == "versions.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", path
