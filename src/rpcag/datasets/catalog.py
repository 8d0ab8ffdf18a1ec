"""The data sets of the paper: what they are, and whose."""

from dataclasses import dataclass
from pathlib import Path

from rpcag.datasets import files


@dataclass(frozen=True)
class Entry:
    """One data set.

    Attributes
    ----------
    name : str
        As `load` and `load_video` take it.
    kind : {"images", "table", "video"}
    file : str
        Name of its file.
    n, p : int
        Samples (or frames) and features (or pixels).
    classes : int or None
    terms : str
        Whose it is, and for what use, as far as known.
    sha256 : str
        Of the file.
    is_present : bool
        Whether it is on this machine; if not, `load` downloads it where it can.
    """

    name: str
    kind: str
    file: str
    n: int
    p: int
    classes: int | None
    terms: str
    sha256: str

    @property
    def downloaded_file(self) -> str:
        """What a download is kept as: never taken for the file of the study."""
        return f"{self.name.lower()}_downloaded.npz"

    @property
    def is_present(self) -> bool:
        return self.where() is not None

    def where(self) -> Path | None:
        """The file, or the copy `load` downloaded; None if there is neither."""
        return files.find(self.file) or files.find(self.downloaded_file)


PIE = "CMU PIE (Sim, Baker, Bsat 2003); research use, on request to CMU"
ORL = (
    "AT&T Laboratories Cambridge (Olivetti), database of faces; free for research, "
    "credit AT&T Laboratories Cambridge"
)
YALE = "Yale Center for Computational Vision and Control; non-commercial research"
COIL20 = (
    "Columbia CAVE laboratory, COIL-20 (Nene, Nayar, Murase 1996); "
    "non-commercial research"
)
MNIST = "MNIST (LeCun, Cortes, Burges); commonly listed as CC BY-SA 3.0"
USPS = (
    "USPS zip codes (LeCun et al. 1990; book site of Hastie, Tibshirani, Friedman); "
    "no explicit license"
)
MFEAT = "UCI Machine Learning Repository, Multiple Features; CC BY 4.0"
BCI = (
    "olivier.chapelle.cc/ssl-book/benchmarks.html (Chapelle, Schoelkopf, Zien 2006; "
    "data of T. N. Lal et al. 2004); research benchmark, no explicit license"
)
I2R = (
    "I2R background modeling (L. Li, W. Huang, I. Gu, Q. Tian, IEEE TIP 2004), "
    "formerly perception.i2r.a-star.edu.sg/bk_model; research use, cite the paper"
)
CDNET = (
    "CDnet 2014, changedetection.net; academic and non-commercial research use, "
    "cite the CVPRW 2014 paper"
)

