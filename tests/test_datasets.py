"""Data sets: which samples, from which file, and what is said when there is none."""

import sys
from dataclasses import replace
from hashlib import sha256
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

from conftest import data_folder
from rpcag.datasets import (
    Data,
    Video,
    catalog,
    download,
    list_datasets,
    load,
    load_folder,
    load_video,
)

NAMES = ["PIE", "ORL", "YALE", "COIL20", "MNIST", "USPS", "MFeat", "BCI"]
# Classes and samples per class, in the whole set and in the paper's experiments.
WHOLE = {"PIE": (68, 42), "ORL": (40, 10), "YALE": (15, 11), "COIL20": (20, 72)}
WHOLE |= {"MNIST": (10, 500), "USPS": (10, 708), "MFeat": (10, 200), "BCI": (2, 200)}
PAPER = {"PIE": (30, 10), "ORL": (30, 10), "YALE": (15, 11), "COIL20": (20, 10)}
PAPER |= {"MNIST": (10, 30), "USPS": (10, 30), "MFeat": (10, 40), "BCI": (2, 200)}
ORL_OF_THE_AUTHORS = [*range(1, 10), 13, *range(21, 41)]  # counted from 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder, and an empty cache beside it."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("RPCAG_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def labeled(folder, rng):
    """Files of the right numbers of samples; features tell class and place in it."""
    for name in NAMES:
        classes, per_class = WHOLE[name]
        y = np.repeat(np.arange(classes), per_class)
        X = np.stack([y, np.tile(np.arange(per_class), classes)], axis=1)
        if name in ("USPS", "BCI"):  # not sorted, as in the real files
            order = rng.permutation(len(y))
            X, y = X[order], y[order]
        np.savez(folder / catalog.entry_named(name, video=False).file, X=X, y=y)
    return folder


@pytest.fixture
def real_folder(monkeypatch):
    folder = data_folder()
    if folder is None:
        pytest.skip("real data not found: set RPCAG_DATA to their folder")
    monkeypatch.setenv("RPCAG_DATA", str(folder))
    return folder


def source(data):
    """Class and place in the class, in the fake files, of every row."""
    return data.X.astype(int).T


# The record


def test_own_arrays_make_a_data_set():
    X = np.arange(24).reshape(2, 12)
    data = Data("mine", X, [4, 7], image_shape=[2, 2, 3])
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [4, 7]
    assert data.image_shape == (2, 2, 3)
    assert data.n_classes == 2
    assert repr(data) == (
        "Data('mine', 2 samples x 12 features, 2 classes, images of 2 x 2 x 3)"
    )
    assert Data("mine", X, np.array([0.0, 1.0])).y.dtype == np.int64


def test_nonnegative_data_may_have_holes():
    X = np.array([[0.0, np.nan], [1.0, 2.0]])
    assert Data("mine", X).is_nonnegative
    assert not Data("mine", X - 1e-9).is_nonnegative


def test_data_without_classes_have_no_number_of_them():
    data = Data("mine", np.eye(2))
    assert data.y is None
    with pytest.raises(ValueError, match="mine has no classes"):
        data.n_classes  # noqa: B018


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.ones(4)}, r"one row per sample.*got shape \(4,\)"),
        ({"X": np.ones((0, 4))}, r"one row per sample.*got shape \(0, 4\)"),
        ({"X": [["a", "b"]]}, "X must be a dense array of numbers"),
        ({"y": [0, 1]}, r"one class per row of X, shape \(3,\), got \(2,\)"),
        ({"y": ["a", "b", "a"]}, "whole numbers, got .'a', 'b', 'a'."),
        ({"y": [0, 0.5, 1]}, "whole numbers"),
        ({"y": [0, np.nan, 1]}, "whole numbers"),
        ({"image_shape": (2, 3)}, "has 6 pixels but X has 4 features"),
        ({"image_shape": (2, 2, 3)}, "has 12 entries but X has 4 features"),
        ({"image_shape": 4}, "two positive ints.*or three with the channels"),
    ],
)
def test_data_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Data("mine", **{"X": np.ones((3, 4)), **arguments})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"frames": np.zeros((5, 24))}, "frames must have shape"),
        ({"frame_number": [1, 2]}, r"frame_number must have shape \(5,\)"),
        ({"masks": np.zeros((1, 4, 5))}, r"masks must have shape \(1, 4, 6\)"),
        ({"mask_index": [1, 2]}, r"mask_index must have shape \(1,\)"),
        ({"mask_index": [5]}, "mask_index must lie between 0 and 4"),
        ({"valid": np.zeros((5, 4, 6))}, r"valid must have shape \(1, 4, 6\)"),
    ],
)
def test_videos_that_do_not_fit_are_refused(changed, message):
    video = Video(
        "mine",
        np.zeros((5, 4, 6), np.uint8),
        np.arange(5),
        np.zeros((1, 4, 6), bool),
        [4],
    )
    with pytest.raises(ValueError, match=message):
        replace(video, **changed)


