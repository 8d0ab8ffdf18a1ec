"""Pages: what is in the file, without a browser."""

import errno
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from decompositions import images, table
from rpcag.page.document import embedded, write_page
from rpcag.page.explore import colors, explore, fit
from rpcag.page.pack import extract, shrink, spread
from rpcag.page.words import certificate

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


class Reader(HTMLParser):
    """Counts tags and takes the text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_a_page_refers_to_nothing_outside():
    text = explore(images())
    links = set(re.findall(r"https?://[^\s\"'<>)]+", text))
    assert links == {"http://www.w3.org/2000/svg"}  # the name of a vocabulary
    for _, attributes in Reader(text).tags:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))


def test_what_users_name_is_never_markup():
    found = table(
        samples=[f"{EVIL}{i}" for i in range(30)],
        features=[f"{EVIL}{j}" for j in range(6)],
        labels=[EVIL] * 30,
        facts={"input": {"file": EVIL}, "model": EVIL, EVIL: EVIL},
    )
    read = Reader(explore(found))
    kinds = [dict.get("type", "code") for tag, dict in read.tags if tag == "script"]
    assert kinds == ["application/json", "code"]
    assert not [tag for tag, _ in read.tags if tag == "img"]
    assert EVIL in read.text


def test_embedded_data_are_json_without_angles():
    import json

    data = {"a": EVIL, "b": ["&amp;", 1.5, None]}
    text = embedded(data)
    assert not set("<>&") & set(text)
    assert json.loads(text) == data
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded([float("nan")])


@pytest.mark.parametrize("gap", [3.3e-1, 8e-4, 1e-3, 9.96e-4, 4.2e-7, 1e-12])
def test_the_certificate_never_claims_too_much(gap):
    facts = {"objective": 10.0, "lower_bound": 10 * (1 - gap), "gap": gap}
    headline, sentence = certificate(facts | {"status": "converged", "n_iter": 7})
    claimed = float(re.search(r"at most (\S+) %", headline)[1])
    true = 100 * gap / (1 - gap)
    assert true * (1 - 1e-9) <= claimed <= 1.11 * true
    assert "after 7 iterations" in sentence


def test_a_weak_or_absent_certificate_is_said_to_be():
    assert "may be far" in certificate({"gap": 0.8, "status": "max_iter"})[0]
    assert certificate({"model": "GNMF"})[0] == "No certificate"
    assert "at most 0 %" in certificate({"gap": 0.0})[0]


def test_the_prediction_of_hidden_entries_is_shown_beside_the_certificate():
    assert fit({"gap": 1e-4}) == ""
    facts = {"explained": 0.976, "explained_error": 0.004}
    headline = "Predicts 98 % of the spread of hidden entries (± 1 %)"
    assert f"<strong>{headline}</strong>" in fit(facts)
    assert "Predicts -10 % of the spread of hidden entries<" in fit({"explained": -0.1})
    found = table()
    assert 'id="fit"' not in explore(found)
    shown = explore(replace(found, facts=found.facts | facts))
    assert headline in shown
    assert "<dt>hidden entries predicted</dt><dd>0.976</dd>" in shown


def test_large_data_are_shown_in_part_and_it_is_said():
    whole = images(120)
    small = extract(whole, 2 * 64 * 50)  # room for 50 images in 8 bits
    assert len(small.rows) == 50
    assert small.rows[0] == 0
    assert small.rows[-1] == 119
    assert np.ptp(np.diff(small.rows)) <= 1
    np.testing.assert_array_equal(small.low_rank, whole.low_rank[small.rows])
    assert "50 of 120 samples" in explore(whole, limit=2 * 64 * 50)


def test_a_page_of_large_data_is_small():
    n, p = 5000, 3000
    rng = np.random.default_rng(0)
    L = rng.standard_normal((n, 1)) @ rng.standard_normal((1, p))
    found = replace(
        table(),
        low_rank=L,
        sparse=np.zeros((n, p)),
        missing=None,
        embedding=L[:, :3],
        components=L[:3],
        graph=None,
        samples=[f"s{i}" for i in range(n)],
        features=[f"f{j}" for j in range(p)],
    )
    text = explore(found, limit=1_000_000)
    assert len(text) < 2_500_000
    assert "2,000 of 3,000 features" in text


def test_no_more_features_than_a_screen_has():
    n, p = 3, 20_000
    A = np.arange(n * p, dtype=float).reshape(n, p)
    found = replace(
        table(),
        low_rank=A,
        sparse=np.zeros((n, p)),
        missing=None,
        embedding=A[:, :1],
        components=A[:1],
        graph=None,
        samples=list("abc"),
        features=[f"f{j}" for j in range(p)],
    )
    small = extract(found)
    assert small.low_rank.shape == (3, 2000)
    assert (small.features[0], small.features[-1]) == ("f0", "f19999")
    assert "2,000 of 20,000 features" in explore(found)


def test_images_shrink_before_samples_are_left_out():
    whole = images(30)
    side = 200
    blocks = np.ones((side // 8, side // 8))
    large = {
        name: np.stack([np.kron(a.reshape(8, 8), blocks).ravel() for a in array])
        for name, array in (("low_rank", whole.low_rank), ("sparse", whole.sparse))
    }
    found = replace(
        whole,
        **large,
        missing=None,
        components=np.zeros((whole.components.shape[0], side * side)),
        features=[str(j) for j in range(side * side)],
        image_shape=(side, side),
    )
    small = extract(found, 2 * 30 * 100 * 100)
    assert small.image_shape == (100, 100)
    assert len(small.rows) == 30
    assert "1/2 of their width" in small.notes[0]


def test_shrinking_takes_means_of_blocks():
    image = np.arange(30.0).reshape(1, 30)  # 5 x 6
    np.testing.assert_allclose(
        shrink(image, (5, 6), 2)[0], [3.5, 5.5, 7.5, 15.5, 17.5, 19.5]
    )
    color = np.repeat(image, 3, axis=1)
    assert shrink(color, (5, 6, 3), 2).shape == (1, 18)


def test_samples_are_evenly_drawn():
    np.testing.assert_array_equal(spread(5, 9), np.arange(5))
    np.testing.assert_array_equal(spread(9, 3), [0, 4, 8])


def test_labels_become_classes_or_a_scale():
    assert colors(None, 3)["classes"] is None
    assert colors(None, 3)["numbers"] == [0, 1, 2]  # their order
    assert colors(["10", "9", "10"], 3)["classes"] == ["9", "10"]
    assert colors(["b", "a", "b"], 3)["codes"] == [1, 0, 1]
    many = [str(i / 2) for i in range(40)]
    assert colors(many, 40)["numbers"] == [float(label) for label in many]
    assert colors([f"name {i}" for i in range(90)], 90) == colors(None, 90)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_few_components_still_make_a_page(rank):
    found = table()
    found = replace(
        found,
        embedding=found.embedding[:, :rank],
        components=found.components[:rank],
        singular_values=found.singular_values[:rank],
        graph=None,
        facts={},
    )
    text = explore(found)
    assert ("no components to show" in text) == (rank == 0)
    assert "This model uses no graph." in text
    assert "No certificate" in text


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text("before")

    def full(*paths):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_page(page, "after")
    assert page.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
