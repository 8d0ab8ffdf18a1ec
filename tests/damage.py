"""Read files with bytes that are cut off, lost or changed: ``python damage.py FOLDER``.

In a process of its own, because a reader that follows a damaged file may end it.
Prints a line for every outcome that is neither a value nor an error of a kind that the
commands show in one line.
"""

import gzip
import random
import shutil
import sys
import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from scipy import sparse

import decompositions
from rpcag.files.decomposition import Decomposition
from rpcag.files.graph import read_graph
from rpcag.files.reading import read_table
from rpcag.files.sheet import read_sheet
from rpcag.files.table import Reading
from rpcag.page.explore import explore

TIMES = 25  # each
SAMPLES = list("abcdef")
A = np.arange(24.0).reshape(6, 4) / 7
S = sparse.csr_array(np.diag([1.0, 2.0, 3.0, 4.0, 5.0], 1))
S = sparse.csr_array(S + S.T)


def write_whole(folder: Path) -> dict:
    """One small file of every kind, and how it is read."""
    folder.mkdir()
    rows = "".join(f"n{i},{'uv'[i % 2]},{row[0]},{row[1]}\n" for i, row in enumerate(A))
    rows = "id,kind,x,y\n" + rows
    (folder / "t.csv").write_text(rows)
    (folder / "sheet.csv").write_text(rows)
    (folder / "sheet.csv.gz").write_bytes(gzip.compress(rows.encode(), mtime=0))
    (folder / "u.tsv").write_bytes(rows.replace(",", "\t").encode("utf-16"))
    (folder / "edges.csv").write_text("source,target,w\n0,1,2\n1,2,1\n3,4,1\n")
    np.save(folder / "t.npy", A)
    np.savez(folder / "t.npz", X=A, y=np.arange(6.0))
    np.savez_compressed(folder / "z.npz", X=A, y=np.arange(6.0))
    for format in ("csr", "csc", "coo", "bsr", "dia"):
        sparse.save_npz(folder / f"{format}.npz", S.asformat(format), compressed=False)
    decompositions.table(12, 4).save(folder / "result")
    whole = {path.name: table for path in folder.iterdir() if path.is_file()}
    whole |= dict.fromkeys(["edges.csv", "csr.npz", "coo.npz"], graph)
    whole |= dict.fromkeys(["sheet.csv", "sheet.csv.gz"], sheet)
    for name in ("result.json", "sparse.npy", "graph.npz"):
        whole[f"result/{name}"] = result
    return whole | _extras(folder)


def _extras(folder: Path) -> dict:
    """Those that need a library which may not be there."""
    whole = {}
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        columns = {"id": SAMPLES, "x": A[:, 0], "n": pa.array([1, None, 3, 4, 5, 6])}
        parquet.write_table(pa.table(columns), folder / "t.parquet")
        whole["t.parquet"] = table
        parquet.write_table(pa.table(columns | {"y": A[:, 1]}), folder / "s.parquet")
        whole["s.parquet"] = sheet
        from PIL import Image

        for suffix in ("png", "jpg", "tif"):
            (folder / suffix).mkdir()
            for name in "ab":
                image = Image.fromarray((9 * A).astype(np.uint8))
                image.save(folder / suffix / f"{name}.{suffix}")
            whole[f"{suffix}/a.{suffix}"] = lambda path: read_table(path.parent)
        import av

        from rpcag.video import Source

        frames = (np.arange(5 * 256) % 251).astype(np.uint8).reshape(5, 16, 16)
        with av.open(str(folder / "v.mkv"), "w") as out:
            stream = out.add_stream("ffv1", rate=5)
            stream.width = stream.height = 16
            stream.pix_fmt = "gray"
            for frame in frames:
                out.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="gray")))
            out.mux(stream.encode())
        whole["v.mkv"] = lambda path: list(Source(path))
        (folder / "clip").mkdir()
        shutil.copy(folder / "png" / "a.png", folder / "clip" / "a.png")
        whole["clip/a.png"] = lambda path: list(Source(path.parent))
    except ImportError:
        pass
    try:
        import openpyxl

        book = openpyxl.Workbook()
        for row in [["x", "y"], *A[:, :2].tolist(), [None, "NA"]]:
            book.active.append(row)
        book.save(folder / "s.xlsx")
        whole["s.xlsx"] = sheet
    except ImportError:
        pass
    return whole


def table(path: Path) -> None:
    names = Reading(variable="X", labels="y")
    for reading in (Reading(), Reading(labels="kind"), names):
        try:
            read_table(path, reading)
        except (ValueError, OSError) as error:
            said = error
            continue
        return
    raise said


def sheet(path: Path) -> None:
    """Read a table and write it again with its gaps filled."""
    found = read_sheet(path)
    gaps = np.isnan(found.X)
    found.file.write(BytesIO(), found.edits(np.where(gaps, 1.5, found.X), gaps))


def graph(path: Path) -> None:
    read_graph(path, SAMPLES)


def result(path: Path) -> None:
    explore(Decomposition.load(path.parent))


def damaged(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return data[: rng.randrange(len(data))]
    if rng.random() < 0.1:
        at = rng.randrange(len(data))
        return data[:at] + data[at + rng.randrange(1, 9) :]
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 10])):
        at = rng.randrange(len(data))
        changed[at] = rng.choice([changed[at] ^ 1 << rng.randrange(8), 0, 255])
    return bytes(changed)


def main(folder: Path, times: int = TIMES) -> None:
    warnings.simplefilter("ignore")
    for name, read in write_whole(folder / "whole").items():
        path = folder / "whole" / name
        data = path.read_bytes()
        read(path)  # as it is, it can be read
        for i in range(times):
            path.write_bytes(damaged(data, random.Random(f"{name} {i}")))
            print(f"at {name} {i}", flush=True)
            try:
                read(path)
            except (ValueError, OSError):
                pass
            except BaseException as error:
                print(f"{name} {i}: {type(error).__name__}: {error}", flush=True)
        path.write_bytes(data)
    print("done")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
