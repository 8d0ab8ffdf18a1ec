"""One column of the study: corrupted data, prepared for every model, and its graphs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rpcag.graphs import CompleteGraph, KNNGraph, KNNHypergraph
from rpcag.models import RobustGraph
from rpcag_study.corruptions import corrupt
from rpcag_study.datasets import Data
from rpcag_study.inpainting import inpaint_tv

Graph = Literal["complete", "knn", "uniform", "robust"]
Mask = Literal["zeros", "known"]
GRAPHS = ("complete", "knn", "uniform", "robust")
MASKS = ("zeros", "known")
# Neighbors of the several graphs of MMMF and MHMF.
SEVERAL = (5, 10, 20)


class CorruptedData:
    """Corrupted data, and everything made from them once."""

    def __init__(self, data: Data, corruption: str, seed: int) -> None:
        self.data = data
        self.corruption = corruption
        self.seen, self.mask = corrupt(data, corruption, seed)
        self.kept = self.seen  # with NaN where entries were lost
        if self.mask is not None:
            self.kept = np.where(self.mask, self.seen, np.nan)
        self._graphs: dict = {}

    @cached_property
    def standardized(self) -> np.ndarray:
        """Zero mean and unit deviation per feature; lost entries are zeros before."""
        return _standardize(self.seen)

    @cached_property
    def observed(self) -> np.ndarray:
        """The same from the entries that were kept, NaN where they were lost."""
        return _standardize(self.kept)

    @cached_property
    def filled(self) -> np.ndarray:
        """Lost entries at the mean of what was kept of their feature."""
        return np.where(np.isnan(self.kept), feature_scales(self.kept)[0], self.kept)

    def graph(self, kind: str):
        """The adjacency of a graph, built once."""
        if kind not in self._graphs:
            self._graphs[kind] = self._build(kind)
        return self._graphs[kind]

    @property
    def _rows(self) -> np.ndarray:
        """What distances are measured on: gray values in [0, 1], or z-scores."""
        if self.data.image_shape is not None:
            return self.seen
        return np.nan_to_num(self.observed, nan=0.0)

    def _build(self, kind: str):
        n = len(self.seen)
        if kind == "uniform":
            return np.ones((n, n)) - np.eye(n)
        if kind == "robust":
            return RobustGraph()(self.observed)
        if kind == "complete":
            # The paper: occlusions are detected, random missing pixels are inpainted.
            rows, mask, shape = self._rows, self.mask, self.data.image_shape
            if "missing" in self.corruption and shape is not None and len(shape) == 2:
                assert mask is not None
                rows, mask = inpaint_tv(rows, shape, mask), None
            return CompleteGraph()(rows, mask)
        name, _, k = kind.partition(" ")
        if name == "knn":
            return KNNGraph(int(k or 10))(self._rows, self.mask)
        if name == "hypergraph":
            return KNNHypergraph(int(k or 10))(self._rows, self.mask)
        raise ValueError(f"unknown graph {kind!r}: {', '.join(GRAPHS)}")


@dataclass(frozen=True)
class ModelInput:
    """A sample as a model sees it: with a graph, and with or without the mask.

    With mask="zeros" lost entries are zeros that are data, as in the paper. With
    mask="known" features are standardized by what was kept; models that know missing
    entries get NaN, the others the mean of the feature.
    """

    sample: CorruptedData
    graph: Graph
    mask: Mask

    @property
    def y(self) -> np.ndarray:
        assert self.sample.data.y is not None
        return self.sample.data.y

    @property
    def n_classes(self) -> int:
        return self.sample.data.n_classes

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.sample.seen.shape
        return n, p

    @property
    def X(self) -> np.ndarray:
        """Standardized, without NaN."""
        if self.mask == "zeros":
            return self.sample.standardized
        return np.nan_to_num(self.sample.observed, nan=0.0)

    @property
    def X_with_nan(self) -> np.ndarray:
        """Standardized; NaN where the mask is known."""
        if self.mask == "zeros":
            return self.sample.standardized
        return self.sample.observed

    @property
    def feature_scales(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean and deviation that X was standardized by."""
        sample = self.sample
        return feature_scales(sample.seen if self.mask == "zeros" else sample.kept)

    @property
    def non_negative(self) -> np.ndarray:
        """Samples of unit norm, not standardized, for NMF and GNMF."""
        return _unit_rows(self.gray)

    @property
    def gray(self) -> np.ndarray:
        """Not standardized, without NaN."""
        return self.sample.seen if self.mask == "zeros" else self.sample.filled

    @property
    def unit_rows(self) -> np.ndarray:
        """Standardized samples of unit norm, for MMF."""
        return _unit_rows(self.X)

    @property
    def adjacency(self):
        return self.sample.graph(self.graph)

    def adjacencies(self, kind: str = "knn") -> list:
        """Several graphs, of 5, 10 and 20 neighbors."""
        return [self.sample.graph(f"{kind} {k}") for k in SEVERAL]


def _standardize(X: np.ndarray) -> np.ndarray:
    mean, deviation = feature_scales(X)
    return (X - mean) / deviation


def feature_scales(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of every feature, of what is not NaN.

    ddof 1, as the authors do; constant features are only centered.
    """
    known = ~np.isnan(X)
    count = known.sum(axis=0)
    mean = np.where(known, X, 0.0).sum(axis=0) / np.maximum(count, 1)
    centered = np.where(known, X - mean, 0.0)
    deviation = np.sqrt((centered**2).sum(axis=0) / np.maximum(count - 1, 1))
    constant = deviation <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return mean, np.where(constant, 1.0, deviation)


def _unit_rows(X: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1.0)
