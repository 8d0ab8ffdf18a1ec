"""Separating frames in memory: graph, masks, models, sources, writers."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import ndimage
from sklearn.exceptions import NotFittedError

from rpcag import RPCA, RPCAG
from rpcag.video import BackgroundModel, Source, separate
from rpcag.video.background import automatic_gamma, weight_of_noise
from rpcag.video.files import frames_that_fit, spread, without_color
from rpcag.video.graph import FrameGraph, pixel_noise
from rpcag.video.masks import (
    MaskRule,
    at_every_pixel,
    clean,
    fit_mask_rule,
    lit_differently,
    otsu,
    window_mean,
)
from rpcag.video.motion import least_still, moving
from rpcag.video.pixels import in_unit_of
from rpcag.video.regression import regress
from videos import f_score, scene

# -- separate --------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["rpcag", "rpca"])
def test_what_moves_is_found(model, rng):
    frames, truth = scene(rng)
    found = separate(frames, model=model)
    assert found.model.estimator_.gap_ <= 1e-3
    assert f_score(found.mask, truth) > 0.93
    wall = np.median(frames, axis=0)
    assert np.abs(found.background - wall).mean() < 2.5
    np.testing.assert_array_equal(found.foreground, np.where(found.mask, frames, 0))


def test_new_frames_have_the_background_of_fitted_ones(rng):
    frames, truth = scene(rng)
    every, some = separate(frames), separate(frames, max_frames=20)
    assert len(some.model.estimator_.embedding_) == 20  # every other
    apart = np.abs(every.background.astype(int) - some.background)[~truth]
    assert apart.mean() < 1
    assert f_score(some.mask, truth) > 0.93


def test_other_frames_must_have_the_shape_of_the_fit(rng):
    frames, _ = scene(rng, n=12)
    model = BackgroundModel("rpca").fit(frames)
    with pytest.raises(
        ValueError, match=r"of shape \(32, 44\), as in fit, got \(9, 44\)"
    ):
        model.background(frames[:, :9])


def test_lights_that_go_on_are_background(rng):
    light = np.where(np.arange(40) < 15, 0.5, 1.2)
    frames, truth = scene(rng, light=light)
    found = separate(frames)
    assert f_score(found.mask, truth) > 0.9
    assert separate(scene(rng, light=light, moving=False)[0]).mask.mean() < 1e-3


def test_a_lamp_that_lights_a_quarter_is_background(rng):
    frames, truth = scene(rng, n=60)
    frames[25:, :16, 22:] = np.minimum(frames[25:, :16, 22:] * 1.3, 255)
    assert f_score(separate(frames).mask, truth) > 0.9
    empty, _ = scene(rng, n=60, moving=False)
    empty[25:, :16, 22:] = np.minimum(empty[25:, :16, 22:] * 1.3, 255)
    assert separate(empty).mask.mean() < 0.01


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.5, 0.6, 2.0, 6.0, 20.0])
def test_noise_alone_moves_nowhere(rng, noise):
    frames, _ = scene(rng, moving=False, noise=noise)
    assert separate(frames).mask.mean() < 1e-3


def test_the_background_stays_near_that_of_alike_frames(rng):
    n, reach = 40, 0.05
    X = 0.4 + 0.01 * rng.standard_normal((n, 600))
    X[:15, :200] += 0.5  # stands there for a while
    everyone = (1 - np.eye(n)) / (n - 1)  # degrees are one
    lam = 1 / np.sqrt(600)
    options = {"lam": lam, "graph": everyone, "laplacian": "combinatorial"}
    departures = [
        np.abs(L - L.mean(axis=0)).max()
        for gamma in (automatic_gamma(lam, reach), 0.0)
        for L in [RPCAG(gamma=gamma, **options).fit(X).low_rank_]
    ]
    # One lam from S, and a little from the nuclear norm.
    assert departures[0] < 1.3 * reach
    assert departures[1] > 3 * reach


@pytest.mark.slow
def test_who_stands_still_is_no_background(rng):
    n = 150
    frames, _ = scene(rng, n=n, light=1 + np.linspace(0, 0.03, n), moving=False)
    wall = frames.astype(float)
    frames[40:100, 8:24, 10:18] = 230  # two fifths of the time
    place = np.s_[40:100, 9:23, 11:17]

    def off(model):
        found = separate(frames, model=model)
        return np.abs(found.background[place] - wall[place]).mean()

    # Four deviations of the noise, which is two, and the noise itself.
    assert off("rpcag") < 11
    assert off("rpca") > 50


@pytest.mark.slow
def test_colors_are_kept(rng):
    frames, truth = scene(rng)
    colors = np.stack([frames, frames // 2, 255 - frames], axis=3)
    found = separate(colors)
    assert found.background.shape == found.foreground.shape == colors.shape
    assert f_score(found.mask, truth) > 0.93


@pytest.mark.slow
def test_depth_does_not_matter(rng):
    frames, _ = scene(rng, n=30)
    eight = separate(frames)
    sixteen = separate(frames.astype(np.uint16) * 257)
    floats = separate((frames / 255).astype(np.float32))
    dark = separate((frames / 255 / 16).astype(np.float32))  # 12 of 16 bits, say
    assert (dark.mask != eight.mask).mean() < 0.02
    for other in (sixteen, floats):
        assert (other.mask != eight.mask).mean() < 1e-3
    assert sixteen.background.dtype == np.uint16
    swapped = separate((frames.astype(np.uint16) * 257).astype(">u2"))
    np.testing.assert_array_equal(swapped.background, sixteen.background)
    # Half a gray level is rounding; the rest, that both fits end within their gap.
    eight = separate(frames, tol=1e-4)
    floats = separate((frames / 255).astype(np.float32), tol=1e-4)
    np.testing.assert_allclose(floats.background * 255, eight.background, atol=0.8)


@pytest.mark.slow
def test_frames_may_come_one_by_one(rng):
    frames, _ = scene(rng, n=12)
    expected = separate(frames).mask
    for given in (list(frames), iter(frames)):
        np.testing.assert_array_equal(separate(given).mask, expected)


def test_black_and_white_stays_so(rng):
    _, truth = scene(rng)
    found = separate(truth | (np.arange(44) < 5))  # with a white edge
    assert found.background.dtype == bool
    assert found.background[:, :, :5].all()
    assert not found.background[:, :, 5:].any()


@pytest.mark.parametrize(
    ("frames", "options", "message"),
    [
        (np.zeros((1, 4, 4)), {}, "at least 2 are needed, got 1"),
        (np.zeros((0, 4, 4)), {}, "at least 2 are needed, got 0"),
        (np.zeros((4, 4)), {}, r"shape \(frames, height, width\)"),
        (np.zeros((4, 4, 4, 2)), {}, r"\(frames, height, width, 3\), got float64"),
        (np.zeros((4, 4, 4), complex), {}, "must hold numbers"),
        (np.zeros((4, 0, 4)), {}, r"got float64 of shape \(4, 0, 4\)"),
        (np.zeros((4, 4, 4), int), {}, r"got int\d+, .* use .astype\(np.uint8\)"),
        (np.full((4, 4, 4), 99.0), {}, "frame 0 must have values between 0 and 1, got"),
        (np.full((4, 4, 4), np.nan), {}, "frame 0 has values that are not finite"),
        ([np.zeros((4, 4)), np.zeros((4, 5))], {}, "frames must all have one shape"),
        ("clip.mp4", {}, "rpcag.video.separate_file takes files"),
        (np.zeros((4, 4, 4)), {"model": "pca"}, "model must be rpcag or rpca, got 'p"),
        (np.zeros((4, 4, 4)), {"lam": "candes"}, "lam must be a number or 'auto', got"),
        (np.zeros((4, 4, 4)), {"tol": 1.0}, "tol must lie between 0 and 1, got 1.0"),
        (np.zeros((4, 4, 4)), {"max_frames": 1}, "max_frames must be at least 2"),
        (np.zeros((4, 4, 4)), {"gamma": -1.0}, "gamma"),
        (np.zeros((4, 4, 4)), {"gamma": "10"}, "gamma must be a number or 'auto'"),
        (np.zeros((4, 4, 4)), {"gamma": 1, "model": "rpca"}, "rpca does not have"),
    ],
)
def test_wrong_arguments_are_named(frames, options, message):
    with pytest.raises(ValueError, match=message):
        separate(frames, **options)


def test_frames_without_anything_in_them_are_background():
    for value in (0, 255):
        found = separate(np.full((12, 16, 16), value, np.uint8))
        assert not found.mask.any()
        assert np.abs(found.background.astype(int) - value).max() <= 1


# -- graph -----------------------------------------------------------------------------


def test_frames_are_joined_by_their_light_not_by_what_moves(rng):
    light = np.where(np.arange(60) % 20 < 10, 0.6, 1.0)  # many switches
    frames, _ = scene(rng, n=60, light=light)
    W = FrameGraph((32, 44)).fit(frames.reshape(60, -1) / 255).adjacency_
    i, j = W.nonzero()
    weight_across = W.toarray()[i, j][light[i] != light[j]].sum()
    assert weight_across < 1e-3 * W.sum()
    np.testing.assert_allclose((W - W.T).toarray(), 0)


def test_frames_are_joined_all_over_the_video(rng):
    frames, _ = scene(rng, n=200, light=1 + np.linspace(0, 0.02, 200))
    W = FrameGraph((32, 44)).fit(frames.reshape(200, -1) / 255).adjacency_
    i, j = W.nonzero()
    weight = W.toarray()[i, j]
    # Frames that follow each other are the most similar ones.
    assert weight[np.abs(i - j) <= 20].sum() < 0.4 * weight.sum()
    assert W.sum(axis=1).mean() == pytest.approx(1)


def test_new_frames_are_joined_like_old_ones(rng):
    light = np.where(np.arange(60) < 30, 0.6, 1.0)
    frames, _ = scene(rng, n=60, light=light)
    X = (frames.reshape(60, -1) / 255).astype(np.float32)
    A = FrameGraph((32, 44)).fit(X[::2]).connect(X[1::2]).toarray()
    assert A.shape == (30, 30)
    assert max(A[:15, 15:].max(), A[15:, :15].max()) < 1e-6
    np.testing.assert_allclose(A.sum(axis=1), 1)


def test_noise_is_told_from_what_moves(rng):
    frames, _ = scene(rng, noise=4.0)
    noise = pixel_noise(frames.reshape(40, -1) / 255) * 255
    assert np.median(noise) == pytest.approx(4, rel=0.25)


# -- motion ----------------------------------------------------------------------------


def in_motion(frames, noise):
    return moving(frames, noise, least_still(len(frames), frames[0].size))


def test_noise_and_light_are_no_motion(rng):
    switched = np.where(np.arange(40) < 25, 1.0, 0.7)
    for noise in (1.0, 2.0, 6.0):
        frames, _ = scene(rng, moving=False, noise=noise)
        assert not in_motion(frames / 255, noise / 255).any()
        frames, _ = scene(rng, moving=False, noise=noise, light=switched)
        found = in_motion(frames / 255, noise / 255)
        assert found.mean() < 0.5 * 2 / 40
        assert not found[:23].any()


def test_what_passes_is_in_motion(rng):
    frames, truth = scene(rng, n=60)
    found = in_motion(frames / 255, 2 / 255)
    # A square of one color is still inside: the edges that come and go are seen.
    assert found[truth].mean() > 0.6
    assert found[:, :8].mean() < 0.01
    color = np.repeat(frames[..., None], 3, axis=3)
    np.testing.assert_array_equal(in_motion(color / 255, 2 / 255), found)


def test_too_few_still_entries_are_no_evidence(rng):
    frames, _ = scene(rng, n=60)
    frames[:, 2:8, 2:8] = rng.integers(0, 255, (60, 6, 6))  # leaves
    found = in_motion(frames / 255, 2 / 255)
    assert not found[:, 4:6, 4:6].any()
    assert least_still(60, frames[0].size) < 0.4 < least_still(20, frames[0].size)
    for few in (1, 2, 3):
        assert not in_motion(frames[:few] / 255, 2 / 255).any()


@pytest.mark.slow
def test_a_place_that_is_mostly_crowded_keeps_its_background(rng):
    frames, _ = scene(rng, n=120, moving=False)
    wall = np.median(frames, axis=0)
    crowded = np.arange(120) % 20 < 12
    for t in np.flatnonzero(crowded):
        frames[t, 8:24, 10:30] = rng.integers(150, 255) + rng.integers(0, 9, (16, 20))

    def off(skip_motion):
        found = separate(frames, skip_motion=skip_motion)
        place = np.s_[crowded, 10:22, 12:28]
        return np.abs(found.background[place] - wall[10:22, 12:28]).mean()

    assert off(True) < 5
    assert off(False) > 25


# -- regression on the time course -----------------------------------------------------


def columns_of(X, seen=None):
    def values(columns):
        part = None if seen is None else seen[:, columns].astype(np.float32)
        return X[:, columns].astype(np.float32), part

    return values


def test_columns_of_the_fit_get_its_background_back(rng):
    n, p = 30, 200
    light = 1 + 0.3 * np.sin(np.arange(n) / 5)[:, None]
    X = light * rng.uniform(0.2, 0.7, p) + 0.02 * rng.standard_normal((n, p))
    X[rng.random((n, p)) < 0.1] = 1.0
    seen = rng.random((n, p)) > 0.1
    chain = np.eye(n, k=1) + np.eye(n, k=-1)
    graph = {"graph": chain, "laplacian": "combinatorial"}
    for model in (
        RPCA(tol=1e-6, lam=0.06),
        RPCAG(tol=1e-6, lam=0.06, gamma=0.05, **graph),
    ):
        model.fit(np.where(seen, X, np.nan))
        block = columns_of(np.where(seen, X, 0), seen)
        components, _, gap = regress(model, block, p, noise=0.02, tol=1e-5)
        assert gap <= 1e-5
        apart = np.abs(model.embedding_ @ components - model.low_rank_)
        assert apart.max() < 0.01
        assert apart.mean() < 5e-4


def test_regression_minimizes_its_objective(rng):
    import cvxpy as cp

    n, p, rank, lam = 12, 5, 2, 0.3
    U = np.linalg.qr(rng.standard_normal((n, rank)))[0]
    B, s = rng.standard_normal((n, n)), np.array([5.0, 2.0])
    A = np.diag(1 / s) + 2 * 0.01 * U.T @ B @ B.T @ U
    X, seen = rng.standard_normal((n, p)), rng.random((n, p)) > 0.2
    model = SimpleNamespace(
        embedding_=U * s, components_=np.zeros((rank, p)), lam_=lam, gamma_=0.01
    )
    model.laplacian_ = B @ B.T
    found, _, gap = regress(model, columns_of(X, seen), p, noise=0.5, tol=1e-5)
    found *= s[:, None]  # coordinates along U
    total = 0.0
    for j in range(p):
        c = cp.Variable(rank)
        left = cp.multiply(seen[:, j], X[:, j] - U @ c)
        problem = cp.Problem(cp.Minimize(lam * cp.norm1(left) + cp.quad_form(c, A) / 2))
        total += problem.solve()
    left = seen * np.abs(X - U @ found)
    objective = lam * left.sum() + np.sum(found * (A @ found)) / 2
    assert gap <= 1e-5
    assert total <= objective + 1e-6
    assert objective - total <= 1e-5 * objective


def test_a_constant_time_course_gives_medians(rng):
    n, p = 41, 30
    X = rng.random((n, p))
    model = SimpleNamespace(
        embedding_=np.full((n, 1), 1e4), components_=np.ones((1, p)), lam_=0.01
    )
    found, *_ = regress(model, columns_of(X), p, noise=0.1, tol=1e-6)
    near = np.sort(X, axis=0)[[n // 2 - 1, n // 2 + 1]]
    middle = 1e4 * found[0]
    assert ((near[0] < middle) & (middle < near[1])).all()


def test_a_sample_of_pixels_gives_the_background_of_all(rng, monkeypatch):
    light = 1 + 0.2 * np.sin(np.arange(40) / 6)
    frames, truth = scene(rng, light=light)
    every = separate(frames)
    monkeypatch.setattr("rpcag.video.background.SAMPLE", 8)
    monkeypatch.setattr("rpcag.video.background.LEAST", 0)
    some = separate(frames)
    assert every.model.columns_.size == frames[0].size
    assert some.model.columns_.size == 320 < frames[0].size
    assert len(np.unique(some.model.columns_)) == 320
    assert some.model.estimator_.gap_ <= 1e-3
    assert 0 < some.model.regression_gap_ <= 1e-3
    apart = np.abs(every.background.astype(int) - some.background)
    assert apart.mean() < 0.7
    assert f_score(some.mask, truth) > 0.93
    # A weight of all pixels keeps its meaning.
    lam, gamma = 1 / (40**0.5 + frames[0].size ** 0.5), 0.5
    fit = separate(frames, lam=lam, gamma=gamma).model.estimator_
    scale = (frames[0].size / 320) ** 0.5
    assert (fit.lam_, fit.gamma_) == pytest.approx((lam * scale, gamma * scale))


# -- masks -----------------------------------------------------------------------------


def test_otsu_splits_with_the_least_variance(rng):
    values = np.linspace(0, 1, 50)
    counts = rng.integers(0, 30, 50)

    def within(k):
        parts = (values[:k], counts[:k]), (values[k:], counts[k:])
        return sum(
            np.sum(c * (v - np.average(v, weights=c)) ** 2)
            for v, c in parts
            if c.sum() > 0
        )

    best = min(range(1, 50), key=within)
    split = int(np.argmax(values == otsu(values, counts))) + 1
    assert within(split) == pytest.approx(within(best))


def test_the_rule_knows_the_noise(rng):
    residuals = [0.02 * rng.standard_normal((20, 30, 30)) for _ in range(2)]
    assert fit_mask_rule(residuals).noise == pytest.approx(0.02, rel=0.05)


def test_windows_are_gaussian(rng):
    images = rng.random((2, 61, 83))
    expected = ndimage.gaussian_filter(images, (0, 1.5, 1.5))
    np.testing.assert_allclose(window_mean(images, 1.5), expected, atol=1e-12)
    large = rng.random((1, 243, 323))  # one value for two by two pixels
    width = 1.5 * np.sqrt(243 * 323 / (120 * 160))
    blurred = ndimage.gaussian_filter(large, (0, width, width))
    found = window_mean(large, 1.5)
    assert found.shape == (1, 122, 162)
    whole = blurred[:, :242, :322].reshape(1, 121, 2, 161, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(found[:, :121, :161], whole, atol=1e-12)
    repeated = at_every_pixel(found, large.shape[1:])
    assert repeated.shape == large.shape
    assert (repeated[0, 4:6, 8:10] == found[0, 2, 4]).all()


def test_shadows_are_told_from_objects(rng):
    wall = ndimage.gaussian_filter(rng.standard_normal((1, 60, 60)), (0, 1, 1))
    wall = 0.5 + 0.1 * wall / wall.std()
    frame = wall.copy()
    frame[0, 5:30, 5:30] *= 0.7  # a shadow
    frame[0, 35:55, 35:55] = 0.3  # an object
    lit = lit_differently(frame, wall, 0.01)[0]
    assert lit[14:21, 14:21].all()
    assert not lit[38:52, 38:52].any()


def test_soft_shadows_are_told_from_objects():
    floor = np.full((1, 60, 80), 0.5)
    shape = np.zeros_like(floor)
    shape[0, 20:40, 15:30] = 1
    rule = MaskRule(0.2, 0.01)
    soft = floor * (1 - 0.3 * ndimage.gaussian_filter(shape, (0, 3, 3)))
    assert lit_differently(soft, floor, 0.01)[0][shape[0] > 0].all()
    assert not rule(soft, floor).any()
    # Of something as dark the outline stays, and what is inside is filled.
    sharp = floor * (1 - 0.3 * ndimage.gaussian_filter(shape, (0, 0.5, 0.5)))
    assert f_score(rule(sharp, floor), shape > 0) > 0.9
    for factor in (1.3, 0.3):
        assert not lit_differently(factor * floor, floor, 0.01).any()


def test_shadows_are_told_from_objects_in_noise(rng):
    noise, floor = 4 / 255, np.full((1, 60, 80), 0.5)
    shape = np.zeros_like(floor)
    shape[0, 20:40, 25:45] = 1
    rule = MaskRule(0.29, noise)
    for penumbra, truth in ((3, shape < 0), (0.5, shape > 0)):
        darker = 1 - 0.3 * ndimage.gaussian_filter(shape, (0, penumbra, penumbra))
        frame = floor * darker + noise * rng.standard_normal(floor.shape)
        assert f_score(rule(frame, floor), truth) > 0.95


def test_something_plain_hides_texture_as_no_shadow_does(rng):
    wall = ndimage.gaussian_filter(rng.standard_normal((1, 60, 80)), (0, 1.5, 1.5))
    wall = 0.5 + 0.06 * wall / wall.std()
    truth = np.zeros(wall.shape, bool)
    truth[0, 15:50, 20:44] = True
    for value in (0.4, 0.8):
        found = MaskRule(0.2, 0.01)(np.where(truth, value, wall), wall)
        assert f_score(found, truth) > 0.9
    strong = 0.5 + 0.2 * (wall - 0.5) / 0.06
    found = MaskRule(0.2, 0.01)(np.where(truth, 0.5, strong), strong)
    assert f_score(found, truth) > 0.7


def test_who_has_left_is_no_object(rng):
    room = 0.5 + 0.01 * rng.standard_normal((1, 60, 80))
    with_her = room.copy()
    with_her[0, 20:50, 30:44] = 0.9
    rule = MaskRule(0.2, 0.01)
    assert rule(with_her, room).any()
    assert not rule(room, with_her).any()


@pytest.mark.parametrize("noise", [10.0, 20.0])
def test_objects_are_found_in_much_noise(rng, noise):
    frames, truth = scene(rng, n=60, noise=noise)
    assert f_score(separate(frames).mask, truth) > 0.6


def test_the_clean_up_closes_fills_and_drops():
    mask = np.zeros((120, 160), bool)
    mask[20:40, 20:40] = True
    mask[25:35, 25:35] = False  # a hole
    mask[20:40, 42:50] = True  # behind a gap of two pixels
    mask[80:84, 80:84] = True  # 16 pixels
    mask[100:107, 0:7] = True  # 49 pixels at the border
    cleaned = clean(mask)
    assert cleaned[20:40, 20:50].all()
    assert not cleaned[75:90, 75:90].any()
    assert cleaned[100:107, 0:7].all()
    assert cleaned.sum() < 20 * 30 + 49 + 10
    for full in (True, False):
        assert (clean(np.full((30, 30), full)) == full).all()


def test_noise_alone_has_a_background_only_with_the_papers_lam(rng):
    shape = 80, 400
    noise = rng.standard_normal(shape)
    ours = RPCA(lam=0.97 * weight_of_noise(*shape), tol=1e-6).fit(noise)
    paper = RPCA(lam="theory", tol=1e-6).fit(noise)
    assert ours.rank_ == 0
    assert paper.rank_ > 10


# -- sources and sizes -----------------------------------------------------------------


def images(folder, frames):
    """A folder of lossless images."""
    from rpcag.video.ffmpeg import Writer

    with Writer(folder, Fraction(10), "png") as writer:
        for frame in frames:
            writer.write(frame)
    return folder


@pytest.mark.parametrize("n", [2, 7, 8, 9, 31, 100])
@pytest.mark.parametrize("most", [2, 8, 40])
def test_a_spread_is_even_and_long_enough(n, most, tmp_path):
    pytest.importorskip("av", reason="needs the extra rpcag[video]")
    path = images(tmp_path / "v", np.arange(n, dtype=np.uint8)[:, None, None])
    read = []
    frames, step, length = spread(Source(path), most, lambda *told: read.append(told))
    assert length == n
    assert read[-1] == ("reading", n, n)
    numbers = frames.ravel().tolist()
    assert numbers == list(range(0, n, step))
    assert len(numbers) == n or most / 2 <= len(numbers) <= most


def test_a_selection_is_a_slice(rng, tmp_path):
    pytest.importorskip("av", reason="needs the extra rpcag[video]")
    frames, _ = scene(rng, n=20)
    path = images(tmp_path / "video", frames)
    for start, stop, every in ((0, None, 1), (3, None, 4), (2, 11, 3), (5, 99, 2)):
        options = {"start": start, "stop": stop, "every": every}
        chosen = Source(path, **options)
        expected = frames[start:stop:every]
        np.testing.assert_array_equal(np.stack(list(chosen)), expected)
        assert chosen.length == len(expected)


def test_frames_are_resized_by_means_of_areas(rng, tmp_path):
    pytest.importorskip("av", reason="needs the extra rpcag[video]")
    frames, _ = scene(rng, n=6)
    path = images(tmp_path / "a", frames)
    source = Source(path)
    for _ in range(2):  # again and again
        np.testing.assert_array_equal(np.stack(list(source)), frames)
    assert source.length == 6
    small = Source(path, size=(16, 22))
    expected = frames.reshape(6, 16, 2, 22, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(np.stack(list(small)), expected, atol=1)


def test_values_survive_the_way_to_one_and_back(rng):
    for dtype in (np.uint8, np.uint16):
        top = np.iinfo(dtype).max
        values = rng.integers(0, top + 1, 1000).astype(dtype)
        back = in_unit_of(values / np.float32(top), values.dtype)
        np.testing.assert_array_equal(back, values)


def test_gray_is_told_from_color(rng):
    frames, _ = scene(rng, n=3)
    gray = np.repeat(frames[..., None], 3, axis=3)
    assert without_color(gray)
    gray[1, 20, 20, 0] //= 2
    assert not without_color(gray)


def test_memory_is_a_budget():
    assert 20 <= frames_that_fit(0.5e9, 19200) < frames_that_fit(0.6e9, 19200) < 1000
    assert frames_that_fit(50e9, 19200) == 1000
    with pytest.raises(ValueError, match=r"memory must be at least 0.5 GB for 20"):
        frames_that_fit(0.4e9, 640 * 480 * 3)


# -- files -----------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["mp4", "webm", "png"])
@pytest.mark.parametrize("color", [False, True])
def test_what_is_written_can_be_read(format, color, rng, tmp_path):
    pytest.importorskip("av", reason="needs the extra rpcag[video]")
    from rpcag.video.ffmpeg import Writer

    frames, _ = scene(rng, n=9, noise=0.0)
    frames = frames[:, :31, :43]  # odd sides
    if color:
        frames = np.stack([frames, frames // 2, frames // 3], axis=3)
    with Writer(tmp_path / "video", Fraction(30000, 1001), format) as writer:
        for frame in frames:
            writer.write(frame)
    source = Source(writer.path, gray=not color)
    read = np.stack(list(source))
    assert len(read) == source.length or source.length is None
    if format == "png":
        np.testing.assert_array_equal(read, frames)
        return
    assert source.rate == pytest.approx(Fraction(30000, 1001), rel=1e-3)
    assert read.shape[1:3] == (32, 44)
    apart = np.abs(read[:, :31, :43].astype(int) - frames)
    assert apart.mean() < (6 if color else 3)


def test_images_are_in_the_order_of_their_numbers(rng, tmp_path):
    pytest.importorskip("av", reason="needs the extra rpcag[video]")
    from rpcag.video.ffmpeg import Writer

    frames, _ = scene(rng, n=12)
    with Writer(tmp_path / "f", Fraction(25), "png") as writer:
        for frame in frames:
            writer.write(frame)
    for i, path in enumerate(sorted((tmp_path / "f").iterdir())):
        path.rename(path.with_name(f"²{i}.png"))  # a digit, but no number
    (tmp_path / "f" / "notes.txt").write_text("no image")
    read = np.stack(list(Source(tmp_path / "f")))
    np.testing.assert_array_equal(read, frames)


@pytest.mark.parametrize("degrees", [0, 90, 180, -90])
def test_videos_are_held_as_they_were_taken(degrees, tmp_path):
    av = pytest.importorskip("av", reason="needs the extra rpcag[video]")
    stream_type = av.video.stream.VideoStream
    if not hasattr(stream_type, "set_display_rotation"):
        pytest.skip("this PyAV cannot write a rotation")
    frame = np.full((32, 48), 60, np.uint8)
    frame[:16, :24] = 200  # the corner at the top left
    path = tmp_path / "turned.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
        stream.set_display_rotation(degrees)
        picture = av.VideoFrame.from_ndarray(frame, format="gray")
        for packet in [*stream.encode(picture), *stream.encode(None)]:
            container.mux(packet)
    (read,) = Source(path, gray=True)
    upright = np.rot90(frame, degrees // 90)
    assert read.shape == upright.shape
    assert np.abs(read.astype(int) - upright).mean() < 5
    (small,) = Source(path, size=(10, 20), gray=True)
    assert small.shape == (10, 20)


def test_a_model_without_frames_says_so():
    with pytest.raises(NotFittedError, match="call fit"):
        BackgroundModel().background(np.zeros((2, 4, 4), np.uint8))


def test_sound_may_outlast_the_video(tmp_path):
    av = pytest.importorskip("av")
    path = tmp_path / "clip.mkv"
    with av.open(path, "w") as container:
        video = container.add_stream("libx264", rate=10)
        video.width = video.height = 32
        video.pix_fmt = "yuv420p"
        sound = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        for _ in range(10):  # one second
            frame = av.VideoFrame.from_ndarray(np.full((32, 32), 90, np.uint8), "gray")
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        samples = av.AudioFrame.from_ndarray(
            np.zeros((1, 32_000), np.int16), "s16", "mono"
        )
        samples.sample_rate = 8000  # four seconds
        container.mux(sound.encode(samples))
    assert len(list(Source(path))) == 10