ENTRIES = [
    Entry(
        "PIE",
        "images",
        "pie_pose27.npz",
        2856,
        1024,
        68,
        PIE,
        "44758323658f8f1b4d8d2a1ca68040f0764f4f3930ae926262a897e5ad527498",
    ),
    Entry(
        "ORL",
        "images",
        "orl_56x46.npz",
        400,
        2576,
        40,
        ORL,
        "db467ce3f3ed9a9646cf80e449733eceb0ff28706b74927fa41b7054c09f1e40",
    ),
    Entry(
        "ORL-28x23",
        "images",
        "orl_28x23.npz",
        400,
        644,
        40,
        ORL,
        "2c28f79e83f73f71e810faa1a410496e240829ea19a5bbba6d10195e3bf21723",
    ),
    Entry(
        "ORL-32x32",
        "images",
        "orl_32x32.npz",
        400,
        1024,
        40,
        ORL,
        "9929574a507d5a0f6d77ad5a15c40da509068a9b0313704db023a5c37c0beedf",
    ),
    Entry(
        "ORL-112x92",
        "images",
        "orl_112x92.npz",
        400,
        10304,
        40,
        ORL,
        "a5bfd540086a8980694e5796ee47363fd3406fdaaf93d0a9a11d13eb16ea7714",
    ),
    Entry(
        "YALE",
        "images",
        "yale_64x64.npz",
        165,
        4096,
        15,
        YALE,
        "d85244c50c6fef66f7d4ef41811fb5e22594e48e34ad902d1cc9b296288b469d",
    ),
    Entry(
        "YALE-32x32",
        "images",
        "yale_32x32.npz",
        165,
        1024,
        15,
        YALE,
        "c9477751c1845fcc548a58846164ae1b464f56666c9aa8927458f03155aaa0d6",
    ),
    Entry(
        "COIL20",
        "images",
        "coil20.npz",
        1440,
        1024,
        20,
        COIL20,
        "f5fa34f120a72b01b57d6a1f41b07a0010fd483f4f7efa3680b3fc62de91bd5d",
    ),
    Entry(
        "MNIST",
        "images",
        "mnist_5k.npz",
        5000,
        784,
        10,
        MNIST,
        "b27fb23cb471896d81cdfd05f4b0e1b8af48e1794c9b50043595386e12daec7e",
    ),
    Entry(
        "USPS",
        "images",
        "usps.npz",
        9298,
        256,
        10,
        USPS,
        "e673b8acb43177bc942d1e7a23073bcaccc0cdbd7cc5e77e7c6b6a29875e1746",
    ),
    Entry(
        "MFeat",
        "table",
        "mfeat.npz",
        2000,
        649,
        10,
        MFEAT,
        "01731ece941f6fbb58b80a70f6683f0e8d45c3ed31a26d4507ad2055b681764c",
    ),
    Entry(
        "BCI",
        "table",
        "bci.npz",
        400,
        117,
        2,
        BCI,
        "8d4e656f2f3b4d2ee4cf71292830c7afecc278f13e2cf5fcdb397c78b02e1d5e",
    ),
    Entry(
        "hall",
        "video",
        "video_i2r_hall.npz",
        1000,
        25344,
        None,
        I2R,
        "038405a99dd77274075b79ab0d388d9be8a8d841e8411ee089ccb357d33c3325",
    ),
    Entry(
        "lobby",
        "video",
        "video_i2r_lobby.npz",
        1000,
        20480,
        None,
        I2R,
        "118db766c9d2be05239dd14a7708abceeecfec13fc2afd0064555b688b2120a8",
    ),
    Entry(
        "shoppingmall",
        "video",
        "video_i2r_shoppingmall.npz",
        109,
        20480,
        None,
        I2R,
        "f2b4ca1bb74167c38c9ba45038e108736a94cea7072821ce4cfd112e00148761",
    ),
    Entry(
        "bootstrap",
        "video",
        "video_i2r_bootstrap.npz",
        1000,
        19200,
        None,
        I2R,
        "d88c72ed26a5e96451244b5d87d90a60ef9cfba5f206845d3055f1ce98b9d217",
    ),
    Entry(
        "highway",
        "video",
        "video_cdnet_highway.npz",
        600,
        19200,
        None,
        CDNET,
        "5963c8486f67740c3c92b2ee0cc0ccc877ecb570564140b96f33ac14e233b17a",
    ),
    Entry(
        "pedestrians",
        "video",
        "video_cdnet_pedestrians.npz",
        600,
        21600,
        None,
        CDNET,
        "04ef5207131538341a3dfd5b78720bd9c94eec33f29ae3f5cdc653f6d140b92f",
    ),
]


def list_datasets() -> list[Entry]:
    """Every data set `load` or `load_video` knows.

    Examples
    --------
    >>> from rpcag.datasets import list_datasets
    >>> [entry.name for entry in list_datasets() if entry.kind == "table"]
    ['MFeat', 'BCI']
    """
    return list(ENTRIES)


def entry_named(name: str, *, video: bool) -> Entry:
    """The entry of that name, in any case of letters."""
    known = [entry for entry in ENTRIES if (entry.kind == "video") == video]
    for entry in known:
        if isinstance(name, str) and entry.name.lower() == name.lower():
            return entry
    names = ", ".join(entry.name for entry in known)
    kind, other = ("video", "load") if video else ("data set", "load_video")
    elsewhere = {entry.name.lower() for entry in ENTRIES} - {
        entry.name.lower() for entry in known
    }
    hint = f"; use {other}" if str(name).lower() in elsewhere else ""
    raise ValueError(f"no {kind} is named {name!r}{hint}: choose from {names}")
