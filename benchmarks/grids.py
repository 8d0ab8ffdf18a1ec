"""What the oracle's grids leave out, on a few columns: does it ever win?

    RPCAG_DATA=... python benchmarks/grids.py

The paper's lam goes on to two to ten times the largest of the study, and its d to the
shorter side for every model, also for those that iterate for every d. Here both are
tried where the study leaves them out.
"""

from threadpoolctl import threadpool_limits

from rpcag.datasets import load
from rpcag.study.case import Case, Sample
from rpcag.study.kmeans import errors
from rpcag.study.methods import GAMMAS, METHODS

COLUMNS = (("COIL20", "occlusion25"), ("USPS", "none"), ("YALE", "missing25"))
LAM = [0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 5.6, 11.2]


def show(case, model, grid, name):
    """The least error of ten runs of k-means, by the values of one parameter."""
    found = {}
    for values, Q in METHODS[model].trials(case, grid, "oracle"):
        error = errors(Q, case.y, case.n_classes, 10, 1, seed=0)[:, 0].min()
        at = values[name]
        found[at] = min(error, found.get(at, 1.0))
    text = "  ".join(f"{at:g}: {100 * error:.1f}" for at, error in found.items())
    print(f"  {model}, by {name}: {text}", flush=True)


def main():
    for dataset, corruption in COLUMNS:
        data = load(dataset, seed=0)
        case = Case(Sample(data, corruption, 0), "complete", "zeros")
        k, most = data.n_classes, min(256, *data.X.shape)
        print(f"{dataset}, {corruption}, {k} classes")
        d = sorted({2, 4, 8, 16, 32, 64, 128, most, k})
        grid = {"lam": LAM, "gamma": GAMMAS, "components": ["all"]}
        show(case, "RPCAG", grid, "lam")
        show(case, "RGLPCA", {"d": d, "beta": [0.3, 0.7]}, "d")
        show(case, "NMF", {"d": d}, "d")
        show(case, "GNMF", {"d": d, "gamma": [1.0, 32.0]}, "d")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