# Which samples


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_paper_has_that_many_of_every_class(labeled, name, seed):
    data = load(name, seed=seed, verify=False)
    classes, per_class = PAPER[name]
    np.testing.assert_array_equal(data.y, np.repeat(np.arange(classes), per_class))
    label, place = source(data)
    assert (np.diff(label) >= 0).all()
    assert len(set(zip(label, place, strict=True))) == classes * per_class
    assert len(np.unique(label)) == classes


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_where_there_is_a_choice(labeled, name):
    first, again, other = (load(name, seed=seed, verify=False) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.X, again.X)
    assert np.array_equal(first.X, other.X) == (PAPER[name] == WHOLE[name])


@pytest.mark.parametrize("name", NAMES)
def test_all_is_all(labeled, name):
    data = load(name.lower(), subset="all", verify=False)
    classes, per_class = WHOLE[name]
    assert data.name == name
    np.testing.assert_array_equal(data.y, np.repeat(np.arange(classes), per_class))
    np.testing.assert_array_equal(source(data)[0], data.y)


def test_seed_zero_is_the_composition_of_the_study(labeled):
    label, place = source(load("PIE", verify=False))
    assert label.max() == 29
    np.testing.assert_array_equal(place[:10], [0, 4, 8, 12, 16, 21, 25, 29, 33, 37])
    label, place = source(load("COIL20", verify=False))
    np.testing.assert_array_equal(place[-10:], [0, 7, 14, 21, 28, 36, 43, 50, 57, 64])
    label, place = source(load("ORL", verify=False))
    np.testing.assert_array_equal(np.unique(label) + 1, ORL_OF_THE_AUTHORS)
    np.testing.assert_array_equal(place[:10], np.arange(10))


def test_other_seeds_draw_subjects_and_images(labeled):
    label, place = source(load("PIE", seed=1, verify=False))
    assert label.max() > 29
    by_subject = place.reshape(30, 10)
    assert len(np.unique(by_subject, axis=0)) > 1
    assert (np.diff(by_subject) > 0).all()
    assert set(source(load("ORL", seed=1, verify=False))[0] + 1) != set(
        ORL_OF_THE_AUTHORS
    )


@pytest.mark.parametrize("name", ["PIE", "COIL20", "MNIST", "USPS"])
def test_a_draw_without_the_samples_of_others(labeled, name):
    def samples(seed, **options):
        found = source(load(name, seed=seed, verify=False, **options))
        return set(zip(*map(np.ndarray.tolist, found), strict=True))

    used = samples(11) | samples(12)
    new = samples(3, without=(11, 12))
    assert len(new) == np.prod(PAPER[name])
    assert not new & used
    assert samples(3) & used
    assert new == samples(3, without=(12, 11))


def test_where_all_is_used_nothing_is_left(labeled):
    for name, seeds in (("ORL", (11, 12, 13)), ("YALE", (3,)), ("BCI", (1, 2))):
        with pytest.raises(ValueError, match=r"without the samples of seeds .* wanted"):
            load(name, seed=1, without=np.array(seeds), verify=False)
    with pytest.raises(ValueError, match="0 classes have 42 left, and 68 are wanted"):
        load("PIE", subset="all", seed=1, without=(1,), verify=False)


@pytest.mark.parametrize("per_class", [20, 40])
def test_larger_parts_of_pie(labeled, per_class):
    label, place = source(load("PIE", per_class=per_class, verify=False))
    np.testing.assert_array_equal(label, np.repeat(np.arange(30), per_class))
    np.testing.assert_array_equal(
        place[:per_class], np.arange(per_class) * 42 // per_class
    )
    drawn = load("PIE", per_class=per_class, subset="all", seed=1, verify=False)
    assert drawn.X.shape == (68 * per_class, 2)


