"""Tables that are written again: unchanged cells are the same to the byte."""

import gzip
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from rpcag.files.numbers import number_style
from rpcag.files.reading import kind_of
from rpcag.files.repaired import cells_path, check_format
from rpcag.files.sheet import iso_seconds, make_sheet, read_sheet, unix_seconds
from rpcag.files.table import Reading
from rpcag.files.text import read_text

OTHER = Reading(sheet="Other")
PLAIN = "id,x,y,z\na,1.50,2,10\nb,,4,20\nc,5.25,NA,30\nd,7.00,8,-45\n"


def read(text, time=None, **options):
    data = text if isinstance(text, bytes) else text.encode()
    reading = Reading(time=time, **options)
    return make_sheet(read_text("t.csv", data, reading), reading)


def written(sheet, values, changed):
    file = io.BytesIO()
    sheet.file.write(file, sheet.edits(values, changed))
    return file.getvalue()


def unchanged(sheet):
    return written(sheet, sheet.X, np.zeros(sheet.X.shape, dtype=bool))


def filled(sheet, value=9.0):
    gaps = np.isnan(sheet.X)
    return written(sheet, np.where(gaps, value, sheet.X), gaps)


# Each is PLAIN in another dress, and what is in the two gaps then.
DRESSES = {
    "plain": (PLAIN, "9.00", "9"),
    "crlf": (PLAIN.replace("\n", "\r\n"), "9.00", "9"),
    "cr": (PLAIN.replace("\n", "\r"), "9.00", "9"),
    "tabs": (PLAIN.replace(",", "\t"), "9.00", "9"),
    "bars": (PLAIN.replace(",", "|"), "9.00", "9"),
    "decimal commas": (PLAIN.replace(",", ";").replace(".", ","), "9,00", "9"),
    "no line break at the end": (PLAIN.rstrip("\n"), "9.00", "9"),
    "blank lines": (PLAIN.replace("\n", "\n\n") + "\n\n", "9.00", "9"),
    "comments": ('# by "hand", 5" wide\n# and more\n' + PLAIN, "9.00", "9"),
    "sep": ("sep=;\r\n" + PLAIN.replace(",", ";"), "9.00", "9"),
    "byte order mark": (b"\xef\xbb\xbf" + PLAIN.encode(), "9.00", "9"),
    "utf-16": (PLAIN.encode("utf-16"), "9.00", "9"),
    "utf-16 big endian": (b"\xfe\xff" + PLAIN.encode("utf-16-be"), "9.00", "9"),
    "utf-32": (PLAIN.encode("utf-32"), "9.00", "9"),
    "windows": (PLAIN.replace("a", "Zoë").encode("cp1252"), "9.00", "9"),
    "quoted text": (PLAIN.replace("a,", '"a, ""b""\nc",'), "9.00", "9"),
    "stray quotes": (
        PLAIN.replace("a,", '5" pipe,').replace("b,", 'x"y"z,'),
        "9.00",
        "9",
    ),
    "blanks after delimiters": (PLAIN.replace(",", ", "), "9.00", "9"),
    "blanks before delimiters": (PLAIN.replace(",", "  ,"), "9.00", "9"),
    "delimiters at the ends": (PLAIN.replace("\n", ",\n"), "9.00", "9"),
    "unnamed index": (PLAIN.replace("id", ""), "9.00", "9"),
    "blank separated": (PLAIN.replace(",,", ",?,").replace(",", "   "), "9.00", "9"),
}


@pytest.mark.parametrize("name", DRESSES)
def test_a_table_without_changes_is_the_same_to_the_byte(name):
    text, *_ = DRESSES[name]
    data = text if isinstance(text, bytes) else text.encode()
    sheet = read(data)
    assert sheet.features == ["x", "y", "z"]
    assert np.isnan(sheet.X).sum() == 2
    assert unchanged(sheet) == data


