"""CSV and its relatives: the traps, one by one."""

import time

import numpy as np
import pytest

from rpcag.files.reading import read_table
from rpcag.files.table import Reading
from rpcag.files.text import TextFile, unquoted

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


def test_decimal_commas_without_a_header(tmp_path):
    table = read(tmp_path, "1,5;2,5\n3,5;4,75\n-1;0,5\n")
    np.testing.assert_array_equal(table.X, [[1.5, 2.5], [3.5, 4.75], [-1, 0.5]])
    table = read(tmp_path, ";400,5;410,5\nleaf0;1,5;2\nleaf1;3;0,5\n")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [3, 0.5]])
    assert table.features == ["400,5", "410,5"]


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


def test_truth_is_text(tmp_path):
    with pytest.raises(ValueError, match=r"column 'x' of .* is text"):
        read(tmp_path, "x,y\nTrue,1\nFALSE,0\nTrue,3\n")


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
    monkeypatch.setattr("rpcag.files.columns.CELLS", 50)
    A = rng.standard_normal((3000, 4))
    rows = [f"s{i}," + ",".join(map(repr, r)) for i, r in enumerate(A.tolist())]
    table = read(tmp_path, "id,a,b,c,d\n" + "\n".join(rows))
    np.testing.assert_array_equal(table.X, A)
    assert table.samples[-1] == "s2999"
    late = [*rows, "s3000,1,2,three,4"]
    with pytest.raises(ValueError, match="line 3002, column 'c': 'three'"):
        read(tmp_path, "id,a,b,c,d\n" + "\n".join(late))


def long_table(rng, n=1500):
    """Lines with gaps in many words, and what they say."""
    A = rng.standard_normal((n, 4)) * 10.0 ** rng.integers(-300, 300, (n, 4))
    words = [[repr(a) for a in row] for row in A.tolist()]
    for i, word in enumerate(["", "NA", "NaN", "nan", " NULL", "?", "#N/A", "-"]):
        words[1100 + i][i % 4], A[1100 + i, i % 4] = word, np.nan
    return [[f"s{i}", *row] for i, row in enumerate(words)], A


@pytest.mark.parametrize(
    "dress", ["plain", "quotes", "crlf", "tabs", "commas", "bom", "sep"]
)
def test_numbers_are_read_to_the_last_bit(dress, tmp_path, rng):
    lines, A = long_table(rng)
    if dress == "quotes":
        lines = [[f'"{line[0]}, or so"', *line[1:]] for line in lines]
    if dress == "commas":
        lines = [[word.replace(".", ",") for word in line] for line in lines]
    delimiter = {"tabs": "\t", "commas": ";"}.get(dress, ",")
    end = "\r\n" if dress == "crlf" else "\n"
    text = end.join(delimiter.join(line) for line in [["id", *"abcd"], *lines])
    start = {"bom": "\ufeff", "sep": "sep=,\n"}.get(dress, "")
    table = read(tmp_path, start + text)
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
        (
            'x,1,"2"3,3,4',
            "line 1502: the row cannot be split into cells .*; is a quote not",
        ),
        ('x,1,"2,3,4', "is a quote not closed"),
        ("x,1,2," + "9" * 400 + ",4", "infinite values, the first in sample 'x'"),
        ("t,TRUE,2,3,4", "line 1502, column 'a': 'TRUE' is not a number"),
    ],
)
def test_errors_far_down_name_the_line(late, message, tmp_path, rng):
    lines, _ = long_table(rng)
    text = "\n".join(",".join(line) for line in [["id", *"abcd"], *lines])
    with pytest.raises(ValueError, match=message):
        read(tmp_path, f"{text}\n{late}\n")


@pytest.mark.parametrize(
    ("late", "sample", "value"),
    [
        ("Zoë,+1,2,3,4", "Zoë", 1.0),
        ('"say ""c""\nd",1,2,3,4', 'say "c"\nd', 1.0),
        ("t,nUlL,2,3,4", "t", np.nan),
        ("t,−1,2,3,4", "t", -1.0),
        ("t,−,2,3,4", "t", np.nan),
    ],
)
def test_rare_words_far_down_are_read(late, sample, value, tmp_path, rng):
    lines, A = long_table(rng)
    text = "\n".join(",".join(line) for line in [["id", *"abcd"], *lines, [late]])
    for encoding in ("utf-8", "latin-1"):
        if encoding == "latin-1" and "−" in late:
            continue  # it has no such letter
        table = read(tmp_path, text.encode(encoding))
        assert table.samples[-1] == sample
        np.testing.assert_array_equal(table.X[-1], [value, 2, 3, 4])
        np.testing.assert_array_equal(table.X[:-1], A)


