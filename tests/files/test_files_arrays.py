"""Arrays, Parquet and folders of images as tables."""

import gzip

import numpy as np
import pytest
from scipy import sparse

from rpcag.files.reading import read_table
from rpcag.files.table import Reading

A = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])


def read(path, **options):
    return read_table(path, Reading(**options))


def save_npy(path, **arrays):
    np.save(path, next(iter(arrays.values())))


SAVERS = {
    "npy": save_npy,
    "npz": lambda path, **arrays: np.savez(path, **arrays),
}


@pytest.mark.parametrize("kind", SAVERS)
def test_a_matrix_is_read_as_it_was_written(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    SAVERS[kind](path, X=A)
    table = read(path)
    np.testing.assert_array_equal(table.X, A)
    assert (table.samples, table.features) == (["0", "1"], ["0", "1", "2"])
    np.testing.assert_array_equal(read(path, transpose=True).X, A.T)
    np.testing.assert_array_equal(read(path, missing=("4",)).X[1], [np.nan, 5, 6])


@pytest.mark.parametrize("kind", [kind for kind in SAVERS if kind != "npy"])
def test_one_of_several_arrays(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    SAVERS[kind](path, X=A, other=2 * A, y=np.array([[7.0, 8.5]]).T)
    with pytest.raises(ValueError, match=r"several matrices: .*other.*variable=NAME"):
        read(path)
    table = read(path, variable="other", labels="y")
    np.testing.assert_array_equal(table.X, 2 * A)
    assert table.labels == ["7", "8.5"]
    with pytest.raises(ValueError, match=r"variable='z': .* has .*X \(2 x 3\)"):
        read(path, variable="z")
    with pytest.raises(ValueError, match="variable='y': not a matrix"):
        read(path, variable="y")
    with pytest.raises(ValueError, match="labels='z'"):
        read(path, variable="X", labels="z")
    with pytest.raises(ValueError, match="2 values for 3 samples"):
        read(path, variable="X", labels="y", transpose=True)


@pytest.mark.parametrize("kind", SAVERS)
def test_three_axes_are_images(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    images = np.arange(24.0).reshape(2, 3, 4)
    SAVERS[kind](path, X=images)
    table = read(path)
    assert table.image_shape == (3, 4)
    np.testing.assert_array_equal(table.X, images.reshape(2, 12))
    table = read(path, transpose=True)
    assert table.image_shape == (2, 3)
    np.testing.assert_array_equal(table.X[1].reshape(2, 3), images[:, :, 1])


def test_four_axes_are_color_images(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((5, 2, 4, 3), dtype=np.uint8))
    table = read(tmp_path / "t.npy")
    assert (table.image_shape, table.X.shape) == ((2, 4, 3), (5, 24))
    assert table.X.dtype == np.float64


def test_single_precision_stays(tmp_path):
    np.save(tmp_path / "t.npy", A.astype(np.float32))
    assert read(tmp_path / "t.npy").X.dtype == np.float32


def test_sparse_matrices(tmp_path):
    S = sparse.csr_matrix(np.nan_to_num(A))
    sparse.save_npz(tmp_path / "t.npz", S)
    np.testing.assert_array_equal(read(tmp_path / "t.npz").X, S.toarray())


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="needs the extra rpcag[files]")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "who": ["p", "q"],
        "x": [1.0, None],
        "n": pa.array([3, None], pa.int64()),
        "b": [True, False],
        "kind": pa.array(["u", "u"]).dictionary_encode(),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"column 'kind' of .* is text"):
        read(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet", labels="kind")
    np.testing.assert_array_equal(table.X, [[1, 3, 1], [np.nan, np.nan, 0]])
    assert (table.samples, table.labels) == (["p", "q"], ["u", "u"])
    assert read(tmp_path / "t.parquet", names="n", drop=("who", "kind")).samples == [
        *("3", "")
    ]
    columns = {"x": [1.0], "l": [[1, 2]]}
    parquet.write_table(pa.table(columns), tmp_path / "l.parquet")
    with pytest.raises(ValueError, match=r"column 'l' of .* holds neither"):
        read(tmp_path / "l.parquet")


@pytest.mark.parametrize("stored", ['{"index_columns": null}', "{bad", "[1]", "\xff"])
def test_damaged_metadata_of_pandas_are_ignored(stored, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"x": A[:, 0], "y": A[:, 1]})
    table = table.replace_schema_metadata({"pandas": stored.encode("latin-1")})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_table(tmp_path / "a.parquet").X, A[:, :2])