@pytest.mark.parametrize("per_class", [0, 43, -1])
def test_no_class_has_that_many(labeled, per_class):
    with pytest.raises(ValueError, match=f"between 1 and 42.*got {per_class}"):
        load("PIE", per_class=per_class, verify=False)


def test_a_file_with_too_few_classes_is_refused(folder):
    np.savez(folder / "orl_56x46.npz", X=np.eye(4), y=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="30 classes are wanted but only 2 are there"):
        load("ORL", verify=False)
    assert load("ORL", subset="all", verify=False).n_classes == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load("CIFAR"), "no data set is named 'CIFAR': choose from PIE, ORL,"),
        (lambda: load("hall"), "'hall'; use load_video: choose from PIE"),
        (lambda: load(3), "no data set is named 3"),
        (lambda: load_video("Mall"), "no video is named 'Mall': choose from hall,"),
        (lambda: load_video("orl"), "'orl'; use load: choose from hall"),
        (lambda: load("PIE", subset="half"), "'paper' or 'all', got 'half'"),
    ],
)
def test_unknown_names_get_the_known_ones(folder, call, message):
    with pytest.raises(ValueError, match=message):
        call()


# From which file


def test_bytes_are_scaled_and_tables_are_not(folder):
    y = [0, 1]
    images = np.array([[0, 51, 102, 255], [1, 2, 3, 4]], np.uint8)
    np.savez(folder / "yale_64x64.npz", X=images, y=y, image_shape=[2, 2])
    np.savez(folder / "coil20.npz", X=images / 1000, y=y, image_shape=[2, 2])
    np.savez(folder / "bci.npz", X=images.astype(float) - 9, y=y)
    faces = load("YALE", verify=False)
    np.testing.assert_allclose(faces.X[0], [0, 0.2, 0.4, 1])
    assert faces.image_shape == (2, 2)
    objects = load("COIL20", subset="all", verify=False)
    np.testing.assert_array_equal(objects.X, images / 1000)
    table = load("BCI", verify=False)
    np.testing.assert_array_equal(table.X, images.astype(float) - 9)
    assert table.image_shape is None
    assert not table.is_nonnegative