def random_text(rng, delimiter):
    """Rows of random cells, quoted or not, and blank lines."""
    pieces = ["a", "1.5", "é", "∑", " ", "", "x#", '""', "x", "\u2212"]
    lines = []
    for _ in range(rng.integers(1, 8)):
        cells = []
        for _ in range(rng.integers(1, 5)):
            words = [pieces[k] for k in rng.integers(0, len(pieces), rng.integers(3))]
            if rng.random() < 0.4:
                inside = [*words, delimiter, "\n", "\r\n", "\r"][: rng.integers(1, 6)]
                cells.append(" " * rng.integers(2) + '"' + "".join(inside) + '"')
            else:
                cells.append("".join(words).replace('"', "") + 'y"' * rng.integers(2))
        lines.append(delimiter.join(cells) + " " * rng.integers(2) * (cells[-1] == "a"))
        lines += [""] * (rng.random() < 0.2)
    end = ["\n", "\r\n", "\r"][rng.integers(3)]
    return end.join(lines) + end * rng.integers(2)


@pytest.mark.parametrize("delimiter", ["comma", "semicolon", "tab", "bar", "space"])
def test_cells_in_the_file_are_those_that_were_read(delimiter, rng):
    mark = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}
    seen = 0
    for _ in range(500):
        text = random_text(rng, mark[delimiter])
        rows = TextFile("t.csv", text.encode(), mark[delimiter])
        for i, words in enumerate(rows):
            raws, behind = rows.split(i)
            parts = [a + b for a, b in zip(raws, behind, strict=True)]
            assert "".join(parts) == "".join(rows.lines[rows.begins[i] : rows.ends[i]])
            if delimiter == "space":
                assert [raw.strip() for raw in raws][: len(words)] == words
            else:
                assert list(map(unquoted, raws)) == [word.strip() for word in words]
            seen += len(words)
    assert seen > 2000


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
        ("x,y\n1,2\n3\n", {}, "line 3 has 1 field but the first line has 2"),
        ("x,y\n1,2\n3,4,5\n", {}, "line 3 has 3 fields"),
        ("x,y\n1,2\n3,inf\n", {}, "infinite values, the first in sample '1', feature"),
        ("x,y\n1,2\n3," + "9" * 400 + "\n", {}, "infinite values"),
        ("x,y\n1,2\n3,4a\n5,6\n", {}, "line 3, column 'y': '4a' is not a number"),
        ("x,y\n1,2\n3,1_000\n5,6\n", {}, "'1_000' is not a number"),
        ("x;y\n1,5;2\n1.234;3\n", {}, "'1.234' is not a number with a decimal comma"),
        ('x,y\n"1,5",2\n3,4\n3,4\n', {}, "'1,5' is not .* decimal=',' reads 1.5"),
        ("x,y\nNA,NA\n", {}, "everything is missing"),
        ("x,y\n1,u\n2,u\n", {}, "column 'y' of .* is text: labels='y' keeps"),
        ("a,b,x\np,u,1\nq,v,2\n", {}, "column 'b' of .* is text"),
        ("a,b\np,u\nq,v\n", {"labels": "b"}, "has no column of numbers"),
        ("x,y\n1,2\n", {"labels": "z"}, "labels='z': .* no such column; it has 'x'"),
        ("x,y\n1,2\n", {"drop": ("z",)}, "drop='z'"),
        ("x,y\n1,2\n", {"names": "x", "labels": "x"}, "both name 'x'"),
        ("x,x\n1,2\n", {"names": "x"}, "several columns called 'x'"),
        ("a,1,2\nb,3,4\n", {}, "pass header=True or header=False"),
        ("a,2,1\nb,3,4\n", {}, "may be names of columns or data; pass header="),
        ("400,410,420\n0.1,0.2,0.3\n", {}, "pass header=True or header=False"),
        ("x,y\n1,2\n", {"delimiter": "ab"}, "delimiter must be one character"),
        ("x,y\n1,2\n", {"decimal": "x"}, "decimal must be"),
        ("x,y\n1,2\n", {"variable": "x"}, "variable= is for files of arrays"),
        (
            "x,y\n1,2\n",
            {"shape": (2, 3)},
            r"shape=\(2, 3\) does not fit the 2 features",
        ),
        (PLAIN, {"transpose": True, "labels": "id"}, "labels= names a column"),
        (b"\x00\x01\x02\x03", {}, "is not a text file"),
        ('x,y\n1,"2\n3,4\n', {}, "is a quote not closed"),
    ],
)
def test_errors_say_where_and_what_to_do(text, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, **options)


