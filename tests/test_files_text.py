"""CSV and its relatives: the traps, one by one."""

import time

import numpy as np
import pytest

from rpcag.files import delimited
from rpcag.files.reading import read_table
from rpcag.files.table import Reading

PLAIN = "id,x,y\na,1,2\nb,,4\nc,5,NA\n"


def read(tmp_path, text, name="t.csv", **options):
    path = tmp_path / name
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(content)
    return read_table(path, Reading(**options))


def test_names_features_and_gaps(tmp_path):
    table = read(tmp_path, PLAIN)
    np.testing.assert_array_equal(table.X, [[1, 2], [np.nan, 4], [5, np.nan]])
    assert table.samples == ["a", "b", "c"]
    assert table.features == ["x", "y"]
    assert table.labels is table.image_shape is None
    assert table.notes == []


@pytest.mark.parametrize(
    "word",
    ["", "NA", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "-", " ", "#N/A"],
)
def test_words_for_missing(word, tmp_path):
    table = read(tmp_path, f"x,y\n1,2\n{word},4\n")
    assert np.isnan(table.X[1, 0])
    assert np.isfinite(table.X).sum() == 3


def test_further_words_for_missing(tmp_path):
    table = read(tmp_path, "x,y\n-999,bad\n2,4\n3,-999.0\n", missing=("-999", "bad"))
    np.testing.assert_array_equal(table.X, [[np.nan] * 2, [2, 4], [3, np.nan]])


# Each is the same table as PLAIN in another dress.
@pytest.mark.parametrize(
    ("text", "name"),
    [
        (PLAIN.replace(",", "\t"), "t.tsv"),
        (PLAIN.replace(",", "\t"), "t.csv"),
        (PLAIN.replace(",", ";"), "t.csv"),
        (PLAIN.replace(",", "|"), "t.txt"),
        (PLAIN.replace(",,", " NA ").replace(",", "  "), "t.txt"),
        (PLAIN.replace("\n", "\r\n"), "t.csv"),
        (PLAIN.replace("\n", "\n\n"), "t.csv"),
        (PLAIN.replace(",", ", "), "t.csv"),
        (PLAIN.replace("id,", '"id",').replace("a,", '"a",'), "t.csv"),
        ("# made by hand\n" + PLAIN, "t.csv"),
        (PLAIN.replace("\n", ",\n"), "t.csv"),
        (PLAIN.rstrip("\n"), "t.csv"),
        (PLAIN.replace("id", ""), "t.csv"),
        (PLAIN.replace("id,", ""), "t.csv"),
        (PLAIN.replace("id", "Unnamed: 0"), "t.csv"),
        (b"\xef\xbb\xbf" + PLAIN.encode(), "t.csv"),
        (PLAIN.encode("utf-16"), "t.csv"),
        (PLAIN.replace(",", "\t").encode("utf-16"), "T.TXT"),
    ],
)
def test_the_same_table_in_every_dress(text, name, tmp_path):
    table = read(tmp_path, text, name)
    np.testing.assert_array_equal(table.X, [[1, 2], [np.nan, 4], [5, np.nan]])
    assert table.samples == ["a", "b", "c"]
    assert table.features == ["x", "y"]


def test_semicolons_and_decimal_commas(tmp_path):
    table = read(tmp_path, "x;y\n1,5;2\n-0,25;1,5e3\n;7\n")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [-0.25, 1500], [np.nan, 7]])


def test_quoted_delimiters_line_breaks_and_quotes(tmp_path):
    table = read(tmp_path, 'id,"x, y",z\n"a, b",1,2\n"say ""c""\nd",3,4\n')
    assert table.samples == ["a, b", 'say "c"\nd']
    assert table.features == ["x, y", "z"]


def test_latin_1_names(tmp_path):
    assert read(tmp_path, "id,x,y\nZoë,1,2\n".encode("latin-1")).samples == ["Zoë"]