def test_index_of_a_pandas_frame(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra rpcag[files]")
    pandas = pytest.importorskip("pandas")
    for index in (["r", "s"], [10, 20], None):
        frame = pandas.DataFrame(A, columns=["x", "y", "z"], index=index)
        frame.to_parquet(tmp_path / "t.parquet")
        table = read(tmp_path / "t.parquet")
        np.testing.assert_array_equal(table.X, A)
        assert table.samples == [str(name) for name in frame.index]


@pytest.fixture
def pictures(tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="needs the extra rpcag[plots]")
    for person in ("anna", "ben"):
        (tmp_path / person).mkdir()
        for k in range(2):
            pixels = np.full((4, 3), 100 * k, dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / person / f"{k}.png")
    return tmp_path


def test_folder_of_images(pictures):
    table = read(pictures)
    assert table.samples == ["anna/0.png", "anna/1.png", "ben/0.png", "ben/1.png"]
    assert table.labels == ["anna", "anna", "ben", "ben"]
    assert table.image_shape == (4, 3)
    np.testing.assert_allclose(table.X[1], 100 / 255)
    assert read(pictures, shape=(2, 2), color=True).image_shape == (2, 2, 3)
    assert read(pictures / "anna").labels is None


def test_errors_of_folders(pictures, tmp_path):
    from PIL import Image

    with pytest.raises(ValueError, match="labels= is for files"):
        read(pictures, labels="x")
    Image.new("L", (9, 9)).save(pictures / "ben" / "2.png")
    with pytest.raises(ValueError, match=r"shape=\(height, width"):
        read(pictures)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: np.save(p, np.arange(3)), "no matrix of numbers"),
        (lambda p: np.save(p, np.ones((2, 2)) * 1j), "no matrix of numbers"),
        (lambda p: np.save(p, np.array([[{}, 1]])), "Object arrays cannot be"),
        (lambda p: p.write_bytes(b"nonsense"), "cannot be read as NumPy"),
        (lambda p: np.save(p, np.array([[1.0, np.inf], [1, 2]])), "infinite values"),
    ],
)
def test_bad_npy(make, message, tmp_path):
    make(tmp_path / "t.npy")
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "t.npy")


@pytest.mark.parametrize("name", ["t.npz", "t.parquet"])
def test_nonsense(name, tmp_path):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(b"Once upon a time" * 100)
    with pytest.raises(ValueError, match="cannot be read as"):
        read(tmp_path / name)


def test_options_that_do_not_fit(tmp_path):
    np.save(tmp_path / "t.npy", A)
    with pytest.raises(ValueError, match="drop= is for tables"):
        read(tmp_path / "t.npy", drop=("x",))


def test_a_missing_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r"pip install 'rpcag\[files\]'"):
        read(tmp_path / "t.parquet")


def test_excel_and_compressed_text_are_the_same_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra rpcag[excel]")
    rows = [["id", "x", "y"], ["a", 1.5, 2], ["b", None, 4], ["c", 5.25, 7]]
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    text = "\n".join(",".join("" if w is None else str(w) for w in r) for r in rows)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("t.xlsx", "t.csv.gz"):
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.X, [[1.5, 2], [np.nan, 4], [5.25, 7]])
        assert (table.samples, table.features) == (["a", "b", "c"], ["x", "y"])
        labeled = read_table(tmp_path / name, Reading(labels="y", names="id"))
        assert (labeled.labels, labeled.features) == (["2", "4", "7"], ["x"])