@pytest.mark.parametrize("name", DRESSES)
def test_only_changed_cells_differ(name):
    text, x, y = DRESSES[name]
    data = text if isinstance(text, bytes) else text.encode()
    sheet = read(data)
    new = filled(sheet)
    again = read(new)
    np.testing.assert_array_equal(again.X, np.where(np.isnan(sheet.X), 9, sheet.X))
    edits = sheet.edits(np.where(np.isnan(sheet.X), 9, sheet.X), np.isnan(sheet.X))
    assert edits.after == [x, y]
    # Put the old words back, and it is the file that was read.
    file = io.BytesIO()
    again.file.write(file, replace(edits, after=edits.before))
    if name == "blanks before delimiters":  # a number takes the place of blanks
        assert file.getvalue().replace(b" ", b"") == data.replace(b" ", b"")
    else:
        assert file.getvalue() == data


def test_quoted_numbers_stay_quoted():
    data = '"x","y","z"\n"1,5","2","a ""b"""\n,"5","c"\n"","4","d"\n"2,5","NA","e"\n'
    new = filled(read(data, delimiter=",", decimal=","), 7.25).decode()
    assert new == (
        '"x","y","z"\n"1,5","2","a ""b"""\n"7,2","5","c"\n"7,2","4","d"\n'
        '"2,5","7","e"\n'
    )


def test_blanks_keep_their_place():
    data = "x , y\n 1.5,  20\n    ,  30\n 2.5,    \n"
    assert filled(read(data), 9).decode() == "x , y\n 1.5,  20\n 9.0,  30\n 2.5,   9\n"


@pytest.mark.parametrize(
    ("words", "value", "expected"),
    [
        (["1.50", "2.25"], 3.14159, "3.14"),
        (["1.50", "2.25"], -0.001, "0.00"),
        (["1.5", "2.25", "3.75", "4"], 3.1, "3.1"),
        (["1.5", "2.25", "3.75", "4"], 3.0, "3"),
        (["1.0", "2.25", "3.75"], 3.0, "3.0"),
        (["1", "20"], 3.0, "3"),
        (["5.0", "6.0"], 7.0, "7.0"),
        (["1.5e3", "2.5e-4"], 1234.5, "1.2e+03"),
        (["1.50E+03", "2.50E-04"], 0.000123456, "1.23E-04"),
        (["+1.5", "\u22122.5", ".5"], -4.0, "-4.0"),
        ([], 2.5, "2.5"),
    ],
)
def test_numbers_are_written_like_their_column(words, value, expected):
    assert number_style(words)(value) == expected