def test_the_named_folder_comes_before_the_cache(folder, tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "rpcag"
    cache.mkdir(parents=True)
    np.savez(cache / "bci.npz", X=np.zeros((2, 3)), y=[0, 1])
    entry = catalog.entry_named("BCI", video=False)
    assert entry.where() == cache / "bci.npz"
    assert load("BCI", verify=False).X[0, 0] == 0
    np.savez(folder / "bci.npz", X=np.ones((2, 3)), y=[0, 1])
    assert entry.where() == folder / "bci.npz"
    assert load("BCI", verify=False).X[0, 0] == 1
    monkeypatch.delenv("RPCAG_DATA")
    assert entry.where() == cache / "bci.npz"


def test_without_xdg_the_cache_is_in_the_home_folder(tmp_path, monkeypatch):
    from rpcag.datasets.files import cache_folder

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "rpcag"


def test_another_file_under_the_name_is_refused(folder, monkeypatch):
    path = folder / "bci.npz"
    np.savez(path, X=np.ones((2, 3)), y=[0, 1])
    with pytest.raises(ValueError, match=r"bci\.npz is not the file it should be") as e:
        load("BCI")
    assert "8d4e656f" in str(e.value)
    assert "verify=False" in str(e.value)

    # The right checksum is accepted, and a change of the file is noticed.
    right = sha256(path.read_bytes()).hexdigest()
    entries = [
        replace(entry, sha256=right) if entry.name == "BCI" else entry
        for entry in catalog.ENTRIES
    ]
    monkeypatch.setattr(catalog, "ENTRIES", entries)
    assert load("BCI").n_classes == 2
    np.savez(path, X=np.ones((20, 3)), y=[0, 1] * 10)
    with pytest.raises(ValueError, match="is not the file it should be"):
        load("BCI")


def test_a_file_without_classes_is_refused(folder):
    np.savez(folder / "bci.npz", X=np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"bci\.npz has no array 'y'"):
        load("BCI", verify=False)


@pytest.mark.parametrize(
    ("call", "file", "owner"),
    [
        (lambda: load("pie"), "pie_pose27.npz", "on request to CMU"),
        (lambda: load("YALE"), "yale_64x64.npz", "Yale Center"),
        (lambda: load("BCI"), "bci.npz", "olivier.chapelle.cc"),
        (lambda: load("COIL20"), "coil20.npz", "Columbia"),
        (lambda: load_video("highway"), "video_cdnet_highway.npz", "changedetection"),
        (lambda: load_video("hall"), "video_i2r_hall.npz", "IEEE TIP 2004"),
    ],
)
def test_sets_to_ask_for_say_whom_and_what_to_do(folder, tmp_path, call, file, owner):
    with pytest.raises(FileNotFoundError, match="Ask its owners") as error:
        call()
    for text in (file, owner, "RPCAG_DATA", str(folder), str(tmp_path / "cache")):
        assert text in str(error.value)


def test_the_list_knows_what_is_there(folder):
    entries = {entry.name: entry for entry in list_datasets()}
    assert set(NAMES) < set(entries)
    assert {entry.kind for entry in entries.values()} == {"images", "table", "video"}
    assert all(entry.terms and len(entry.sha256) == 64 for entry in entries.values())
    assert not any(entry.is_present for entry in entries.values())
    (folder / "bci.npz").touch()
    assert entries["BCI"].is_present
    assert [name for name in entries if entries[name].is_present] == ["BCI"]


def test_videos_with_and_without_their_extras(folder):
    frames = np.zeros((3, 2, 4), np.uint8)
    arrays = {
        "frames": frames,
        "frame_number": [7, 8, 9],
        "masks": frames[:1] > 0,
        "mask_index": [1],
    }
    np.savez(folder / "video_i2r_lobby.npz", **arrays)
    np.savez(
        folder / "video_cdnet_highway.npz",
        **arrays,
        valid=frames[:1] == 0,
        extra_frames=frames[:2],
        extra_masks=frames[:2] > 0,
    )
    video = load_video("Lobby", verify=False)
    assert video.name == "lobby"
    assert video.frame_number.tolist() == [7, 8, 9]
    assert video.valid is video.extra_frames is video.extra_masks is None
    video = load_video("highway", verify=False)
    assert video.valid.all()
    assert video.extra_frames.shape == video.extra_masks.shape == (2, 2, 4)


# Downloads, with fetchers that give small sets of the form of the real ones


def fake_openml(asked, *, n=40, categories=False):
    widths = {554: 784, 41082: 256, 14: 76, 12: 216, 16: 64, 20: 240, 22: 47, 18: 6}

    def fetch(*, data_id, as_frame, parser):
        assert not as_frame
        asked.append((data_id, parser))
        X = np.full((n, widths[data_id]), float(data_id))
        if data_id == 41082:
            X = np.linspace(-1, 1, n * 256).reshape(n, 256)
        if data_id == 554:
            X = np.tile(np.arange(n)[:, None] % 256, 784)
        names = [f"att{i}" for i in range(X.shape[1])]
        values = {}
        if data_id == 20 and categories:  # what the reader without pandas does
            X[:] = 1
            values = dict.fromkeys(names, ("3", "20", "1"))
        elif data_id == 20:
            X = X.astype(int).astype(str).astype(object)
        # As text, and counted from one: "10" is the last class.
        y = np.array([str(1 + i * 10 // n) for i in range(n)], dtype=object)
        return Bunch(data=X, target=y, feature_names=names, categories=values)

    return fetch


@pytest.fixture
def asked(folder, monkeypatch):
    asked = []
    monkeypatch.setattr(download, "fetch_openml", fake_openml(asked))
    return asked


def test_mnist_is_downloaded_once(asked, monkeypatch):
    monkeypatch.setattr(download, "fetch_openml", fake_openml(asked, n=400))
    with pytest.warns(UserWarning, match=r"all 70000 images.*differ.*mnist_5k\.npz"):
        data = load("MNIST")
    assert [data_id for data_id, _ in asked] == [554]
    assert data.X.shape == (300, 784)
    assert data.image_shape == (28, 28)
    assert data.X.max() == 1.0
    np.testing.assert_array_equal(np.bincount(data.y), np.full(10, 30))
    np.testing.assert_array_equal(data.y[[0, -1]], [0, 9])
    with pytest.warns(UserWarning, match="scikit-learn's fetchers"):
        again = load("MNIST")
    assert len(asked) == 1
    np.testing.assert_array_equal(again.X, data.X)
    assert next(e for e in list_datasets() if e.name == "MNIST").is_present


def test_usps_is_brought_to_zero_and_one(asked):
    with pytest.warns(UserWarning, match="USPS"):
        data = load("USPS", subset="all")
    assert (data.X.min(), data.X.max()) == (0, 1)
    assert data.image_shape == (16, 16)
    assert data.n_classes == 10
    assert (np.diff(data.X[:, 0]) > 0).all()  # "10" is after "9", not after "1"


@pytest.mark.parametrize("pandas", [True, False])
def test_the_six_views_of_mfeat_stand_side_by_side(asked, monkeypatch, pandas):
    monkeypatch.setattr(download, "find_spec", lambda name: pandas or None)
    fetch = fake_openml(asked, categories=not pandas)
    monkeypatch.setattr(download, "fetch_openml", fetch)
    with pytest.warns(UserWarning, match="MFeat"):
        data = load("MFeat", subset="all")
    assert {parser for _, parser in asked} == {"pandas" if pandas else "liac-arff"}
    views = [(14, 76), (12, 216), (16, 64), (20, 240), (22, 47), (18, 6)]
    expected = np.concatenate([np.full(width, number) for number, width in views])
    np.testing.assert_array_equal(data.X, np.tile(expected, (40, 1)))
    np.testing.assert_array_equal(data.y, np.repeat(np.arange(10), 4))


def test_views_of_other_samples_are_refused(asked, monkeypatch):
    whole = fake_openml(asked)

    def reversed_zernike(*, data_id, **options):
        bunch = whole(data_id=data_id, **options)
        return Bunch(**{**bunch, "target": bunch.target[:: -1 if data_id == 22 else 1]})

    monkeypatch.setattr(download, "fetch_openml", reversed_zernike)
    with pytest.raises(ValueError, match="six parts of MFeat"):
        load("MFeat")


def test_orl_is_replaced_by_the_olivetti_faces(folder, monkeypatch, rng):
    faces = rng.random((400, 4096)).astype(np.float32)
    people = np.repeat(np.arange(40), 10)
    monkeypatch.setattr(
        download, "fetch_olivetti_faces", lambda: Bunch(data=faces, target=people)
    )
    with pytest.warns(UserWarning, match="64 x 64 pixels of a closer crop"):
        data = load("ORL")
    assert data.image_shape == (64, 64)
    np.testing.assert_array_equal(
        data.X, faces[np.isin(people + 1, ORL_OF_THE_AUTHORS)]
    )
    with pytest.raises(FileNotFoundError, match=r"Cambridge.*orl_28x23\.npz"):
        load("ORL-28x23")


def test_a_file_spares_the_download(labeled, asked):
    assert load("MNIST", verify=False).X.shape == (300, 2)
    assert asked == []


def test_a_cache_that_cannot_be_written_does_no_harm(asked, tmp_path):
    (tmp_path / "cache").touch()  # a file where the folder should be
    for _ in range(2):
        with pytest.warns(UserWarning, match="USPS"):
            load("USPS", subset="all")
    assert len(asked) == 2


@pytest.mark.parametrize("error", [URLError("no route"), TimeoutError("too slow")])
def test_a_failing_network_gives_one_clear_error(folder, monkeypatch, error):
    def fetch(**options):
        raise error

    monkeypatch.setattr(download, "fetch_openml", fetch)
    with pytest.raises(FileNotFoundError, match="could not be downloaded") as e:
        load("USPS")
    for text in (type(error).__name__, "usps.npz", "RPCAG_DATA", str(folder)):
        assert text in str(e.value)


# A folder of images


@pytest.fixture
def images(tmp_path, rng):
    """Two people with two and one images, and files that are none."""
    image = pytest.importorskip("PIL.Image")
    root = tmp_path / "faces"
    pixels = rng.integers(0, 256, (3, 6, 4, 3), dtype=np.uint8)
    for name, array in zip(["b/1.png", "a/2.png", "a/1.png"], pixels, strict=True):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(array).save(root / name)
    (root / "a" / "notes.txt").write_text("not an image")
    (root / "empty").mkdir()
    return root, pixels


def test_subfolders_are_the_classes(images):
    root, pixels = images
    data = load_folder(root, color=True)
    assert data.name == "faces"
    assert data.image_shape == (6, 4, 3)
    assert data.y.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(data.X, pixels[::-1].reshape(3, -1) / 255)


def test_gray_weighs_the_colors(images):
    root, pixels = images
    data = load_folder(str(root))
    assert data.image_shape == (6, 4)
    expected = pixels[::-1] @ np.array([0.299, 0.587, 0.114])  # BT.601
    np.testing.assert_allclose(data.X, expected.reshape(3, -1) / 255, atol=1 / 255)


def test_a_flat_folder_has_no_classes(images):
    root, _ = images
    data = load_folder(root / "a")
    assert data.X.shape == (2, 24)
    assert data.y is None


def test_images_of_other_sizes_need_one(images):
    root, pixels = images
    from PIL import Image

    Image.fromarray(pixels[0, :4]).save(root / "b" / "2.png")
    with pytest.raises(ValueError, match=r"2\.png is 4 x 4 pixels but 1\.png is 6 x 4"):
        load_folder(root)
    data = load_folder(root, size=(3, 2), color=True)
    assert data.image_shape == (3, 2, 3)
    means = pixels[::-1].reshape(3, 3, 2, 2, 2, 3).mean(axis=(2, 4))  # rounded twice
    np.testing.assert_allclose(
        data.X[:3], means.reshape(3, -1) / 255, atol=1.01 / 255, rtol=0
    )


def test_folders_that_make_no_data_set_are_refused(images):
    root, pixels = images
    from PIL import Image

    with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
        load_folder(root / "nowhere")
    with pytest.raises(ValueError, match="have no images"):
        load_folder(root / "empty")
    for size in (3, (3, 0), (3, 2, 1), (1.5, 2)):
        with pytest.raises(ValueError, match="two positive ints"):
            load_folder(root, size=size)
    broken = root / "b" / "broken.png"
    broken.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"broken\.png cannot be read as an image"):
        load_folder(root)
    Image.fromarray(np.full((6, 4), 40000, np.uint16)).save(broken)
    with pytest.raises(ValueError, match=r"broken\.png .*: pixels of more than 8 bits"):
        load_folder(root)
    broken.unlink()
    Image.fromarray(pixels[0]).save(root / "loose.png")
    with pytest.raises(ValueError, match=r"images beside subfolders.*loose\.png and a"):
        load_folder(root)


def test_without_pillow_one_is_told_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'rpcag\[plots\]'"):
        load_folder(tmp_path)


# The real files


@pytest.mark.data
@pytest.mark.parametrize("entry", list_datasets(), ids=lambda entry: entry.name)
def test_real_files_are_what_the_list_says(real_folder, entry):
    if entry.kind == "video":
        video = load_video(entry.name)
        assert video.frames.shape[0] == entry.n
        assert np.prod(video.frames.shape[1:]) == entry.p
        assert video.frames.dtype == np.uint8
        assert video.masks.any()
        return
    data = load(entry.name, subset="all")
    assert data.X.shape == (entry.n, entry.p)
    assert data.n_classes == entry.classes
    assert (data.image_shape is not None) == (entry.kind == "images")
    if entry.kind == "images":
        assert data.X.min() >= 0
        assert 0.5 < data.X.max() <= 1


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_the_paper_has_that_many_real_samples(real_folder, name):
    data = load(name)
    classes, per_class = PAPER[name]
    np.testing.assert_array_equal(data.y, np.repeat(np.arange(classes), per_class))
    assert data.is_nonnegative == (name not in ("MFeat", "BCI"))
    np.testing.assert_array_equal(data.X, load(name).X)


@pytest.mark.data
def test_the_paper_sizes_of_faces(real_folder):
    assert load("ORL").image_shape == (56, 46)
    assert load("YALE").image_shape == (64, 64)
    assert load("orl-112X92").image_shape == (112, 92)
