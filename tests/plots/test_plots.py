"""Pictures: what is drawn is what was given, on the axes that were given."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs the extra rpcag[plots]")

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from rpcag import GLPCA, GNMF, RPCAG, RPCAGCV, plots


@pytest.fixture(autouse=True)
def no_figure_stays():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.standard_normal((4, 24)), 15, axis=0)
    X += 0.3 * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.05] = 20.0
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


@pytest.fixture(scope="module")
def model(X):
    return RPCAG(gamma="clustering").fit(X)


@pytest.fixture(scope="module")
def search(X):
    return RPCAGCV(gammas=[0, 0.1, 1], lams=[0.1, 0.2], n_splits=2, tol=1e-2).fit(X)


def pixels(ax):
    return ax.images[0].get_array()


def points(ax):
    return np.vstack([part.get_offsets() for part in ax.collections])


# -- images ----------------------------------------------------------------------------


def test_images_are_the_rows_of_every_part(model, X):
    axes = plots.decomposition(model, (4, 6), X=X, samples=[3, 7])
    assert axes.shape == (3, 2)
    assert [line[0].get_ylabel() for line in axes] == ["data", "low-rank", "sparse"]
    for j, i in enumerate([3, 7]):
        np.testing.assert_array_equal(pixels(axes[0, j]).mask.ravel(), np.isnan(X[i]))
        for line, part in zip(axes[1:], (model.low_rank_, model.sparse_), strict=True):
            np.testing.assert_array_equal(pixels(line[j]), part[i].reshape(4, 6))


def test_gross_errors_do_not_darken_the_low_rank_part(model, X):
    axes = plots.decomposition(model, (4, 6), samples=5)
    shown = model.low_rank_[[0, 15, 30, 44, 59]]
    for ax in axes[:2].flat:
        assert ax.images[0].get_clim() == (shown.min(), shown.max())
    low, high = axes[2, 0].images[0].get_clim()
    assert low == -high < 0  # zero is white


def test_without_images_every_part_is_one_picture(model, X):
    axes = plots.decomposition(model, X=X)
    assert axes.shape == (1, 3)
    assert [ax.get_title() for ax in axes[0]] == ["data", "low-rank", "sparse"]
    np.testing.assert_array_equal(pixels(axes[0, 1]), model.low_rank_)
    assert axes[0, 0].get_ylabel() == "samples"


def test_a_dict_is_drawn_under_its_names():
    axes = plots.decomposition({"before": np.eye(4), "after": 2 * np.eye(4)}, (2, 2))
    assert [line[0].get_ylabel() for line in axes] == ["before", "after"]
    assert axes.shape == (2, 4)
    assert all(ax.images[0].get_clim() == (0, 1) for ax in axes.flat)


def test_a_model_without_a_sparse_part_needs_its_data(X):
    full = np.nan_to_num(X)
    fitted = GLPCA(2).fit(full)
    with pytest.raises(ValueError, match="GLPCA has no sparse part; pass its data"):
        plots.decomposition(fitted)
    axes = plots.decomposition(fitted, X=full)
    np.testing.assert_allclose(pixels(axes[0, 2]), full - fitted.low_rank_)


# -- points ----------------------------------------------------------------------------


def test_every_sample_is_a_point(model):
    ax = plots.embedding(model)
    np.testing.assert_array_equal(points(ax), model.embedding_[:, :2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 1", "component 2")
    assert ax.get_legend() is None


def test_every_class_has_its_color_and_its_name(model):
    labels = np.repeat(["a", "b", "c", "d"], 15)
    ax = plots.embedding(model.embedding_, labels, first=1)
    assert [part.get_label() for part in ax.collections] == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(points(ax), model.embedding_[:, 1:3])
    assert len({tuple(part.get_facecolor()[0]) for part in ax.collections}) == 4
    assert ax.get_xlabel() == "component 2"
    assert len(ax.get_legend().get_texts()) == 4


def test_numbers_get_a_scale_of_colors(model):
    values = np.linspace(5, 6, 60)
    ax = plots.embedding(model, values)
    (cloud,) = ax.collections
    np.testing.assert_array_equal(cloud.get_array(), values)
    assert len(ax.figure.axes) == 2  # the scale


def test_one_component_is_drawn_on_a_line():
    ax = plots.embedding(np.array([[1.0], [2.0]]))
    np.testing.assert_array_equal(points(ax), [[1, 0], [2, 0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 1", "")


def test_edges_join_their_vertices_and_heavy_ones_are_dark():
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = 1.0
    A[2, 3] = A[3, 2] = 0.25
    at = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    ax = plots.graph(A, at)
    lines, cloud = ax.collections
    np.testing.assert_array_equal(cloud.get_offsets(), at)
    edges = {tuple(map(tuple, line)) for line in lines.get_segments()}
    assert edges == {((0, 0), (1, 0)), ((0, 2), (1, 2))}
    light, dark = sorted(lines.get_alpha())
    assert light == pytest.approx(dark / 4)
    assert ax.get_xlim()[0] < 0 < 1 < ax.get_xlim()[1]
    assert ax.get_title() == ""


def test_the_heaviest_edges_are_kept_and_it_is_said():
    A = np.arange(25.0).reshape(5, 5)
    A = A + A.T
    at = np.random.default_rng(0).standard_normal((5, 2))
    ax = plots.graph(A, at, max_edges=3)
    upper = np.sort(A[np.triu_indices(5, 1)])
    weights = ax.collections[0].get_alpha()
    np.testing.assert_allclose(np.sort(weights) / max(weights), upper[-3:] / upper[-1])
    assert ax.get_title() == "the heaviest 3 of 10 edges"


def test_the_graph_of_a_model_is_at_its_embedding(model):
    ax = plots.graph(model, labels=np.repeat([0, 1, 2, 3], 15))
    lines, *clouds = ax.collections
    assert len(lines.get_segments()) == model.adjacency_.nnz // 2
    np.testing.assert_array_equal(
        np.vstack([cloud.get_offsets() for cloud in clouds]), model.embedding_[:, :2]
    )


# -- curves ----------------------------------------------------------------------------


def test_convergence_shows_the_history(model):
    above, below = plots.convergence(model)
    history = model.history_
    objective, bound = above.lines
    np.testing.assert_array_equal(objective.get_ydata(), history["objective"])
    np.testing.assert_array_equal(bound.get_ydata(), history["lower_bound"])
    np.testing.assert_array_equal(below.lines[0].get_ydata(), history["gap"])
    np.testing.assert_array_equal(below.lines[0].get_xdata(), history["n_iter"])
    assert below.get_yscale() == "log"
    assert set(below.lines[1].get_ydata()) == {model.tol}
    low, high = above.get_ylim()
    assert low < model.lower_bound_ <= model.objective_ < high
    assert low > model.objective_ / 3


def test_an_objective_alone_has_one_picture(X):
    fitted = GNMF(2).fit(np.abs(np.nan_to_num(X)))
    (ax,) = plots.convergence(fitted)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), fitted.history_["objective"])
    assert ax.get_xlabel() == "iteration"


def test_the_path_has_a_line_for_every_lam_and_a_ring(search):
    axes = plots.gamma_path(search)
    results = search.cv_results_
    scores = np.where(
        np.isnan(results["mean_test_score"]),
        results["split0_test_score"],  # of pairs that were dropped
        results["mean_test_score"],
    )
    for ax, values in zip(axes, (-scores, results["mean_rank"]), strict=True):
        drawn = [line.get_ydata() for line in ax.lines[:2]]
        np.testing.assert_array_equal(np.concatenate(drawn), values)
    ring = axes[0].lines[2]
    assert ring.get_ydata()[0] == -search.best_score_
    ticks = [float(text.get_text()) for text in axes[1].get_xticklabels()]
    assert ticks == [0, 0.1, 1]
    assert ticks[int(ring.get_xdata()[0])] == search.gamma_


def test_ranks_along_the_path_are_those_of_the_splits(X, search):
    assert set(search.cv_results_["mean_rank"] * 2 % 1) == {0}  # means of two
    assert search.cv_results_["mean_rank"].min() >= 1


# -- all -------------------------------------------------------------------------------


def calls(model, search):
    """Every picture, on the axes given."""
    at = model.embedding_[:, :2]
    return [
        (lambda ax: plots.embedding(model, ax=ax), 1),
        (lambda ax: plots.graph(model.adjacency_, at, ax=ax), 1),
        (lambda axes: plots.convergence(model, axes=axes), 2),
        (lambda axes: plots.gamma_path(search, axes=axes), 2),
        (lambda axes: plots.decomposition(model, axes=axes), 3),
        (lambda axes: plots.decomposition(model, (4, 6), samples=2, axes=axes), 6),
    ]


def test_axes_that_are_given_are_used_and_returned(model, search):
    for draw, count in calls(model, search):
        figure, axes = plt.subplots(1, count)
        drawn = draw(axes)
        assert list(np.ravel(drawn)) == list(np.ravel(axes))
        assert all(ax.has_data() for ax in np.ravel(axes))
        assert plt.get_fignums() == [figure.number]
        plt.close(figure)


def test_figures_of_ones_own_leave_pyplot_alone(model, search):
    for draw, count in calls(model, search):
        draw(Figure().subplots(1, count))
    assert plt.get_fignums() == []


def test_new_figures_are_those_of_pyplot_and_nothing_is_shown(
    model, search, monkeypatch
):
    monkeypatch.setattr(plt, "show", lambda *args, **options: pytest.fail("shown"))
    for draw, _ in calls(model, search):
        drawn = draw(None)
        figure = np.ravel(drawn)[0].figure
        assert plt.gcf() is figure  # so that notebooks and plt.show() find it
        figure.canvas.draw()
        plt.close(figure)


WRONG = [
    (lambda: plots.decomposition(np.eye(3)), TypeError, "source must be a fitted"),
    (lambda: plots.decomposition({}), ValueError, "empty dict"),
    (
        lambda: plots.decomposition({"a": np.eye(3), "b": np.eye(2)}),
        ValueError,
        r"one shape, got a \(3, 3\), b \(2, 2\)",
    ),
    (
        lambda: plots.decomposition({"a": np.eye(3)}, (2, 2)),
        ValueError,
        r"image_shape \(2, 2\) has 4 pixels but X has 3 features",
    ),
    (
        lambda: plots.decomposition({"a": np.eye(3)}, samples=[0, 3]),
        ValueError,
        "samples must be rows of 3",
    ),
    (lambda: plots.decomposition({"a": np.eye(3)}, samples=0), ValueError, "at least"),
    (
        lambda: plots.decomposition({"a": np.eye(3)}, axes=plt.subplots(1, 2)[1]),
        ValueError,
        r"axes must hold 1 x 1 .* got \(2,\)",
    ),
    (lambda: plots.embedding(np.ones(3)), ValueError, r"got shape \(3,\)"),
    (lambda: plots.embedding(np.eye(3), [1, 2]), ValueError, "labels must be one per"),
    (lambda: plots.embedding(np.eye(3), first=3), ValueError, "not one of the 3"),
    (lambda: plots.embedding(np.eye(3), ax=3), ValueError, "1 x 1 matplotlib axes"),
    (lambda: plots.graph(np.eye(3)), ValueError, "positions are needed"),
    (
        lambda: plots.graph(np.eye(3), np.eye(3), first=3),
        ValueError,
        "not one of the 3",
    ),
    (lambda: plots.graph(np.eye(3), np.eye(2)), ValueError, "2 points for 3 vertices"),
    (
        lambda: plots.graph(-np.ones((2, 2)), np.eye(2)),
        ValueError,
        "source has negative",
    ),
    (lambda: plots.convergence(GLPCA()), ValueError, "source must be a fitted model"),
    (lambda: plots.gamma_path(RPCAG()), ValueError, "source must be a fitted RPCAGCV"),
]


@pytest.mark.parametrize(("draw", "kind", "words"), WRONG, ids=range(len(WRONG)))
def test_mistakes_are_named(draw, kind, words):
    with pytest.raises(kind, match=words):
        draw()


def test_without_matplotlib_the_extra_is_named():
    code = "import sys; sys.modules['matplotlib'] = None; import rpcag.plots"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith(
        "ImportError: pictures need matplotlib: pip install 'rpcag[plots]'"
    )


def test_colors_of_any_unit_are_shown(rng):
    L = rng.uniform(0, 255, size=(3, 4 * 5 * 3))
    S = np.zeros_like(L)
    S[0, 0] = -200.0
    axes = plots.decomposition({"low-rank": L, "sparse": S}, (4, 5, 3), samples=[0])
    low_rank, sparse = (ax.images[0].get_array() for ax in axes[:, 0])
    assert low_rank.std() > 0.2
    assert sparse[0, 0, 0] == 0.0  # negative
    assert sparse[1, 1, 1] == pytest.approx(0.5)
    plt.close("all")