def test_decimal_commas():
    write = number_style(["1,25", "-3,50"], ",")
    assert [write(x) for x in (-2.5, -0.125, 3)] == ["-2,50", "-0,12", "3,00"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_thousands_of_rows(rng, line_end):
    n, p = 4000, 6
    X = rng.standard_normal((n, p))
    gaps = rng.random((n, p)) < 0.1
    lines = ["note," + ",".join(f"s{j}" for j in range(p))]
    for i in range(n):
        note = [f"n{i}", f'"n{i}, with ""quotes"""', f'"two\nlines {i}"'][i % 3]
        cells = [
            "" if gap else f"{x:.3f}" for x, gap in zip(X[i], gaps[i], strict=True)
        ]
        lines.append(",".join([note, *cells]))
    data = (line_end.join(lines) + line_end).encode()
    sheet = read(data)
    np.testing.assert_array_equal(np.isnan(sheet.X), gaps)
    assert unchanged(sheet) == data
    values = np.where(gaps, X + 100, sheet.X)
    expected = data
    again = read(written(sheet, values, gaps))
    np.testing.assert_allclose(again.X, values, atol=5e-4)
    np.testing.assert_array_equal(again.X[~gaps], sheet.X[~gaps])
    assert again.samples == sheet.samples
    # Put the gaps back, and it is the file that was read.
    file = io.BytesIO()
    edits = sheet.edits(values, gaps)
    again.file.write(file, replace(edits, after=[""] * len(edits.rows)))
    assert file.getvalue() == expected


# -- what the columns are --------------------------------------------------------------


def table(n=12, **columns):
    base = {"p": [f"{i * 1.5 % 7:.1f}" for i in range(n)]}
    base |= {"q": [f"{i * 2.5 % 9:.1f}" for i in range(n)]}
    columns = {name: list(map(str, values)) for name, values in columns.items()} | base
    lines = [",".join(columns)]
    lines += [",".join(row) for row in zip(*columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (range(12), "index"),
        (range(1, 13), "index"),
        (range(501, 513), "index"),
        (["1", "2", "", *range(4, 13)], "index"),
        ([2**60 + 7 * i for i in range(12)], "identifier"),
        ([*range(1000, 1006), *range(900_000, 900_018, 3)], "identifier"),
        ([*range(1000, 1006), "", *range(900_000, 900_005)], "number"),
        ([*range(1000, 1006), *range(1005, 1011)], "number"),
        ([1.5 + i * i for i in range(12)], "number"),
        ([True, False] * 6, "text"),
        (["yes", "no"] * 6, "text"),
        ([0, 1, 1] * 4, "boolean"),
        ([f"2024-05-{d + 1:02}" for d in range(12)], "time"),
        ([f"2024-05-01T{d:02}:00:00Z" for d in range(12)], "time"),
        ([1_700_000_000 + 60 * d for d in range(12)], "time"),
        ([1_700_000_000_000 + 60 * d for d in range(12)], "time"),
        ([1_700_000_000 - 60 * d for d in range(12)], "number"),
        ([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], "number"),
        (["76 %", "5 %", "9 %"] * 4, "text"),
    ],
)
def test_what_a_column_is(values, role):
    sheet = read(table(c=values))
    assert sheet.roles == {"c": role, "p": "number", "q": "number"}
    assert sheet.features == (["c", "p", "q"] if role == "number" else ["p", "q"])
    assert (sheet.times is not None) == (role == "time")
    assert sheet.time == ("c" if role == "time" else None)
    assert unchanged(sheet) == table(c=values).encode()


def test_true_among_numbers_is_not_a_number():
    lines = [f"0,{i * 2.5 % 9},{i * 1.5 % 7}" for i in range(3000)]
    text = "x,y,z\n" + "\n".join(lines) + "\n"
    with pytest.raises(ValueError, match="line 3002, column 'x': 'true' is not a numb"):
        read(text + "true,3,1\n")


def test_numbers_with_units_are_text():
    assert read(table(c=["76 %", "5 %", "9 %"] * 4)).roles["c"] == "text"


def test_time_can_be_named_and_refused():
    hours = [3 * i for i in range(12)]
    assert read(table(h=hours), time="h").times.tolist() == hours
    days = [f"2024-05-{d + 1:02}" for d in range(12)]
    assert read(table(c=days), time=False).roles["c"] == "text"
    with pytest.raises(ValueError, match=r"time='x': t\.csv has no such column"):
        read(table(), time="x")
    with pytest.raises(ValueError, match=r"'a' in t\.csv is neither an ISO 8601"):
        read(PLAIN, time="id")


def test_kept_columns_are_not_even_read():
    sheet = read(PLAIN.replace(",4,", ",four,"), drop=("y",))
    assert sheet.roles["y"] == "kept"
    assert sheet.features == ["x", "z"]
    assert b"b,9.00,four,20" in filled(sheet)


def test_rows_are_named():
    assert read(PLAIN).samples == list("abcd")
    assert read("x,y\n1.5,2\n3,4\n").samples == ["1", "2"]
    assert read(",x,y\n7,1.5,2\n9,3,4\n").samples == ["7", "9"]


def test_whole_numbers_are_told():
    np.testing.assert_array_equal(read(PLAIN).integers, [False, True, True])


def test_further_values_are_missing():
    sheet = read(PLAIN.replace("-45", "-999"), missing=("-999",))
    assert np.isnan(sheet.X[3, 2])
    assert filled(sheet).endswith(b"d,7.00,8,9\n")


def test_timestamps():
    assert iso_seconds(["", ""]) is None
    assert iso_seconds(["20240501", "20240502"]) is None
    assert iso_seconds(["2024-05", "2024-06"]) is not None
    words = ["1970-01-02", "1970-01-01 00:01", "1970-01-01T02:00+01:00", ""]
    np.testing.assert_array_equal(iso_seconds(words), [86400, 60, 3600, np.nan])
    mixed = iso_seconds(["2024-05-01"] * 30 + ["soon"])
    assert np.isnan(mixed).tolist() == [False] * 30 + [True]
    assert unix_seconds(np.array([1.0, 2.0, 3.0])) is None
    np.testing.assert_array_equal(
        unix_seconds(np.array([1.6e12, np.nan, 1.7e12, 1.8e12])),
        [1.6e9, np.nan, 1.7e9, 1.8e9],
    )


# -- compressed, and other formats -----------------------------------------------------


def test_gzip_is_read(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    assert unchanged(read_sheet(path)) == PLAIN.encode()
    path.write_bytes(gzip.compress(PLAIN.encode())[:-9])
    with pytest.raises(ValueError, match=r"t\.csv\.gz cannot be read as gzip"):
        read_sheet(path)


@pytest.mark.parametrize(
    ("name", "kind", "cells"),
    [
        ("a.csv", "text", "a.cells.csv"),
        ("a.b.TSV", "text", "a.b.cells.csv"),
        ("a.csv.gz", "text", "a.cells.csv"),
        ("a.parquet", "parquet", "a.cells.csv"),
        ("a.xlsx", "excel", "a.cells.csv"),
    ],
)
def test_names_of_files(name, kind, cells, tmp_path):
    assert kind_of(tmp_path / name) == kind
    assert cells_path(tmp_path / name) == tmp_path / cells


@pytest.mark.parametrize("name", ["a.npy", "a", "a.parquet.gz"])
def test_other_files_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"no reader for .*; tables are|only text"):
        kind_of(tmp_path / name)


def parquet_table(rng, n=40):
    pa = pytest.importorskip("pyarrow", reason="needs the extra rpcag[files]")
    from decimal import Decimal

    a, f = rng.standard_normal((2, n))
    start = np.datetime64("2024-01-01", "us")
    columns = {
        "when": pa.array(start + np.arange(n), pa.timestamp("us", tz="UTC")),
        "a": pa.array(a.round(2)),
        "null": pa.array([None if i == 3 else float(i % 9) for i in range(n)]),
        "whole": pa.array([None if i == 4 else i % 7 for i in range(n)], pa.uint8()),
        "f": pa.array(f.astype(np.float32)),
        "d": pa.array(
            [None if i == 6 else Decimal(i % 8).scaleb(-2) for i in range(n)],
            pa.decimal128(9, 3),
        ),
        "kind": pa.array(["u", "v"] * (n // 2)).dictionary_encode(),
        "word": pa.array([f"w{i}" for i in range(n)]),
        "flag": pa.array([True, None] * (n // 2)),
        "list": pa.array([[1, 2]] * n),
    }
    schema = pa.schema(
        [
            pa.field(name, column.type, metadata={"unit": "m"})
            for name, column in columns.items()
        ],
        metadata={"made": "by hand"},
    )
    return pa.table(columns, schema=schema)


def test_parquet_has_no_header_to_choose(rng, tmp_path):
    old = parquet_table(rng)
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(old, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="header= is for text and Excel workbooks"):
        read_sheet(tmp_path / "t.parquet", Reading(header=False))


def test_parquet_keeps_its_schema_and_unchanged_values(rng, tmp_path):
    old = parquet_table(rng)
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(old, path, compression="zstd", row_group_size=15)
    sheet = read_sheet(path)
    assert sheet.features == ["a", "null", "whole", "f", "d"]
    assert (sheet.time, sheet.roles["flag"]) == ("when", "boolean")
    assert np.isnan(sheet.X).sum() == 3
    values = np.where(np.isnan(sheet.X), 300.126, sheet.X)
    changed = np.isnan(sheet.X)
    changed[7, 0] = changed[8, 3] = True
    values[7, 0] = 3.14159
    values[8, 3] = 0.5
    edits = sheet.edits(values, changed)
    assert edits.after == ["300.0", "255", "300.126", "3.14", "0.5"]
    assert edits.before[:3] == ["", "", ""]
    with (tmp_path / "u.parquet").open("wb") as file:
        sheet.file.write(file, edits)
    new = parquet.read_table(tmp_path / "u.parquet")
    stored = parquet.read_table(path)
    assert new.schema.equals(stored.schema, check_metadata=True)
    for name in old.column_names:
        pairs = zip(stored[name].to_pylist(), new[name].to_pylist(), strict=True)
        different = [i for i, (a, b) in enumerate(pairs) if a != b]
        assert different == {
            "a": [7], "null": [3], "whole": [4], "f": [8], "d": [6],
        }.get(name, [])  # fmt: skip
    group = parquet.ParquetFile(tmp_path / "u.parquet").metadata.row_group(0)
    assert (group.num_rows, group.column(1).compression) == (15, "ZSTD")


def workbook(path, rows=None):
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra rpcag[excel]")
    from datetime import datetime, timedelta

    book = openpyxl.Workbook()
    page = book.active
    page.title = "Data"
    page.append(["when", "a", "b", "c", "sum", "kind"])
    for i in range(30):
        when = datetime(2024, 1, 1) + timedelta(hours=i)
        formula = f"=B{i + 2}+C{i + 2}"
        page.append([when, round(0.37 * i % 5, 2), i * 7 % 11, 1.5 * i, formula, "x"])
    page["B5"] = None
    page["C6"] = "NA"
    page["B9"].font = openpyxl.styles.Font(bold=True)
    page["D9"].number_format = "0.000"
    chart = openpyxl.chart.LineChart()
    chart.add_data(openpyxl.chart.Reference(page, min_col=2, min_row=1, max_row=9))
    page.add_chart(chart, "H2")
    other = book.create_sheet("Other")
    for row in rows or [["x", "y"], [1.5, 2], [None, 4], [3, 5]]:
        other.append(row)
    book.save(path)
    return openpyxl


def cells(book, name):
    return {cell.coordinate: cell for row in book[name].iter_rows() for cell in row}


def test_a_workbook_keeps_formats_formulas_and_charts(tmp_path):
    openpyxl = workbook(tmp_path / "t.xlsx")
    sheet = read_sheet(tmp_path / "t.xlsx")
    assert sheet.features == ["a", "b", "c"]
    assert (sheet.time, sheet.roles["sum"]) == ("when", "formula")
    changed = np.isnan(sheet.X)
    changed[7, 2] = True
    values = np.where(changed, 3.456, sheet.X)
    edits = sheet.edits(values, changed)
    assert edits.before == ["", "NA", "10.5"]
    assert edits.after == ["3.46", "3", "3.5"]
    with (tmp_path / "u.xlsx").open("wb") as file:
        sheet.file.write(file, edits)
    old = openpyxl.load_workbook(tmp_path / "t.xlsx")
    new = openpyxl.load_workbook(tmp_path / "u.xlsx")
    assert new.calculation.fullCalcOnLoad
    assert len(new["Data"]._charts) == 1
    for name in ("Data", "Other"):
        a, b = cells(old, name), cells(new, name)
        assert a.keys() == b.keys()
        assert all(a[k].number_format == b[k].number_format for k in a if k != "B5")
        assert all(a[k].font.b == b[k].font.b for k in a)
        found = {k: b[k].value for k in a if a[k].value != b[k].value}
        assert found == ({"B5": 3.46, "C6": 3, "D9": 3.5} if name == "Data" else {})


def test_formulas_and_charts_are_noted(tmp_path):
    workbook(tmp_path / "t.xlsx")
    formulas, charts = read_sheet(tmp_path / "t.xlsx").notes[-2:]
    assert "formulas but not their results; open it in a spreadsheet" in formulas
    assert "charts, pictures, sparklines and comments may change" in charts


def test_a_workbook_with_macros_stays_one(tmp_path):
    openpyxl = workbook(tmp_path / "t.xlsx")
    book = openpyxl.load_workbook(tmp_path / "t.xlsx", keep_vba=True)
    book.save(tmp_path / "t.xlsm")
    sheet = read_sheet(tmp_path / "t.xlsm")
    gaps = np.isnan(sheet.X)
    with (tmp_path / "u.xlsm").open("wb") as file:
        sheet.file.write(file, sheet.edits(np.where(gaps, 2.5, sheet.X), gaps))
    with zipfile.ZipFile(tmp_path / "u.xlsm") as archive:
        assert b"macroEnabled" in archive.read("[Content_Types].xml")
    with pytest.raises(ValueError, match=r"choose an output such as repaired\.xlsm"):
        check_format(tmp_path / "t.xlsm", tmp_path / "u.xlsx")


def test_sheets_are_chosen_by_name(tmp_path):
    openpyxl = workbook(tmp_path / "t.xlsx")
    sheet = read_sheet(tmp_path / "t.xlsx", OTHER)
    np.testing.assert_array_equal(sheet.X, [[1.5, 2], [np.nan, 4], [3, 5]])
    with (tmp_path / "u.xlsx").open("wb") as file:
        gaps = np.isnan(sheet.X)
        sheet.file.write(file, sheet.edits(np.where(gaps, 2.5, sheet.X), gaps))
    new = openpyxl.load_workbook(tmp_path / "u.xlsx")
    assert new["Other"]["A3"].value == 2.5
    with pytest.raises(ValueError, match="no sheet called 'X'; it has 'Data', 'Other'"):
        read_sheet(tmp_path / "t.xlsx", Reading(sheet="X"))


def test_rows_and_cells_that_a_workbook_does_not_store_are_added(tmp_path):
    rows = [["x", "y"], [1.5, 2], [], [None, 4], [3, 5]]
    openpyxl = workbook(tmp_path / "t.xlsx", rows)
    sheet = read_sheet(tmp_path / "t.xlsx", OTHER)
    gaps = np.isnan(sheet.X)
    assert gaps.sum() == 3
    with (tmp_path / "u.xlsx").open("wb") as file:
        sheet.file.write(file, sheet.edits(np.where(gaps, 9.0, sheet.X), gaps))
    new = openpyxl.load_workbook(tmp_path / "u.xlsx")["Other"]
    found = [[cell.value for cell in row] for row in new.iter_rows()]
    assert found == [["x", "y"], [1.5, 2], [9, 9], [9, 4], [3, 5]]


def test_true_among_the_numbers_of_a_workbook_names_the_cell(tmp_path):
    workbook(tmp_path / "t.xlsx", [["x", "y"], [1.5, 2], [5, True], [3, 5], [4, 6]])
    with pytest.raises(ValueError, match=r"cell B3, column 'y': 'True' is not a numbe"):
        read_sheet(tmp_path / "t.xlsx", OTHER)


def test_words_among_the_numbers_of_a_workbook_name_the_cell(tmp_path):
    workbook(tmp_path / "t.xlsx", [["x", "y"], [1, 2], [5, "ERR"], [3, 5], [4, 6]])
    with pytest.raises(ValueError, match=r"cell B3, column 'y': 'ERR' is not a number"):
        read_sheet(tmp_path / "t.xlsx", OTHER)
    reading = Reading(missing=("ERR",), sheet="Other")
    assert np.isnan(read_sheet(tmp_path / "t.xlsx", reading).X[1, 1])


def test_merged_cells_among_numbers_are_refused(tmp_path):
    openpyxl = workbook(tmp_path / "t.xlsx")
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    book.active.merge_cells("B4:B5")
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match="merged cells among its numbers, B4:B5"):
        read_sheet(tmp_path / "t.xlsx")
