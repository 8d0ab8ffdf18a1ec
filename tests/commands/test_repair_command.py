"""``rpcag repair``, as users type it."""

import csv
import gzip
import itertools
import json
import os
import re
import signal
import sys

import numpy as np
import pytest

pytest.importorskip("typer", reason="needs the extra rpcag[cli]")

from typer.testing import CliRunner

from command_line import call, sensors, write_files
from rpcag import atomic
from rpcag.commands import app
from rpcag.commands.progress import GapBar
from rpcag.files.sheet import read_sheet

HEADER = ["row", "column", "value", "replaced_by", "lower", "upper", "score", "why"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with the files of the examples."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fields(path):
    return list(csv.reader(path.read_text().splitlines()))


def refused(result, *words):
    """One line on what is wrong, and exit code 2."""
    assert result.exit_code == 2, result.output
    assert len(result.output.strip().splitlines()) == 1, result.output
    for word in words:
        assert word in result.output
    return True


def listing():
    return sorted(os.listdir())


# -- what is written -------------------------------------------------------------------


def test_gaps_and_errors_are_replaced_and_everything_else_is_kept(folder):
    _, _, wrong = sensors()
    result = call("repair", "sensors.csv", "-o", "new.csv")
    assert result.exit_code == 0, result.output
    old, new = fields(folder / "sensors.csv"), fields(folder / "new.csv")
    changed = {
        (i, old[0][j])
        for i, (a, b) in enumerate(zip(old, new, strict=True))
        for j, (x, y) in enumerate(zip(a, b, strict=True))
        if x != y
    }
    listed = fields(folder / "new.cells.csv")
    assert listed[0] == HEADER
    assert {(int(row[0]), row[1]) for row in listed[1:]} == changed
    assert not any("" in row for row in new[1:])
    # All gross errors are among them.
    found = {(i - 1, old[0].index(name) - 1) for i, name in changed}
    assert {(int(i), int(j)) for i, j in zip(*np.nonzero(wrong), strict=True)} <= found
    # Three decimals, like the rest.
    assert all(re.fullmatch(r"-?\d+\.\d{3}", x) for row in new[1:] for x in row[1:])


def test_the_list_says_what_was_replaced_by_what_and_why(folder):
    call("repair", "sensors.csv", "-o", "new.csv", "-q")
    old, new = fields(folder / "sensors.csv"), fields(folder / "new.csv")
    for row, column, value, by, lower, upper, score, why in fields(
        folder / "new.cells.csv"
    )[1:]:
        j = old[0].index(column)
        assert (value, by) == (old[int(row)][j], new[int(row)][j])
        assert why == ("error" if value else "gap")
        assert (score == "") == (why == "gap")
        assert float(lower) <= float(by) <= float(upper)


@pytest.mark.parametrize(("option", "why"), [("gaps", "gap"), ("errors", "error")])
def test_only_gaps_or_only_errors(option, why, folder):
    result = call("repair", "sensors.csv", "-o", "new.csv", f"--only-{option}", "-q")
    assert (result.exit_code, result.output) == (0, "")
    found = {row[-1] for row in fields(folder / "new.cells.csv")[1:]}
    assert found == {why}


def test_decimal_commas_in_and_out(empty):
    rows = [f"{i};{i * 1.5 % 7:.2f};{i * 2.5 % 9:.1f}" for i in range(1, 21)]
    text = "nr;x;y\r\n" + "\r\n".join(rows).replace(".", ",") + "\r\n"
    text = text.replace("3;4,50;", "3;;").replace("9;6,50;", "9;-99,90;")
    (empty / "t.csv").write_bytes(text.encode())
    result = call("repair", "t.csv", "-o", "new.csv", "--json")
    assert result.exit_code == 0, result.output
    new = (empty / "new.csv").read_bytes().decode().split("\r\n")
    different = [
        i
        for i, (a, b) in enumerate(zip(text.split("\r\n"), new, strict=True))
        if a != b
    ]
    assert different == [3, 9]
    assert re.fullmatch(r"3;-?\d+,\d\d;7,5", new[3])
    gap, error = fields(empty / "new.cells.csv")[1:]
    assert (gap[2], error[2]) == ("", "-99,90")
    assert error[3].replace(".", ",") in new[9]
    assert json.loads(result.stdout)["left_alone"] == {"nr": "index"}


def test_fill_values_are_replaced(folder):
    rows = fields(folder / "sensors.csv")
    for i in range(5, 60, 6):
        rows[i][3] = "9.96921e+36"
    text = "\n".join(",".join(row) for row in rows) + "\n"
    (folder / "t.csv").write_text(text)
    words = ("repair", "t.csv", "-o", "new.csv", "--report", "page.html", "-q")
    result = call(*words)
    assert (result.exit_code, result.output) == (0, "")
    listed = [row for row in fields(folder / "new.cells.csv") if "e+36" in row[2]]
    assert [int(row[0]) for row in listed] == list(range(5, 60, 6))
    assert {row[-1] for row in listed} == {"error"}
    assert max(float(row[3]) for row in fields(folder / "new.csv")[1:]) < 30


def test_repeated_fill_values_are_named(folder):
    rows = fields(folder / "sensors.csv")
    for i in range(5, 60, 9):
        rows[i][3] = "-999"
    text = "\n".join(",".join(row) for row in rows) + "\n"
    (folder / "t.csv").write_text(text)
    result = call("repair", "t.csv", "-o", "new.csv")
    line = next(x for x in result.stdout.splitlines() if "of these fill values" in x)
    assert f"-999 in {rows[0][3]!r}" in line
    listed = [row for row in fields(folder / "new.cells.csv") if row[2] == "-999"]
    assert [int(row[0]) for row in listed] == list(range(5, 60, 9))


def test_values_too_far_apart_are_named_or_replaced(empty, rng):
    lines = ["x,y,z"]
    for i in range(40):
        a, b = rng.standard_normal(2)
        large = 10.0 ** (9 * (i - 30)) if i > 30 else a  # no large gap
        lines.append(f"{a:.3f},{b:.3f},{large:.6g}")
    (empty / "t.csv").write_text("\n".join(lines) + "\n")
    told = (
        "column 'z': 1e+81 is too far from the other values; --missing 1e+81 reads it "
        "as missing\n"
    )
    words = ("t.csv", "-o", "new.csv")
    assert refused(call("decompose", *words, "--scale", "none"), f"row '39', {told}")
    assert call("repair", *words).exit_code == 0
    listed = {row[2] for row in fields(empty / "new.cells.csv")}
    assert {f"1e+{9 * k}" for k in range(2, 10)} <= listed


def test_the_delimiter_stays(folder):
    text = (folder / "sensors.csv").read_text().replace(",", "\t")
    for suffix in (".tsv", ".csv"):
        (folder / f"t{suffix}").write_text(text)
        result = call("repair", f"t{suffix}", "-o", f"new_{suffix[1]}{suffix}", "-q")
        assert (result.exit_code, result.output) == (0, "")
        assert (folder / f"new_{suffix[1]}{suffix}").read_text().count(
            "\t"
        ) == text.count("\t")


def test_identifiers_that_rise_are_left_alone(folder):
    ids = [*range(9970, 10_000), *range(900_000, 900_030)]
    old = (folder / "sensors.csv").read_text().splitlines()
    lines = [f"{a},{b}" for a, b in zip(["order", *ids], old, strict=True)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    result = call("repair", "t.csv", "-o", "new.csv")
    assert result.exit_code == 0, result.output
    new = fields(folder / "new.csv")
    assert [row[0] for row in new[1:]] == list(map(str, ids))
    assert "left alone (identifier) │ order" in " ".join(result.stdout.split())


def test_compressed_tables(folder):
    (folder / "s.csv.gz").write_bytes(
        gzip.compress((folder / "sensors.csv").read_bytes())
    )
    assert call("repair", "sensors.csv", "-o", "a.csv", "-q").exit_code == 0
    for source, target in (("s.csv.gz", "b.csv.gz"), ("sensors.csv", "c.csv.gz")):
        assert call("repair", source, "-o", target, "-q").exit_code == 0
        unpacked = gzip.decompress((folder / target).read_bytes())
        assert unpacked == (folder / "a.csv").read_bytes()
    assert (folder / "b.csv.gz").read_bytes() == (folder / "c.csv.gz").read_bytes()
    assert call("repair", "s.csv.gz", "-o", "d.csv", "-q").exit_code == 0
    assert (folder / "d.csv").read_bytes() == (folder / "a.csv").read_bytes()


def test_standard_input_and_output(folder):
    assert call("repair", "sensors.csv", "-o", "a.csv", "-q").exit_code == 0
    data = (folder / "sensors.csv").read_bytes()
    before = listing()
    words = ["repair", "-", "-o", "-"]
    result = CliRunner().invoke(app, words, input=data)
    assert result.exit_code == 0, result.output
    assert result.stdout_bytes == (folder / "a.csv").read_bytes()
    assert "Repair of standard input" in result.stderr
    assert listing() == before
    result = CliRunner().invoke(app, [*words, "--cells", "c.csv", "-q"], input=data)
    assert (result.exit_code, result.stderr) == (0, "")
    assert (folder / "c.csv").read_bytes() == (folder / "a.cells.csv").read_bytes()
    result = CliRunner().invoke(app, [*words, "--json"], input=data)
    assert refused(result, "--json and -o - both write to standard output")
    for data, told in (
        (b"", "standard input is empty"),
        (b"PAR1xx", "is not text but"),
    ):
        assert refused(CliRunner().invoke(app, words, input=data), told)


def test_parquet_and_excel(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl", reason="needs the extra rpcag[excel]")
    frame = pandas.read_csv("sensors.csv")
    frame.to_parquet("s.parquet")
    frame.to_excel("s.xlsx", index=False)
    call("repair", "sensors.csv", "-o", "s.csv", "-q")
    expected = pandas.read_csv("s.csv")
    for name, read in (("parquet", pandas.read_parquet), ("xlsx", pandas.read_excel)):
        result = call("repair", f"s.{name}", "-o", f"new.{name}", "-q", "-f")
        assert result.exit_code == 0, result.output
        new = read(f"new.{name}")
        assert (new.dtypes == frame.dtypes).all() or name == "xlsx"
        assert list(new.columns) == list(frame.columns)
        np.testing.assert_allclose(
            new.iloc[:, 1:].astype(float), expected.iloc[:, 1:], atol=2e-3
        )


def test_missing_library_is_one_line(folder, monkeypatch):
    for name in {"openpyxl", *(n for n in sys.modules if n.startswith("openpyxl."))}:
        monkeypatch.setitem(sys.modules, name, None)
    (folder / "t.xlsx").write_bytes(b"PK")
    told = "Excel files need openpyxl: pip install 'rpcag[excel]'"
    assert refused(call("repair", "t.xlsx", "-o", "u.xlsx"), told)


def test_a_table_without_gaps_and_errors_is_copied(empty):
    rows = "".join(f"{i * 1.5 % 7},{i * 2.5 % 9}\n" for i in range(20))
    (empty / "t.csv").write_text("x,y\n" + rows)
    result = call("repair", "t.csv", "-o", "new.csv")
    assert result.exit_code == 0, result.output
    assert (empty / "new.csv").read_bytes() == (empty / "t.csv").read_bytes()
    assert fields(empty / "new.cells.csv") == [HEADER]
    assert "gaps filled │ none" in " ".join(result.stdout.split())


def test_the_report_is_written_with_the_table(folder, monkeypatch):
    def page(sheet, repaired):
        return f"{sheet.name} {repaired.filled.sum()} {len(sheet.samples)}"

    monkeypatch.setattr("rpcag.page.repair.report", page)
    words = ("repair", "sensors.csv", "-o", "new.csv", "--report", "page.html")
    assert call(*words, "-q").exit_code == 0
    assert (folder / "page.html").read_text() == "sensors.csv 114 60"
    before = {name: (folder / name).read_bytes() for name in ("new.csv", "page.html")}

    def broken(sheet, repaired):
        raise ValueError("no page")

    monkeypatch.setattr("rpcag.page.repair.report", broken)
    files = listing()
    assert refused(call(*words, "--only-gaps", "-f"), "no page")
    assert listing() == files
    assert before == {name: (folder / name).read_bytes() for name in before}


# -- what is said ----------------------------------------------------------------------


def test_the_summary_says_what_was_done(folder):
    text = (folder / "sensors.csv").read_text().splitlines()
    new = [f"{line},{'same' if i == 0 else '5'}" for i, line in enumerate(text)]
    new = [f"{line},{'none' if i == 0 else ''}" for i, line in enumerate(new)]
    (folder / "t.csv").write_text("\n".join(new) + "\n")
    result = call("repair", "t.csv", "-o", "new.csv")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    for words in (
        "60 x 27, of which 26 columns of numbers",
        "gaps filled │ 114",
        "constant or empty │ same, none: left alone",
        "left alone (text) │ sensor",
        "written to │ new.csv",
        "% of the spread of hidden cells, in the median column",
    ):
        assert words in said
    told = call("repair", "t.csv", "-o", "j.csv", "--json")
    facts = json.loads(told.stdout)
    assert (facts["rows"], facts["columns"], facts["filled"]) == (60, 27, 114)
    assert facts["replaced"] == sum(c["replaced"] for c in facts["features"])
    assert [c["name"] for c in facts["features"] if c["constant_or_empty"]] == [
        "same",
        "none",
    ]
    assert facts["output"] == "j.csv"
    assert facts["cells"] == "j.cells.csv"


def repaired_as(monkeypatch, **changes):
    """The numbers of the numeric side, with some of them given."""
    from dataclasses import replace

    from rpcag.tables import repair

    seen = {}
    original = repair.repair_matrix

    def repair_matrix(X, **options):
        seen.update(options)
        found = original(X, **options)
        return replace(found, **{k: v(found) for k, v in changes.items()})

    monkeypatch.setattr(repair, "repair_matrix", repair_matrix)
    return seen


def test_columns_that_are_not_predicted_are_warned_of(folder, monkeypatch):
    def explained(found):
        return np.where(np.arange(len(found.dead)) == 3, -0.1, 0.8)

    repaired_as(monkeypatch, explained=explained)
    result = call("repair", "sensors.csv", "-o", "new.csv")
    assert "no better than median │ 3:00: gaps get the median" in result.stdout
    assert "lowest: 3:00 -10 %, " in result.stdout


def test_options_reach_the_numbers(folder, monkeypatch):
    seen = repaired_as(monkeypatch)
    days = [f"2024-01-01T{i % 24:02}:{i // 24:02}" for i in range(60)]
    text = (folder / "sensors.csv").read_text().splitlines()
    lines = ["when," + text[0]]
    lines += [f"{day},{line}" for day, line in zip(days, text[1:], strict=True)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    words = ("repair", "t.csv", "-q", "-f", "-o", "n.csv")
    assert call(*words, "--alpha", "0.01", "--only-gaps").exit_code == 0
    assert (seen["alpha"], seen["gaps"], seen["errors"]) == (0.01, True, False)
    assert seen["graph"] == "auto"
    assert seen["times"][1] - seen["times"][0] == 3600
    assert seen["integers"].shape == (24,)
    assert call(*words, "--no-time", "--graph", "knn", "--only-errors").exit_code == 0
    assert (seen["times"], seen["graph"], seen["gaps"]) == (None, "knn", False)
    assert call(*words, "--keep", "0:00", "--drop", "1:00").exit_code == 0
    assert seen["integers"].shape == (22,)
    assert call(*words, "--keep", "when", "--graph", "edges.csv").exit_code == 0
    assert seen["graph"].shape == (60, 60)
    assert seen["times"] is None


# -- bad input -------------------------------------------------------------------------

BAD = {
    "text among numbers": (
        "x,y\n1,2\n3,ERR\n4,7\n8,9\n",
        "line 3, column 'y': 'ERR' is not a number; --missing 'ERR' reads it as "
        "missing, --drop 'y' leaves the column out",
    ),
    "duplicate headers": ("x,x\n1,2\n3,5\n", "several columns called 'x'"),
    "ragged rows": (
        "x,y\n1,2\n3\n4,7\n",
        "line 3 has 1 field but the first line has 2",
    ),
    "mixed decimal commas": (
        "x;y\n1,5;2\n2.5;3\n3,5;7\n",
        "line 3, column 'x': '2.5' is not a number with a decimal comma; use one mark "
        "in the file, --decimal '.' reads 2.5\n",
    ),
    "one decimal comma": (
        "x;y\n1.5;2\n2.5;3.5\n3,5;7\n4.5;1.5\n",
        "line 4, column 'x': '3,5' is not a number with a decimal point; use one mark "
        "in the file, --decimal ',' reads 3.5\n",
    ),
    "one decimal comma among whole numbers at the top": (
        "x;y\n" + "1;5\n" * 2 + "3,5;7\n" + "2;4\n" * 1500 + "2.5;8\n" * 9,
        "line 1505, column 'x': '2.5' is not a number with a decimal comma; use one",
    ),
    "an empty file": ("", "t.csv is empty"),
    "blank lines": ("\n\n\n", "t.csv is empty"),
    "a header only": ("x,y\n", "has a header but no rows"),
    "one row": ("x,y\n1,2\n", "has one row; values are predicted from other rows"),
    "one column": ("x\n1\n5\n3\n", "only one column, 'x', has different numbers"),
    "one column of numbers": (
        "id,x\na,1\nb,5\nc,3\n",
        "only one column, 'x', has different numbers",
    ),
    "an index and numbers": (
        "id,x\n1,1\n2,5\n3,3\n",
        "'x', has different numbers ('id' was taken for an index)",
    ),
    "all missing": ("x,y\nNA,\n,NA\n", "no value at all: everything is missing"),
    "all equal": ("x,y\n1,2\n1,2\n1,2\n", "no column has different numbers"),
    "only text": ("x,y\na,b\nc,d\n", "has no column of numbers to repair"),
    "units in all columns": (
        "x,y\n1.5 mm,2 kg\n2.5 mm,3 kg\n4 mm,5 kg\n",
        "no column of numbers to repair",
    ),
    "one comma among whole numbers": (
        'x,y\n1,2\n"2,5",4\n5,6\n',
        "'2,5' is not a number with a decimal point; use one mark in the file, "
        "--decimal ',' reads 2.5\n",
    ),
    "one comma beside a column of points": (
        'x,y\n1,2.5\n"2,5",4\n5,6\n',
        "'2,5' is not a number with a decimal point; use one mark in the file",
    ),
    "one number with a thousands separator": (
        'x,y\n1.5,2.5\n"1,234.5",4\n5,6\n',
        "column 'x': '1,234.5' is not a number; write numbers without thousands "
        "separators\n",
    ),
    "one point between thousands": (
        "x;y\n1,5;2,5\n1.234,5;4\n5;6\n",
        "'1.234,5' is not a number; write numbers without thousands separators\n",
    ),
    "points between thousands beside small numbers": (
        "x;y\n950;1\n1.020;2\n970;3\n",
        "column 'x' of t.csv: '1.020' may be a decimal or 1020; --decimal '.' reads",
    ),
    "commas between thousands beside small numbers": (
        "x;y\n950;1\n1,020;2\n970;3\n",
        "column 'x' of t.csv: '1,020' may be a decimal or 1020; --decimal ',' reads",
    ),
    "one comma between thousands": (
        'x,y\n1.5,2.5\n"1,234",4\n5,6\n',
        "'1,234' is not a number with a decimal point; use one mark in the file, "
        "--decimal ',' reads 1.234; write numbers without thousands separators\n",
    ),
    "true among decimals": (
        "x,y\n1.5,2\ntrue,4\n5.5,7\n",
        "line 3, column 'x': 'true' is not a number; --missing 'true' reads it",
    ),
    "infinite": ("x,y\n1,2\n3,inf\n4,7\n", "--missing inf reads them as missing"),
    "an open quote": ('x,y\n1,"2\n3,4\n', "is a quote not closed?"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_writes_nothing(name, empty):
    text, told = BAD[name]
    (empty / "t.csv").write_text(text)
    result = call("repair", "t.csv", "-o", "new.csv")
    assert refused(result, told)
    assert listing() == ["t.csv"]


def test_keeping_all_columns_is_one_line(empty):
    (empty / "t.csv").write_text("x,y\n1.5,2\n4,3\n5.5,7\n")
    words = ("repair", "t.csv", "-o", "new.csv", "--keep", "x", "--keep", "y")
    told = "no column of numbers to repair besides 'x', 'y', which --drop"
    assert refused(call(*words), told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing.csv", "-o", "n.csv"], "nothing.csv does not exist"),
        (
            ["frames", "-o", "n.csv"],
            "frames: no reader for a file without a suffix; tables are .csv",
        ),
        (
            ["faces.npz", "-o", "n.npz"],
            "faces.npz: no reader for .npz; tables are .csv",
        ),
        (
            ["sensors.csv", "-o", "n.xlsx"],
            "the repaired table keeps the format of sensors.csv: choose an output such",
        ),
        (
            ["sensors.csv", "-o", "n.csv", "--alpha", "1.5"],
            "--alpha must be a float in",
        ),
        (["sensors.csv", "-o", "n.csv", "--alpha", "0"], "--alpha must be a float in"),
        (
            ["sensors.csv", "-o", "n.csv", "--keep", "x"],
            "--drop 'x': sensors.csv has no",
        ),
        (
            ["sensors.csv", "-o", "n.csv", "--report", "n.txt"],
            "file named .html",
        ),
        (
            ["sensors.csv", "-o", "n.tsv"],
            "choose an output such as repaired.csv, got n.tsv",
        ),
        (["sensors.csv", "-o", "n.tab.gz"], "such as repaired.csv, got n.tab.gz"),
        (
            ["sensors.csv", "-o", "n.csv", "--time", "x"],
            "--time 'x': sensors.csv has no",
        ),
        (["sensors.csv", "-o", "n.csv", "--sheet", "x"], "--sheet is for Excel"),
        (["sensors.csv", "-o", "n.csv", "--cells", "n.csv"], "must be different files"),
        (
            ["sensors.csv", "-o", "n.csv", "--cells", "n.txt"],
            "file named .csv",
        ),
        (["sensors.csv", "-o", "n.csv", "--delimiter", "ab"], "must be one character"),
        (
            ["sensors.csv", "-o", "n.csv", "--only-gaps", "--only-errors"],
            "give --only-gaps or --only-errors, not both",
        ),
        (["sensors.csv", "-o", "n.csv", "--time", "a", "--no-time"], "not both"),
        (["sensors.csv", "-o", "n.csv", "--graph", "what.csv"], "what.csv"),
        (["sensors.csv"], "--output"),
    ],
)
def test_mistakes_in_the_command_write_nothing(words, told, folder):
    before = listing()
    assert refused(call("repair", *words), told)
    assert listing() == before


# -- files that are there --------------------------------------------------------------


def test_nothing_is_overwritten_without_force(folder):
    words = ("repair", "sensors.csv", "-o", "new.csv", "-q")
    for there in ("new.csv", "new.cells.csv"):
        (folder / there).write_text("mine")
        assert refused(call(*words), f"{there} already exists; --force replaces it")
        assert (folder / there).read_text() == "mine"
        other = {"new.csv": "new.cells.csv", "new.cells.csv": "new.csv"}[there]
        assert not (folder / other).exists()
        (folder / there).unlink()
    for _ in range(2):
        assert call(*words, "--force").exit_code == 0
    assert not [name for name in listing() if name.startswith(atomic.PREFIX)]
    assert read_sheet(folder / "new.csv").X.shape == (60, 24)


def test_the_input_is_never_the_output(folder):
    data = (folder / "sensors.csv").read_bytes()
    os.link("sensors.csv", "hard.csv")
    os.symlink("sensors.csv", "soft.csv")
    for target in ("sensors.csv", "./sensors.csv", "hard.csv", "soft.csv"):
        result = call("repair", "sensors.csv", "-o", target, "--force")
        assert refused(result, "is the input; choose another file")
    for target in ("new/../sensors.csv", "./new/../sensors.csv"):  # new is not there
        result = call("repair", "sensors.csv", "-o", target)
        assert refused(result, "is the input; choose another file")
    (folder / "old.csv").write_text("x")
    words = ("-o", "new/../old.csv")
    assert refused(call("repair", "sensors.csv", *words), "already exists")
    assert not (folder / "new").exists()
    words = ("-o", "n.csv", "--cells", "sensors.csv", "-f")
    assert refused(call("repair", "sensors.csv", *words), "is the input")
    assert (folder / "sensors.csv").read_bytes() == data


@pytest.fixture
def listening():
    """As in the command: a shell may have started these tests with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("moment", ["solving", "writing"])
def test_ctrl_c_leaves_nothing(moment, folder, monkeypatch):
    if moment == "solving":
        ask = GapBar.__call__

        def watch(self, step):
            os.kill(os.getpid(), signal.SIGINT)
            return ask(self, step)

        monkeypatch.setattr(GapBar, "__call__", watch)
    else:
        stop = "rpcag.files.repaired.write_cells"
        monkeypatch.setattr(stop, lambda *args: os.kill(os.getpid(), signal.SIGINT))
    before = listing()
    result = call("repair", "sensors.csv", "-o", "new.csv")
    assert result.exit_code == 130
    assert result.output.strip() == "rpcag: stopped"
    assert listing() == before


def write_both(paths, text):
    with atomic.write_together(paths) as parts:
        for part in parts:
            part.write_text(text)


@pytest.mark.parametrize("good", [0, 1])  # files that reach the disk
def test_a_full_disk_leaves_all_of_several_files(good, tmp_path, monkeypatch):
    a, b = tmp_path / "a", tmp_path / "b"
    write_both([a, b], "old")
    sync, calls = os.fsync, itertools.count()

    def refuse(descriptor):
        if next(calls) >= good:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="could not be written"):
        write_both([a, b], "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
    assert a.read_text() == b.read_text() == "old"