def test_columns_of_one_name_get_numbers(tmp_path):
    table = read(tmp_path, "x,x,y\n1,2,3\n4,5,6\n")
    assert table.features == ["x", "x (2)", "y"]
    assert "'x'" in table.notes[0]


def test_huge_whole_numbers_are_noted(tmp_path):
    table = read(tmp_path, "key,x\n12345678901234567890,1\n12345678901234567891,2\n")
    assert "beyond 2^53" in table.notes[0]
    table = read(
        tmp_path, "key,x\n12345678901234567890,1\n12345678901234567891,2\n", names="key"
    )
    assert table.samples == ["12345678901234567890", "12345678901234567891"]
    assert table.notes == []


def test_truth_is_a_number(tmp_path):
    np.testing.assert_array_equal(
        read(tmp_path, "x,y\nTrue,1\nFALSE,0\n").X, [[1, 1], [0, 0]]
    )


def test_labels_names_and_dropped_columns(tmp_path):
    text = "a,b,c,x\nu,1,p,1\nu,2,q,2\nv,007,r,3\n"
    table = read(tmp_path, text, labels="a", names="b", drop=("c",))
    assert (table.labels, table.samples) == (["u", "u", "v"], ["1", "2", "007"])
    assert table.features == ["x"]


def test_samples_in_columns(tmp_path):
    table = read(tmp_path, PLAIN, transpose=True)
    np.testing.assert_array_equal(table.X, [[1, np.nan, 5], [2, 4, np.nan]])
    assert (table.samples, table.features) == (["x", "y"], ["a", "b", "c"])


def test_rows_as_images(tmp_path):
    table = read(tmp_path, "1,2,3,4,5.5,6\n6,5,4,3,2,1\n", shape=(2, 3))
    assert table.image_shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("x,y\n1,2\n", True),
        ("1.5,2\n1,2\n", False),
        ("1,\n1,2\n", False),
        ("0,1,2,3\n5,6,7,8\n", True),  # as pandas writes columns without names
        (",0,1\n0,5,6\n", True),
        ("1,2,3,4\n5,6,7,8\n", False),
        ("land,1990,1991\nA,1.5,2\n", True),
        ("A,1.5,2\nB,1,2\n", False),
    ],
)
def test_whether_the_first_line_is_a_header(text, header, tmp_path):
    table = read(tmp_path, text)
    lines = text.strip().splitlines()
    assert len(table.X) == len(lines) - header
    # And what is said counts.
    assert len(read(tmp_path, text, header=True).X) == len(lines) - 1


def test_no_header(tmp_path):
    table = read(tmp_path, "0,1,2,3\n5,6,7,8\n", header=False)
    assert table.X.shape == (2, 4)
    assert table.features == ["0", "1", "2", "3"]


