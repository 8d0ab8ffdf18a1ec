"""Time of every model of the comparison on occluded faces, in LAPACK SVDs of X.

CMU PIE, 30 subjects x 10, 20 and 40 images, blocks over 20 % of each: the data of the
paper's table of computation times. 30 components. Times include the graphs, which are
built from the images with the mask of the blocks known, as in the paper. The unit is
one ``scipy.linalg.svd`` of X, the fastest of five, in the same run with one BLAS
thread. The clustering errors (k-means on the embedding) are shown, not tuned.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, PCA
from threadpoolctl import threadpool_limits

import rpcag
from problems import fastest, occluded_faces, standardize, svd_seconds
from rpcag.graphs import KNNGraph, KNNHypergraph
from rpcag.metrics import clustering_error

SUBJECTS = 30


def models():
    """Every model and the data it is given."""
    d = SUBJECTS
    yield PCA(d), "standardized"
    yield NMF(d, init="nndsvda"), "unit norm"
    for model in rpcag.models.MODELS:
        name = model.__name__
        yield model(d), "unit norm" if name in ("GNMF", "MMF") else "standardized"


def graphs(model, images, mask):
    """The model's graphs, from what is seen of the images."""
    names = model.get_params(deep=False)
    if "graph" in names:
        return {"graph": KNNGraph()(images, mask)}
    if "graphs" in names:
        builder = KNNHypergraph if isinstance(model, rpcag.MHMF) else KNNGraph
        return {"graphs": [builder(k)(images, mask) for k in (5, 10, 20)]}
    return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default="benchmarks/comparison.json")
    parser.add_argument("--images", type=int, nargs="+", default=[10, 20, 40])
    options = parser.parse_args()
    threadpool_limits(1)
    warnings.simplefilter("ignore")  # a warning is in the record: n_iter, gap
    records = []
    for per_subject in options.images:
        images, mask, person = occluded_faces(per_subject)
        X = standardize(images)
        norms = np.linalg.norm(images, axis=1, keepdims=True)
        data = {"standardized": X, "unit norm": images / norms}
        unit = svd_seconds(X, 5)
        seconds, _ = fastest(lambda I=images, m=mask: KNNGraph()(I, m), 3)
        print(f"n = {len(X)}: SVD {unit:.3f} s, graph {seconds / unit:.2f} SVDs")
        for model, kind in models():

            def fit(model=model, X=data[kind], images=images, mask=mask):
                return model.set_params(**graphs(model, images, mask)).fit(X)

            seconds, fitted = fastest(fit, 2)
            Q = getattr(fitted, "embedding_", None)
            if Q is None:
                Q = fitted.transform(data[kind])
            found = KMeans(SUBJECTS, n_init=10, random_state=0).fit_predict(
                Q[:, :SUBJECTS]
            )
            record = {
                "model": type(model).__name__,
                "n": len(X),
                "svds": seconds / unit,
                "n_iter": getattr(fitted, "n_iter_", 1),
                "gap": getattr(fitted, "gap_", None),
                "error": clustering_error(person, found),
            }
            records.append(record)
            print(
                f"  {record['model']:18} {record['svds']:6.2f} SVDs  "
                f"{record['n_iter']:4} iterations  error {100 * record['error']:.1f} %",
                flush=True,
            )
    text = json.dumps(records, indent=1) + "\n"
    partial = options.output.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(options.output)


if __name__ == "__main__":
    main()
