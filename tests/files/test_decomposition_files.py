"""The folder of a decomposition: the same after saving and loading, whole or absent."""

import json
import os

import numpy as np
import pytest
from scipy import sparse

from rpcag.files.decomposition import FORMATS, Decomposition


@pytest.fixture
def made(rng):
    """A decomposition with everything in it; values that decimals cannot hold."""
    L, S = rng.standard_normal((2, 5, 6)) / 3
    missing = np.zeros((5, 6), dtype=bool)
    missing[1, 2] = True
    A = sparse.csr_array(np.diag([1.0, 2.0, 3.0, 4.0], 1))
    return Decomposition(
        low_rank=L,
        sparse=S,
        missing=missing,
        embedding=rng.standard_normal((5, 2)) * 1e-300,
        components=rng.standard_normal((2, 6)) * 1e300,
        singular_values=np.array([2.0, 1 / 3]),
        graph=sparse.csr_array(A + A.T),
        samples=["Zoë", "b, c", "#d", '"e"', ""],
        features=["x", "x", "1", "=sum", "ü", "last one"],
        labels=["u", "v", "u", "v", "u"],
        image_shape=(2, 3),
        facts={"model": "RPCAG", "gap": np.float64(1e-4), "history": [[1, 2.0]]},
    )


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_saved_is_loaded_to_the_last_bit(made, format, tmp_path):
    files = made.save(tmp_path / "new" / "result", format=format)
    assert {path.name for path in files} == {
        "result.json",
        "missing.npy",
        "graph.npz",
        *(f"{name}.{format}" for name in ("low_rank", "sparse")),
        *(f"{name}.{format}" for name in ("components", "embedding")),
    }
    assert all(path.is_file() for path in files)
    back = Decomposition.load(tmp_path / "new" / "result")
    for name in ("low_rank", "sparse", "missing", "embedding", "components"):
        np.testing.assert_array_equal(getattr(back, name), getattr(made, name))
    np.testing.assert_array_equal(back.singular_values, made.singular_values)
    np.testing.assert_array_equal(back.graph.toarray(), made.graph.toarray())
    assert isinstance(back.graph, sparse.csr_array)
    for name in ("samples", "features", "labels", "image_shape", "facts"):
        assert getattr(back, name) == getattr(made, name)


@pytest.mark.parametrize("format", FORMATS)
def test_rank_zero_and_nothing_optional(format, tmp_path):
    plain = Decomposition(
        low_rank=np.zeros((3, 4)),
        sparse=np.ones((3, 4)),
        missing=None,
        embedding=np.zeros((3, 0)),
        components=np.zeros((0, 4)),
        singular_values=np.zeros(0),
        graph=None,
        samples=list("abc"),
        features=list("wxyz"),
        labels=None,
        image_shape=None,
        facts={"objective": float("inf")},
    )
    files = plain.save(tmp_path / "result", format=format)
    assert {path.stem for path in files} == {
        *("low_rank", "sparse", "components", "embedding", "result")
    }
    back = Decomposition.load(tmp_path / "result")
    assert back.embedding.shape == (3, 0)
    assert back.components.shape == (0, 4)
    np.testing.assert_array_equal(back.sparse, plain.sparse)
    assert back.missing is back.graph is back.labels is back.image_shape is None
    assert back.facts == {"objective": None}  # JSON has no infinity


def test_text_files_have_the_names(made, tmp_path):
    made.save(tmp_path / "r", format="csv")
    lines = (tmp_path / "r" / "embedding.csv").read_text().splitlines()
    assert lines[0] == "sample,component 1,component 2"
    assert lines[1].split(",")[0] == "Zoë"


def test_a_result_is_replaced_only_if_asked_and_nothing_else_ever(made, tmp_path):
    made.save(tmp_path / "r", format="csv")
    with pytest.raises(FileExistsError, match="already holds a result; force=True"):
        made.save(tmp_path / "r")
    made.save(tmp_path / "r", format="npy", force=True)
    assert (tmp_path / "r" / "sparse.npy").exists()
    assert not (tmp_path / "r" / "sparse.csv").exists()
    (tmp_path / "photographs").mkdir()
    (tmp_path / "photographs" / "one.jpg").touch()
    with pytest.raises(FileExistsError, match="a folder of something else"):
        made.save(tmp_path / "photographs", force=True)
    (tmp_path / "letter").touch()
    with pytest.raises(FileExistsError, match="is a file"):
        made.save(tmp_path / "letter", force=True)
    (tmp_path / "empty").mkdir()
    made.save(tmp_path / "empty")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *("empty", "letter", "photographs", "r")
    ]


def test_nothing_is_left_when_writing_fails(made, tmp_path, monkeypatch):
    made.save(tmp_path / "old")
    before = (tmp_path / "old" / "result.json").read_text()

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sparse, "save_npz", full)
    for name, force in (("new", False), ("old", True)):
        with pytest.raises(OSError, match="No space left"):
            made.save(tmp_path / name, force=force)
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old" / "result.json").read_text() == before


def test_unknown_format(made, tmp_path):
    with pytest.raises(ValueError, match="format must be one of npy, csv"):
        made.save(tmp_path / "r", format="xlsx")
    assert not list(tmp_path.iterdir())


def spoil_index(folder, **changes):
    path = folder / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: (r / "result.json").unlink(), "is not a result of rpcag decompose"),
        (lambda r: (r / "result.json").write_text("{}"), "is not the index"),
        (lambda r: (r / "result.json").write_text("[1"), "is not the index"),
        (lambda r: spoil_index(r, rpcag_result=2), "newer rpcag .* update"),
        (lambda r: spoil_index(r, files={}), "names, files or facts are not"),
        (lambda r: spoil_index(r, samples=["a"]), "damaged: .*shape .1, 6."),
        (lambda r: (r / "sparse.npy").unlink(), "sparse.npy is missing"),
        (lambda r: (r / "sparse.npy").write_text("no"), "sparse.npy cannot be read"),
        (lambda r: np.save(r / "sparse.npy", np.eye(2)), "damaged: sparse must have"),
        (lambda r: (r / "graph.npz").write_bytes(b"PK"), "graph.npz cannot be read"),
    ],
)
def test_a_damaged_folder_says_what_is_wrong(made, spoil, message, tmp_path):
    made.save(tmp_path / "r")
    spoil(tmp_path / "r")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        Decomposition.load(tmp_path / "r")
