"""What the oracle's grids leave out, on a few columns: does it ever win?

    RPCAG_DATA=... python benchmarks/grids.py

The paper's d goes on to the shorter side for every model. RGLPCA and GNMF iterate for
every d, so the study ends sooner; here larger ones are tried.
"""

from threadpoolctl import threadpool_limits

from rpcag.datasets import load
from rpcag.study.case import Case, Sample
from rpcag.study.kmeans import errors
from rpcag.study.methods import METHODS

COLUMNS = (("COIL20", "occlusion25"), ("USPS", "none"), ("YALE", "missing25"))


def least(case, model, grid):
    """The least error of ten runs of k-means, by d."""
    found = {}
    for values, Q in METHODS[model].sweep(case, grid):
        error = errors(Q, case.y, case.n_classes, 10, 1, seed=0)[:, 0].min()
        at = values["d"]
        found[at] = min(error, found.get(at, 1.0))
    return found


def show(case, model, grid):
    cells = least(case, model, grid)
    text = "  ".join(f"{at:g}: {100 * error:.1f}" for at, error in cells.items())
    print(f"  {model}, by d: {text}", flush=True)


def main():
    for dataset, corruption in COLUMNS:
        data = load(dataset, seed=0)
        case = Case(Sample(data, corruption, 0), "complete", "zeros")
        k, most = data.n_classes, min(256, *data.X.shape)
        print(f"{dataset}, {corruption}, {k} classes")
        d = sorted({2, 4, 8, 16, 32, 64, 128, most, k})
        show(case, "RGLPCA", {"d": d, "beta": [0.3, 0.7]})
        show(case, "GNMF", {"d": d, "gamma": [1.0, 32.0]})


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
