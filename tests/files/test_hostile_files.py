"""Files made to crash, to fill the memory, or to read what is not in them."""

import json
import os
import struct
import zipfile
import zlib

import numpy as np
import pytest
from scipy import sparse

import decompositions
from command_line import call
from rpcag.files.arrays import load_arrays
from rpcag.files.decomposition import Decomposition
from rpcag.files.graph import read_graph
from rpcag.files.images import read_images
from rpcag.files.reading import read_table
from rpcag.files.table import Reading
from rpcag.video import Source, ffmpeg

A = np.arange(12.0).reshape(4, 3)


def read(path, **options):
    return read_table(path, Reading(**options))


def refused(result, *words):
    """One line that names what is wrong, and the exit code of bad input."""
    assert result.exit_code == 2, result.output
    assert len(result.output.strip().splitlines()) == 1, result.output
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.output
    return True


# -- sparse matrices -------------------------------------------------------------------


def save_csr(path, indices, *, shape=(30, 12), indptr=None, data=None):
    n = len(indices)
    np.savez(
        path,
        format=np.array("csr"),
        shape=np.array(shape),
        data=np.ones(n) if data is None else data,
        indices=np.array(indices),
        indptr=np.array([0] + [n] * shape[0] if indptr is None else indptr),
    )


@pytest.mark.parametrize("index", [12, 13, 10**5, -1])
def test_an_index_outside_a_sparse_matrix_is_no_entry_of_another_row(index, tmp_path):
    path = tmp_path / "bad.npz"
    save_csr(path, [0, 1, index, 3, 4])
    message = "bad.npz .* malformed sparse matrix"
    with pytest.raises(ValueError, match=message):
        read(path)
    with pytest.raises(ValueError, match=message):
        read_graph(path, list("ab"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": [1, *[5] * 30]}, "index pointer should start with 0|start at 0"),
        ({"indptr": [0, 5, 2, *[5] * 28]}, "indptr must not decrease"),
        ({"indptr": [0, *[9] * 30]}, "[Ll]ast value|ends at 9"),
        ({"indptr": [0, 5]}, "index pointer size|must have 31 entries"),
        ({"data": np.ones(3)}, "same size|there are 5 indices and 3 values"),
        ({"data": np.array(list("abcde"))}, "no matrix of numbers"),
        ({"shape": (-30, 12)}, "shape"),
    ],
)
def test_every_part_of_a_sparse_file_is_checked(change, message, tmp_path):
    path = tmp_path / "bad.npz"
    shape = change.pop("shape", (30, 12))
    indptr = change.pop("indptr", [0, *[5] * 30])
    save_csr(path, [0, 1, 2, 3, 4], shape=shape, indptr=indptr, **change)
    with pytest.raises(ValueError, match=rf"(?s)bad.npz.*({message})"):
        read(path)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_files_of_every_format_are_read_as_written(format, tmp_path, rng):
    S = sparse.csr_array((rng.random((6, 6)) < 0.4) * rng.standard_normal((6, 6)))
    S = sparse.csr_array(S + S.T)
    sparse.save_npz(tmp_path / "s.npz", S.asformat(format))
    np.testing.assert_array_equal(read(tmp_path / "s.npz").X, S.toarray())
    graph = read_graph(tmp_path / "s.npz", list("abcdef"))
    np.testing.assert_array_equal(graph.toarray(), S.toarray())


def test_a_sparse_matrix_that_is_too_large_when_dense_is_refused(tmp_path):
    save_csr(tmp_path / "s.npz", [0, 1], shape=(2, 10**13))
    assert os.path.getsize(tmp_path / "s.npz") < 2000
    with pytest.raises(ValueError, match=r"s.npz needs more memory than is available"):
        read(tmp_path / "s.npz")


# -- NumPy -----------------------------------------------------------------------------


def npy_header(shape, dtype="<f8"):
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((10**6, 10**6), "more memory than"),
        ((2**62, 2**62), ""),
        ((-4, -3), ""),
        ((4, 4), ""),
    ],
)
def test_a_header_that_claims_more_than_there_is(suffix, shape, message, tmp_path):
    path = tmp_path / f"t.{suffix}"
    data = npy_header(shape) + A.tobytes()
    if suffix == "npy":
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("X.npy", data)
    with pytest.raises(ValueError, match=rf"t.{suffix} .*{message}"):
        read(path)