def test_long_files_are_read_in_blocks(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("rpcag.files.delimited.CELLS", 50)
    A = rng.standard_normal((3000, 4))
    rows = [f"s{i}," + ",".join(map(repr, r)) for i, r in enumerate(A.tolist())]
    table = read(tmp_path, "id,a,b,c,d\n" + "\n".join(rows))
    np.testing.assert_array_equal(table.X, A)
    assert table.samples[-1] == "s2999"
    late = [*rows, "s3000,1,2,three,4"]
    with pytest.raises(ValueError, match="line 3002, column 'c': 'three'"):
        read(tmp_path, "id,a,b,c,d\n" + "\n".join(late))


@pytest.fixture
def fast(monkeypatch):
    """Whether pyarrow read the file, once for every file."""
    pytest.importorskip("pyarrow", reason="needs the extra rpcag[files]")
    monkeypatch.setattr("rpcag.files.fast_text.LARGE", 0)
    used = []

    def read_fast(self, *args):
        used.append(original(self, *args))
        return used[-1]

    original = delimited._Words.read_fast
    monkeypatch.setattr(delimited._Words, "read_fast", read_fast)
    return lambda: [found is not None for found in used]


def long_table(rng, n=1500):
    """Lines with gaps in many words, and what they say."""
    A = rng.standard_normal((n, 4)) * 10.0 ** rng.integers(-300, 300, (n, 4))
    words = [[repr(a) for a in row] for row in A.tolist()]
    for i, word in enumerate(["", "NA", "NaN", "nan", " NULL", "?", "#N/A", "-"]):
        words[1100 + i][i % 4], A[1100 + i, i % 4] = word, np.nan
    return [[f"s{i}", *row] for i, row in enumerate(words)], A


@pytest.mark.parametrize("dress", ["plain", "quotes", "crlf", "tabs", "commas", "bom"])
def test_pyarrow_reads_large_files_to_the_last_bit(dress, tmp_path, rng, fast):
    lines, A = long_table(rng)
    if dress == "quotes":
        lines = [[f'"{line[0]}, or so"', *line[1:]] for line in lines]
    if dress == "commas":
        lines = [[word.replace(".", ",") for word in line] for line in lines]
    delimiter = {"tabs": "\t", "commas": ";"}.get(dress, ",")
    end = "\r\n" if dress == "crlf" else "\n"
    text = end.join(delimiter.join(line) for line in [["id", *"abcd"], *lines])
    table = read(tmp_path, "\ufeff" + text if dress == "bom" else text)
    assert fast() == [True]
    np.testing.assert_array_equal(table.X, A)
    suffix = ", or so" if dress == "quotes" else ""
    assert table.samples == [f"s{i}{suffix}" for i in range(len(A))]
    assert table.features == list("abcd")


@pytest.mark.parametrize(
    ("late", "message"),
    [
        ("x,1,2,three,4", "line 1502, column 'c': 'three' is not a number"),
        ("x,1,2,1_000,4", "'1_000' is not a number"),
        ("x,1,2,3", "line 1502 has 4 fields but the first line has 5"),
        ("x,1,2,3,4,5", "line 1502 has 6 fields"),
        ('x,1,"2"3,3,4', "is a quote not closed"),
        ('x,1,"2,3,4', "is a quote not closed"),
        ("x,1,2," + "9" * 400 + ",4", "infinite values, the first in sample 'x'"),
    ],
)
def test_what_pyarrow_refuses_is_told_as_ever(late, message, tmp_path, rng, fast):
    lines, _ = long_table(rng)
    text = "\n".join(",".join(line) for line in [["id", *"abcd"], *lines])
    with pytest.raises(ValueError, match=message):
        read(tmp_path, f"{text}\n{late}\n")
    assert fast()  # it was tried


@pytest.mark.parametrize(
    ("late", "sample", "value"),
    [
        ("Zoë,+1,2,3,4", "Zoë", 1.0),
        ("t,TRUE,2,3,4", "t", 1.0),
        ('"say ""c""\nd",1,2,3,4', 'say "c"\nd', 1.0),
        ("t,nUlL,2,3,4", "t", np.nan),
    ],
)
def test_what_only_python_reads_is_read(late, sample, value, tmp_path, rng, fast):
    lines, A = long_table(rng)
    text = "\n".join(",".join(line) for line in [["id", *"abcd"], *lines, [late]])
    for encoded in (text.encode(), text.encode("latin-1")):
        table = read(tmp_path, encoded)
        assert table.samples[-1] == sample
        np.testing.assert_array_equal(table.X[-1], [value, 2, 3, 4])
        np.testing.assert_array_equal(table.X[:-1], A)
    assert fast()  # it was tried


def test_many_columns_are_no_slower_than_many_rows(tmp_path):
    """Names are compared once, not each with each: 40000 took a minute."""
    names = [f"c{j}" for j in range(40_000)]
    text = "\n".join([",".join(names), *[",".join(["1.5"] * len(names))] * 2])
    start = time.perf_counter()
    assert read(tmp_path, text).X.shape == (2, len(names))
    assert time.perf_counter() - start < 10


def test_pandas_csv_with_and_without_index(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"u": [1.5, None], "v": [3, 4]}, index=["r1", "r2"])
    for index in (True, False):
        frame.to_csv(tmp_path / "t.csv", index=index)
        table = read_table(tmp_path / "t.csv")
        np.testing.assert_array_equal(table.X, frame.to_numpy())
        assert table.samples == (["r1", "r2"] if index else ["0", "1"])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("\n\n", {}, "is empty"),
        ("x,y\n", {}, "has a header but no rows"),
        ("x,y\n1,2\n3\n", {}, "line 3 has 1 fields but the first line has 2"),
        ("x,y\n1,2\n3,4,5\n", {}, "line 3 has 3 fields"),
        ("x,y\n1,2\n3,inf\n", {}, "infinite values, the first in sample '1', feature"),
        ("x,y\n1,2\n3," + "9" * 400 + "\n", {}, "infinite values"),
        ("x,y\n1,2\n3,4a\n5,6\n", {}, "line 3, column 'y': '4a' is not a number"),
        ("x,y\n1,2\n3,1_000\n5,6\n", {}, "'1_000' is not a number"),
        ("x;y\n1,5;2\n1.234;3\n", {}, "'1.234' is not a number; others have decimal"),
        ('x,y\n"1,5",2\n3,4\n3,4\n', {}, "'1,5' is not a number; --decimal ,"),
        ("x,y\nNA,NA\n", {}, "everything is missing"),
        ("x,y\n1,u\n2,u\n", {}, "column 'y' of .* is text: --labels 'y' keeps"),
        ("a,b,x\np,u,1\nq,v,2\n", {}, "column 'b' of .* is text"),
        ("a,b\np,u\nq,v\n", {"labels": "b"}, "has no column of numbers"),
        ("x,y\n1,2\n", {"labels": "z"}, "--labels z: .* no such column; it has 'x'"),
        ("x,y\n1,2\n", {"drop": ("z",)}, "--drop z"),
        ("x,y\n1,2\n", {"names": "x", "labels": "x"}, "both name 'x'"),
        ("x,x\n1,2\n", {"names": "x"}, "several columns called 'x'"),
        ("a,1,2\nb,3,4\n", {}, "say --header or --no-header"),
        ("a,2,1\nb,3,4\n", {}, "may be names of columns or data; say --header"),
        ("400,410,420\n0.1,0.2,0.3\n", {}, "say --header or --no-header"),
        ("x,y\n1,2\n", {"delimiter": "ab"}, "--delimiter must be one character"),
        ("x,y\n1,2\n", {"decimal": "x"}, "--decimal must be"),
        ("x,y\n1,2\n", {"variable": "x"}, "--variable is for files of arrays"),
        ("x,y\n1,2\n", {"shape": (2, 3)}, "--shape 2x3 does not fit the 2 features"),
        (PLAIN, {"transpose": True, "labels": "id"}, "--labels names a column"),
        (b"\x00\x01\x02\x03", {}, "is not a text file"),
        ('x,y\n1,"2\n3,4\n', {}, "is a quote not closed"),
    ],
)
def test_errors_say_where_and_what_to_do(text, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, **options)


def test_infinities_may_be_missing(tmp_path):
    table = read(tmp_path, "x,y\n1,-inf\ninf,4\n", missing=("inf",))
    np.testing.assert_array_equal(table.X, [[1, np.nan], [np.nan, 4]])


def test_empty_rows_and_columns_are_noted(tmp_path):
    notes = read(tmp_path, "x,y,z\n1,2,\n,,\n3,4,\n").notes
    assert any("1 feature has no value at all, such as 'z'" in note for note in notes)
    assert any("1 sample has no value at all" in note for note in notes)


def test_other_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not there"):
        read_table(tmp_path / "nothing.csv")
    for name in ("t.xlsx", "t"):
        (tmp_path / name).write_text("1")
        with pytest.raises(ValueError, match=r"no reader for .*; known are .csv"):
            read_table(tmp_path / name)