ROWS = np.array([[1, 2, 4, 3], [3, 5, 1.5, 2], [4, 4, 7, 8], [6, 7, 0, 1]])


def lines_of(first, names, rows=ROWS):
    """Text with the line `first` above named rows; no name where `names` is None."""
    body = [",".join(map(repr, row)) for row in rows.tolist()]
    if names is not None:
        body = [f"{name},{line}" for name, line in zip(names, body, strict=True)]
    return "\n".join([first, *body]) + "\n"


@pytest.mark.parametrize("names", [["leaf0", "leaf1", "7", "leaf3"], range(4)])
@pytest.mark.parametrize("corner", ["", "Unnamed: 0"])
@pytest.mark.parametrize(
    "columns",
    ["400.5,410.5,420.5,430.5", "-1,1,0,5", "0.5,0.1,1e3,2", "2019,2020,2022,2021"],
)
def test_an_empty_corner_makes_a_header_of_numbers(columns, corner, names, tmp_path):
    table = read(tmp_path, lines_of(f"{corner},{columns}", names))
    np.testing.assert_array_equal(table.X, ROWS)
    assert table.features == columns.split(",")
    assert table.samples == [str(name) for name in names]


def test_pandas_columns_of_decimals_are_a_header(tmp_path, rng):
    pandas = pytest.importorskip("pandas")
    A = rng.standard_normal((12, 4))
    frame = pandas.DataFrame(A, columns=[0.5, 1.0, 1.5, 2.0])
    frame.to_csv(tmp_path / "t.csv")
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, A)
    assert table.features == ["0.5", "1.0", "1.5", "2.0"]
    assert table.samples == [str(i) for i in range(12)]


def test_a_gap_at_the_start_of_data_is_a_gap(tmp_path):
    table = read(tmp_path, ",2.5,1\n1.5,2,3\n0.5,1,4\n")
    np.testing.assert_array_equal(table.X, [[np.nan, 2.5, 1], [1.5, 2, 3], [0.5, 1, 4]])


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("400.5,410.5,420.5,430.5,440.5,450.5", None),
        ("4000,3990,3980,3970,3960,3950", None),
        ("-1,-0.5,0,0.5,1,1.5", None),
        ("sample,400.5,410.5,420.5,430.5,440.5,450.5", ["a", "b", "c", "d"]),
        (",400.5,410.5,420.5,430.5,440.5,450.5", [5, 7, 9, 12]),
    ],
)
def test_sorted_numbers_may_be_a_header(first, names, tmp_path):
    text = lines_of(first, names, np.hstack([ROWS, ROWS[:, :2]]) + 0.25)
    with pytest.raises(ValueError, match="may be names of columns or data; pass head"):
        read(tmp_path, text)
    assert len(read(tmp_path, text, header=True).X) == 4


def test_long_lines_of_growing_decimals_may_be_a_header(tmp_path, rng):
    first = ",".join(f"{400 + j**1.5:.2f}" for j in range(9))
    with pytest.raises(ValueError, match="may be names of columns or data; pass head"):
        read(tmp_path, lines_of(first, None, rng.standard_normal((5, 9))))


@pytest.mark.parametrize(
    ("rows", "digits"),
    [
        (np.arange(24.0).reshape(4, 6) / 4, 2),  # all lines are equally spaced
        (np.sort(np.random.default_rng(0).random((5, 12)), axis=1), 6),  # all grow
        (np.array([[-2, -1, 0, 1], [3, 5, 4, -7], [9, 1, 2, 3]]), 0),  # all are whole
        (np.array([[0.1, 0.4, 0.5, 0.9], [3, 5, 4, -7.5]]), 1),  # few, not spaced
        (np.array([[0.5, 1.0, 1.5], [3, 5, 4.5]]), 1),  # too few to be told
    ],
)
def test_sorted_first_lines_of_data_are_data(rows, digits, tmp_path):
    text = "\n".join(",".join(f"{a:.{digits}f}" for a in row) for row in rows)
    assert read(tmp_path, text).X.shape == rows.shape