def test_data_sets_are_read_in_the_same_way(tmp_path):
    (tmp_path / "t.npz").write_bytes(b"PK\x05\x06" + b"\0" * 18 + b"x")
    assert load_arrays(tmp_path / "t.npz") == {}
    np.savez(tmp_path / "t.npz", X=A, who=np.array([{}, 1], dtype=object))
    assert load_arrays(tmp_path / "t.npz")["who"].size == 0
    np.testing.assert_array_equal(read(tmp_path / "t.npz").X, A)


# -- files in other files --------------------------------------------------------------


@pytest.fixture
def result(tmp_path):
    decompositions.table(12, 4).save(tmp_path / "result")
    return tmp_path / "result"


def change_index(folder, **changes):
    path = folder / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_files(folder, **changes):
    files = json.loads((folder / "result.json").read_text())["files"]
    change_index(folder, files=files | changes)


def test_a_result_reads_nothing_outside_its_folder(result, tmp_path):
    outside = tmp_path / "outside.npy"
    outside.write_bytes((result / "sparse.npy").read_bytes())
    (result / "link.npy").symlink_to(outside)
    (result / "sub").mkdir()
    (result / "sub" / "s.npy").write_bytes(outside.read_bytes())
    for name in ("../outside.npy", str(outside), "link.npy", "sub/s.npy", "..", ""):
        change_files(result, sparse=name)
        with pytest.raises(ValueError, match="which is not in this folder; copy it"):
            Decomposition.load(result)
        page = tmp_path / "page.html"
        assert refused(call("explore", result, "-o", page), "not in this folder")
        assert not page.exists()
    change_files(result, sparse="sparse.npy")
    (tmp_path / "alias").symlink_to(result)  # the folder itself may be anywhere
    assert Decomposition.load(tmp_path / "alias").low_rank.shape == (12, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rpcag_result": "one"}, "is not the index"),
        ({"files": 3}, "names, files or facts are not"),
        ({"facts": [1]}, "facts are not what rpcag writes"),
        ({"samples": list(range(12))}, "names, files or facts are not"),
        ({"labels": "abcabcabcabc"}, "names, files or facts are not"),
        ({"image_shape": [-2, -2]}, "damaged: image_shape must be two positive"),
        ({"image_shape": ["a", "b"]}, "damaged: image_shape must be two positive"),
    ],
)
def test_an_index_with_other_things_in_it_is_damaged(
    result, changes, message, tmp_path
):
    change_index(result, **changes)
    with pytest.raises(ValueError, match=message):
        Decomposition.load(result)
    words = ("explore", result, "-o", tmp_path / "page.html")
    assert refused(call(*words), "result")
    assert refused(call("cluster", result, "-k", 2), "result")


def test_an_index_nested_without_end_is_refused(result):
    (result / "result.json").write_text("[" * 200_000)
    with pytest.raises(ValueError, match="is not the index"):
        Decomposition.load(result)


def test_a_graph_of_a_result_that_points_elsewhere_is_refused(result):
    save_csr(result / "graph.npz", [0, 1, 10**5], shape=(12, 12))
    with pytest.raises(ValueError, match=r"graph.npz .* indices must be < 12"):
        Decomposition.load(result)


# -- Parquet ---------------------------------------------------------------------------


def arrow():
    pytest.importorskip("pyarrow", reason="needs the extra rpcag[files]")
    import pyarrow
    import pyarrow.parquet

    return pyarrow, pyarrow.parquet


def test_columns_of_one_name_are_read(tmp_path):
    pa, parquet = arrow()
    columns = pa.Table.from_arrays(
        [pa.array(column) for column in A.T], ["x", "x", "y"]
    )
    parquet.write_table(columns, tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    np.testing.assert_array_equal(table.X, A)
    assert table.features == ["x", "x (2)", "y"]


# -- images and videos -----------------------------------------------------------------


def png(path, width, height, rows=None):
    """With fewer rows than the header says, if asked for."""

    def chunk(kind, data):
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    size = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\0" * ((width + 1) * (height if rows is None else rows)))
    content = chunk(b"IHDR", size) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)


