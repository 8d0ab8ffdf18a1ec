"""Data sets in memory, and folders of images."""

import sys

import numpy as np
import pytest

from rpcag.datasets import Data, load_folder


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
    with pytest.raises(
        ValueError, match=r"images next to subfolders.*loose\.png and a"
    ):
        load_folder(root)


def test_without_pillow_one_is_told_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'rpcag\[plots\]'"):
        load_folder(tmp_path)