def test_tables_without_a_header_are_hardly_ever_asked_about(tmp_path, rng):
    asked = 0
    for i in range(300):
        A = rng.standard_normal((6, rng.integers(2, 12)))
        text = "\n".join(",".join(f"{a:.{i % 4 + 1}f}" for a in row) for row in A)
        try:
            shape = read(tmp_path, text).X.shape
        except ValueError:
            asked += 1
        else:
            assert shape == A.shape
    assert asked <= 1


def test_points_among_decimal_commas_are_not_names(tmp_path):
    told = r"line 2, column 'x': '1\.5' is not a number with a decimal comma; use one"
    with pytest.raises(ValueError, match=told):
        read(tmp_path, "x;y\n1.5;2,5\n2.5;3,5\n4.5;1,5\n")
    told = "with a decimal point; use one mark in the file, decimal=',' reads 1.5"
    with pytest.raises(ValueError, match=told):
        read(tmp_path, 'x,y\n"1,5",2\n"2,5",3\n"4,5",1\n')


def test_text_of_digits_in_parquet_is_names(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra rpcag[files]")
    from pyarrow import parquet

    words = ["007", "008", "19"]
    table = pyarrow.table({"id": words, "x": [1.5, 2.5, 3.5]})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").samples == words


@pytest.mark.parametrize(
    "words",
    [
        ["s1", "s2", "s3"],
        ["2021-05-01", "2021-05-02", "2021-05-03"],
        ["12:30", "12:40", "12:50"],
        ["A-17", "A-18", "B-3"],
        ["3rd street", "4th street", "5th street"],
        ["1st", "2nd", "3rd"],
        ["1A", "1C", "2A"],
        ["10_1", "10_2", "11_1"],
        ["1.2.3", "1.2.4", "2.0.0"],
        ["5 mm", "steel", "oak", "10 mm"],
        ["1.5 mm", "2 mm", "3 mm"],
    ],
)
def test_names_that_have_digits_are_names(words, tmp_path):
    text = "id,b\n" + "".join(f"{w},{i + 1.5}\n" for i, w in enumerate(words))
    assert read(tmp_path, text).samples == words


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("t; mean,b\n1,2\n3,5\n4,4\n6,7\n", ["t; mean", "b"]),
        ("t|mean,b\n1,2\n3,5\n4,4\n6,7\n", ["t|mean", "b"]),
        ("t\tmean,b\n1,2\n3,5\n4,4\n6,7\n", ["t\tmean", "b"]),
        ("t; a; b,b\n1,2\n3,5\n4,4\n6,7\n", ["t; a; b", "b"]),
        ("x, y;b\n1;2\n3;5\n4;4\n6;7\n", ["x, y", "b"]),
        ("x,y b\n1 2\n3 5\n4 4\n6 7\n", ["x,y", "b"]),
        ("i;d,x,b\na;1,1,2\na;2,3,5\nb;1,4,4\nb;2,6,7\n", ["x", "b"]),
    ],
)
def test_another_delimiter_may_be_in_a_name(text, features, tmp_path):
    table = read(tmp_path, text)
    assert table.features == features
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 5], [4, 4], [6, 7]])


@pytest.mark.parametrize("name", ["t.csv", "t.txt"])
@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_first_line_of_excel_says_the_delimiter(delimiter, end, name, tmp_path):
    text = f"sep={delimiter}\n" + PLAIN.replace(",", delimiter)
    text = text.replace("\n", end)
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        table = read(tmp_path, text.encode(encoding), name)
        np.testing.assert_array_equal(table.X, [[1, 2], [np.nan, 4], [5, np.nan]])
        assert (table.samples, table.features) == (["a", "b", "c"], ["x", "y"])
    with pytest.raises(ValueError, match="line 6 has 2 fields"):
        read(tmp_path, f"{text}d{delimiter}1{end}", name)


def test_the_delimiter_of_excel_counts_where_another_fits(tmp_path):
    table = read(tmp_path, "sep=;\n1,5;2,5\n3,5;4,75\n")
    np.testing.assert_array_equal(table.X, [[1.5, 2.5], [3.5, 4.75]])
    # What is asked for counts more.
    table = read(tmp_path, "sep=;\nx,y\n1,2\n3,4\n", delimiter=",")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


def test_the_minus_of_typesetters_is_a_minus(tmp_path):
    table = read(tmp_path, "x,y\n−281.76,1\n2,−1e−3\n−,3\n")
    np.testing.assert_array_equal(table.X, [[-281.76, 1], [2, -1e-3], [np.nan, 3]])
    table = read(tmp_path, "x;y\n−281,76;1\n−2,5;−1\n")
    np.testing.assert_array_equal(table.X, [[-281.76, 1], [-2.5, -1]])
    table = read(tmp_path, "x,y\n−999,1\n2,−999.0\n", missing=("−999",))
    np.testing.assert_array_equal(table.X, [[np.nan, 1], [2, np.nan]])
    many = np.arange(1.0, 101)
    table = read(tmp_path, "x,y\n" + "".join(f"−{a},{a}\n" for a in many))
    np.testing.assert_array_equal(table.X, np.column_stack([-many, many]))