def test_large_images_are_refused_by_their_header(tmp_path):
    pytest.importorskip("PIL", reason="needs the extra rpcag[plots]")
    for name in ("a.png", "b.png"):
        png(tmp_path / name, 30_000, 30_000, rows=2)
    with pytest.raises(ValueError, match="pixels"):
        read_images(tmp_path)
    with pytest.raises(ValueError, match=r"a.png .*pixels"):
        read_images(tmp_path, shape=(8, 8))
    assert refused(call("decompose", tmp_path, "-o", tmp_path / "r"), "pixels")


def test_postscript_is_not_run(tmp_path, monkeypatch):
    Image = pytest.importorskip("PIL.Image", reason="needs the extra rpcag[plots]")
    from PIL import EpsImagePlugin

    def run(*arguments, **options):
        pytest.fail("Ghostscript was called")

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", run)
    for name in ("a.eps", "b.eps"):
        Image.new("L", (4, 4)).save(tmp_path / name)
    with pytest.raises(ValueError, match=r"a.eps cannot be read as an image"):
        read_images(tmp_path)


@pytest.fixture
def av():
    return pytest.importorskip("av", reason="needs the extra rpcag[video]")


def save_video(av, path, frames):
    with av.open(str(path), "w") as out:
        stream = out.add_stream("ffv1", rate=5)
        stream.height, stream.width = frames.shape[1:]
        stream.pix_fmt = "gray"
        for frame in frames:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="gray")))
        out.mux(stream.encode())


def test_large_frames_are_refused_before_they_are_decoded(av, tmp_path, monkeypatch):
    frames = np.zeros((2, 200, 300), np.uint8)
    (tmp_path / "folder").mkdir()
    png(tmp_path / "folder" / "0.png", 300, 200)
    png(tmp_path / "one.png", 300, 200)
    save_video(av, tmp_path / "v.mkv", frames)
    for name in ("v.mkv", "folder", "one.png"):
        path = tmp_path / name
        monkeypatch.setattr(ffmpeg, "MOST_PIXELS", 120_000)  # FFmpeg counts padding
        assert Source(path, gray=True).first().shape == (200, 300)
        monkeypatch.setattr(ffmpeg, "MOST_PIXELS", 30_000)
        with pytest.raises(ValueError, match="more than 30000 pixels"):
            Source(path).first()


def test_the_budget_of_a_command_holds_for_single_frames(av, tmp_path):
    """A frame of 30000 x 30000 took 4.6 GB of a budget of 1.5."""
    (tmp_path / "in").mkdir()
    for name in ("0.png", "1.png"):
        png(tmp_path / "in" / name, 30_000, 30_000, rows=2)
    result = call("background", tmp_path / "in", "-o", tmp_path / "out")
    assert refused(result, "0.png", "more than 50000000 pixels")


def test_a_video_reads_no_other_file(av, tmp_path):
    save_video(av, tmp_path / "other.mkv", np.zeros((3, 16, 16), np.uint8))
    (tmp_path / "list.mp4").write_text("ffconcat version 1.0\nfile other.mkv\n")
    with pytest.raises(ValueError, match=r"list.mp4 cannot be read as a video"):
        list(Source(tmp_path / "list.mp4"))
    # A pattern of FFmpeg is a name like any other.
    for name in ("a%d.jpg", "a1.jpg"):
        image = np.full((16, 16), 200 if "%" in name else 10, np.uint8)
        av.VideoFrame.from_ndarray(image, format="gray").to_image().save(
            tmp_path / name
        )
    (frame,) = Source(tmp_path / "a%d.jpg", gray=True)
    assert frame.mean() > 190


# -- text, labels and shapes -----------------------------------------------------------


