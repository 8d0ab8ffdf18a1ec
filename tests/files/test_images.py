"""Folders of images."""

import sys

import numpy as np
import pytest

from rpcag.files.images import read_images


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
    data = read_images(root, color=True)
    assert data.image_shape == (6, 4, 3)
    assert data.labels == ["a", "a", "b"]
    np.testing.assert_array_equal(data.X, pixels[::-1].reshape(3, -1) / 255)


def test_gray_weighs_the_colors(images):
    root, pixels = images
    data = read_images(root)
    assert data.image_shape == (6, 4)
    expected = pixels[::-1] @ np.array([0.299, 0.587, 0.114])  # BT.601
    np.testing.assert_allclose(data.X, expected.reshape(3, -1) / 255, atol=1 / 255)


def test_a_flat_folder_has_no_classes(images):
    root, _ = images
    data = read_images(root / "a")
    assert data.X.shape == (2, 24)
    assert data.labels is None


def test_images_of_other_sizes_need_one(images):
    root, pixels = images
    from PIL import Image

    Image.fromarray(pixels[0, :4]).save(root / "b" / "2.png")
    with pytest.raises(ValueError, match=r"2\.png is 4 x 4 pixels but 1\.png is 6 x 4"):
        read_images(root)
    data = read_images(root, shape=(3, 2), color=True)
    assert data.image_shape == (3, 2, 3)
    means = pixels[::-1].reshape(3, 3, 2, 2, 2, 3).mean(axis=(2, 4))  # rounded twice
    np.testing.assert_allclose(
        data.X[:3], means.reshape(3, -1) / 255, atol=1.01 / 255, rtol=0
    )


def test_folders_that_make_no_data_set_are_refused(images):
    root, pixels = images
    from PIL import Image

    with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
        read_images(root / "nowhere")
    with pytest.raises(ValueError, match="have no images"):
        read_images(root / "empty")
    for shape in ((3, 0), (3, 2, 1), (-1, 2)):
        with pytest.raises(ValueError, match="two positive ints"):
            read_images(root, shape=shape)
    broken = root / "b" / "broken.png"
    broken.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"broken\.png cannot be read as an image"):
        read_images(root)
    Image.fromarray(np.full((6, 4), 40000, np.uint16)).save(broken)
    with pytest.raises(ValueError, match=r"broken\.png .*: pixels of more than 8 bits"):
        read_images(root)
    broken.unlink()
    Image.fromarray(pixels[0]).save(root / "loose.png")
    with pytest.raises(
        ValueError, match=r"images next to subfolders.*loose\.png and a"
    ):
        read_images(root)


def test_without_pillow_one_is_told_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r"pip install 'rpcag\[plots\]'"):
        read_images(tmp_path)