def test_errors_name_the_delimiter_that_was_guessed(tmp_path):
    text = "x;y\n1;2\n3\n"
    with pytest.raises(ValueError, match="line 3 has 1 field but") as error:
        read(tmp_path, text)
    assert "';' was taken for the delimiter; delimiter= sets" in str(error.value)
    with pytest.raises(ValueError, match="line 3 has 1 field but") as error:
        read(tmp_path, text, delimiter=";")
    assert "delimiter=" not in str(error.value)
    with pytest.raises(ValueError, match=r"no column of numbers.* ',' was taken for"):
        read(tmp_path, "x,a\n1:5,p\n2:5,q\n3:5,p\n", labels="a")


def test_infinities_may_be_missing(tmp_path):
    table = read(tmp_path, "x,y\n1,-inf\ninf,4\n", missing=("inf",))
    np.testing.assert_array_equal(table.X, [[1, np.nan], [np.nan, 4]])


def test_empty_rows_and_columns_are_noted(tmp_path):
    notes = read(tmp_path, "x,y,z\n1,2,\n,,\n3,4,\n").notes
    assert any("1 feature has no value at all, such as 'z'" in note for note in notes)
    assert any("1 sample has no value at all" in note for note in notes)


def test_other_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_table(tmp_path / "nothing.csv")
    for name in ("t.doc", "t"):
        (tmp_path / name).write_text("1")
        with pytest.raises(ValueError, match=r"no reader for .*; tables are .csv"):
            read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["12.5 kg", "13.5 kg", "9.5 kg"], "12.5 kg"),
        (["$1.50", "$2.50", "$3.50"], "$1.50"),
        (["1.234,5", "2.345,6", "1,5 m"], "1.234,5"),
        (["3 mm", "steel", "5 mm"], "3 mm"),
    ],
)
def test_numbers_with_units_that_become_names_are_told(words, shown, tmp_path):
    text = "m;x;y\n" + "".join(f"{w};{i};{-i}\n" for i, w in enumerate(words))
    table = read(tmp_path, text)
    assert table.samples == words
    (note,) = table.notes
    assert note.startswith(f"column 'm' is text, such as {shown!r}, and names the samp")
    with pytest.raises(ValueError, match="as data, write plain numbers, without units"):
        read(tmp_path, text + f"{words[0]};7;8\n")
    assert read(tmp_path, text, names="m").notes == []


@pytest.mark.parametrize(
    "words",
    [
        ["12A", "13A", "14B"],
        ["2021-05-01", "2021-05-02", "2021-05-03"],
        ["10:00", "11:00", "12:00"],
        ["1.2.3", "1.2.4", "1.3.0"],
        ["192.168.0.1", "192.168.0.2", "10.0.0.1"],
    ],
)
def test_other_names_with_digits_have_no_note(words, tmp_path):
    text = "m;x;y\n" + "".join(f"{w};{i};{-i}\n" for i, w in enumerate(words))
    assert read(tmp_path, text).notes == []


@pytest.mark.parametrize(
    "text",
    [
        "x;y\n1.020;2.5\n950;3\n970;4\n",  # 2.5 can only be a decimal
        "x;y\n1.020;0.123\n950;3\n970;4\n",
        "x;y\n1.020;1.2345\n950;3\n970;4\n",
        "x;y\n1.020;1234.567\n950;3\n970;4\n",
        "x;y\n1.020;1\n1950;3\n970;4\n",  # no separator in 1950
        "x;y\n1.020;1\n1.950;3\n2.000;4\n",  # all columns have one unit each
    ],
)
def test_three_decimals_are_read_if_they_are_plain(text, tmp_path):
    assert read(tmp_path, text).X[0, 0] == 1.02


def test_a_mark_that_may_divide_thousands_is_refused(tmp_path):
    text = "x;y\n1.020;2\n950;3\n970;4\n"
    with pytest.raises(ValueError, match=r"column 'x' of .*: '1\.020' may be a"):
        read(tmp_path, text)
    assert read(tmp_path, text, decimal=".").X[0, 0] == 1.02