TEXT = "id,x,y\nZoë,1,2\nb,3,4\n"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-mark", "utf-32"]
)
def test_text_in_unicode_is_read(encoding, tmp_path):
    if encoding.endswith("-mark"):
        data = b"\xfe\xff" + TEXT.encode(encoding.removesuffix("-mark"))
    else:
        data = TEXT.encode(encoding)
    (tmp_path / "t.csv").write_bytes(data)
    table = read(tmp_path / "t.csv")
    assert (table.samples, table.features, table.notes) == (
        ["Zoë", "b"],
        ["x", "y"],
        [],
    )


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_text_that_is_not_unicode_is_read_and_told(encoding, tmp_path):
    (tmp_path / "t.csv").write_bytes(TEXT.encode(encoding))
    table = read(tmp_path / "t.csv")
    assert table.samples == ["Zoë", "b"]
    assert len(table.notes) == 1
    assert "line 2 has the byte 0xeb" in table.notes[0]
    assert "Windows-1252" in table.notes[0]
    text = TEXT.replace("Zoë", "5 €").encode("cp1252")
    (tmp_path / "t.csv").write_bytes(text)
    assert read(tmp_path / "t.csv").samples[0] == "5 €"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (TEXT.encode() + b"\xff,5,6\n", "line 4: the byte 0xff is not UTF-8; correct"),
        (b"id,x,y\n\x81,1,2\n", "line 2: the byte 0x81 is not UTF-8"),
        (TEXT.encode("utf-16")[:-1], "marked as UTF-16 but damaged"),
        (
            TEXT.encode("utf-16-le"),
            "UTF-16 without a byte order mark; save it as UTF-8",
        ),
    ],
)
def test_text_that_is_damaged_is_refused(data, message, tmp_path):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(ValueError, match=rf"t.csv.*{message}"):
        read(tmp_path / "t.csv")
    result = call("decompose", tmp_path / "t.csv", "-o", tmp_path / "r")
    assert refused(result, "t.csv", "UTF-8")


def test_edges_that_are_not_unicode_are_windows_1252_or_refused(tmp_path):
    (tmp_path / "g.csv").write_bytes("Zoë,b\n".encode("latin-1"))
    found = read_graph(tmp_path / "g.csv", ["Zoë", "b"])
    np.testing.assert_array_equal(found.toarray(), [[0, 1], [1, 0]])
    (tmp_path / "g.csv").write_bytes("Zoë,b\n".encode() + b"\xeb,b\n")
    with pytest.raises(ValueError, match=r"g.csv, line 2: the byte 0xeb is not UTF-8"):
        read_graph(tmp_path / "g.csv", ["Zoë", "b"])


def test_edges_between_digits_that_are_no_numbers(tmp_path):
    for word in ("²", "9" * 5000):
        (tmp_path / "g.csv").write_text(f"0,1\n0,{word}\n")
        with pytest.raises(ValueError, match=r"g.csv, line [12]: .* neither the name"):
            read_graph(tmp_path / "g.csv", list("abc"))


def test_labels_may_be_any_values(tmp_path):
    y, who = [1.0, 2.5, np.inf, np.nan], np.array([b"a", b"b", b"\xff", b"d"])
    np.savez(tmp_path / "t.npz", X=A, y=y, who=who)
    table = read(tmp_path / "t.npz", labels="y", names="who", variable="X")
    assert table.labels == ["1", "2.5", "inf", ""]
    assert table.samples == ["a", "b", r"\xff", "d"]


@pytest.mark.parametrize("shape", [(-2, -3), (0, 6), (2.5, 2.4), (np.inf, 1), (-1, 6)])
def test_shapes_of_images_are_positive_whole_numbers(shape, tmp_path):
    made = decompositions.table(6, 6)
    with pytest.raises(ValueError, match="image_shape must be two positive ints"):
        Decomposition(**vars(made) | {"image_shape": shape})
    pytest.importorskip("matplotlib", reason="needs the extra rpcag[plots]")
    from rpcag.plots import decomposition

    with pytest.raises(ValueError, match="image_shape must be two positive ints"):
        decomposition({"low_rank": np.eye(4, 6)}, shape)


@pytest.mark.parametrize("shape", [(-2, -3), (0, 6), (2**32, 2**32)])
def test_shapes_given_for_a_file_fit_it(shape, tmp_path):
    np.save(tmp_path / "t.npy", np.arange(24.0).reshape(4, 6))
    with pytest.raises(ValueError, match="does not fit the 6 features"):
        read(tmp_path / "t.npy", shape=shape)
