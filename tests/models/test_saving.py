from __future__ import annotations

import io
import json
import pickle
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import truerank as tr
from truerank.array_files import BROKEN, read_array, stored_member
from truerank.errors import FileFormatError, InvalidArgumentError, StorageError
from truerank.models.base import Model
from truerank.models.model_arrays import check_ids
from truerank.models.names import MODELS, model_class, name_of, parameters_of
from truerank.models.saving import read_header, save

SETTINGS: dict[str, dict[str, Any]] = {
    "ease": {"l2": 7.5},
    "lrr": {"l2": [3.0, 2.0], "dim": 2},
    "pure-svd": {"dim": 4},
    "closed-form-mf": {"l2": 0.5, "dim": 6},
    "item-knn": {"k": 3, "similarity": "jaccard", "shrink": 1.0},
    "popularity": {},
    "mf": {"dim": 4, "epochs": 2, "n_negatives": 4, "validation_metric": "ndcg@5"},
}


def interactions(*, words: bool = False) -> tr.Interactions:
    rng = np.random.default_rng(3)
    pairs = np.unique(rng.integers(0, [30, 20], (250, 2)), axis=0)
    user, item = pairs.T
    if not words:
        return tr.Interactions.from_arrays(user, item)
    return tr.Interactions.from_arrays([f"Zoë {u}" for u in user], [f"i{i}" for i in item])


def fitted(name: str, *, words: bool = False) -> Any:
    return model_class(name)(**SETTINGS.get(name, {})).fit(interactions(words=words))


def test_every_model_is_in_the_table() -> None:
    kinds = [getattr(tr.models, name) for name in tr.models.__all__]
    kept = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Model)]
    assert {name_of(kind.__name__) for kind in kept} == set(MODELS)


@pytest.mark.parametrize("words", [False, True], ids=["numbers", "strings"])
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one(name: str, words: bool, tmp_path: Path) -> None:
    model, data = fitted(name, words=words), interactions(words=words)
    model.save(tmp_path / "m.model")
    again = tr.models.load(tmp_path / "m.model")
    users = np.arange(data.n_users)
    assert type(again) is type(model)
    assert again.parameters() == parameters_of(type(model)) | SETTINGS.get(name, {})
    np.testing.assert_array_equal(again.score_all(users), model.score_all(users))
    assert again.score_all(users).dtype == model.score_all(users).dtype
    np.testing.assert_array_equal(again.trained_on.user_ids, data.user_ids)
    np.testing.assert_array_equal(again.trained_on.item_ids, data.item_ids)
    assert again.trained_on.data == data.fingerprint()
    folded = [m.fold_in(data).score_all(users) for m in (again, model)]
    np.testing.assert_array_equal(*folded)


@pytest.mark.parametrize("name", MODELS)
def test_equal_models_give_equal_bytes_and_equal_ranks(name: str, tmp_path: Path) -> None:
    split = tr.split.leave_one_out(interactions(), seed=1)
    model = model_class(name)(**SETTINGS.get(name, {})).fit(split.train)
    model.save(tmp_path / "a")
    tr.models.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    ranks = [tr.rank(m, split, tr.Sampled(5)).rank for m in (model, tr.models.load(tmp_path / "a"))]
    np.testing.assert_array_equal(*ranks)


def test_the_header_says_how_the_model_was_made(tmp_path: Path) -> None:
    save(fitted("ease"), tmp_path / "m", made_by={"data": "ml-1m"})
    header = read_header(tmp_path / "m")
    assert header["class"] == "EASE"
    assert header["version"] == tr.__version__
    assert header["parameters"]["l2"] == 7.5
    assert header["made_by"] == {"data": "ml-1m"}
    assert header["data"] == interactions().fingerprint()


def test_numpy_opens_the_arrays_without_pickle(tmp_path: Path) -> None:
    model = fitted("popularity")
    model.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["item_factors"], model.item_factors)


def test_numpy_numbers_as_parameters_become_plain(tmp_path: Path) -> None:
    tr.models.EASE(l2=np.float64(3.0)).fit(interactions()).save(tmp_path / "m")
    assert tr.models.load(tmp_path / "m").l2 == 3.0


@dataclass(slots=True, eq=False)
class Ladder(Model):
    """A factor model as later ones will be: two arrays and a parameter."""

    dim: int = 2
    user_factors: NDArray[np.float32] = field(init=False)
    item_factors: NDArray[np.float32] = field(init=False)

    @property
    def n_items(self) -> int:
        return len(self.item_factors)


def test_a_later_model_needs_its_fields_and_a_line_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import truerank.models.linear.ease as home

    data, model = interactions(), Ladder(dim=3)
    model.record_training_data(data)
    model.user_factors = np.ones((data.n_users, 3), np.float32)
    model.item_factors = np.arange(3 * data.n_items, dtype=np.float32).reshape(-1, 3)
    monkeypatch.setattr(home, "Ladder", Ladder, raising=False)
    monkeypatch.setitem(MODELS, "ladder", "truerank.models.linear.ease:Ladder")
    model.save(tmp_path / "m")
    again = tr.models.load(tmp_path / "m")
    assert again.dim == 3
    np.testing.assert_array_equal(again.item_factors, model.item_factors)


# ---------------------------------------------------------------- mistakes


def test_an_unfitted_model_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"unfitted EASE'; call fit\(train\) first"):
        tr.models.EASE().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_folded_in_model_is_not_written(tmp_path: Path) -> None:
    folded = fitted("popularity").fold_in(interactions())
    with pytest.raises(InvalidArgumentError, match="save the model that was folded in"):
        folded.save(tmp_path / "m")


def test_a_foreign_object_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a model of truerank\.models"):
        save(object(), tmp_path / "m")  # type: ignore[arg-type]


def test_an_existing_file_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text("mine")
    with pytest.raises(StorageError, match="force=True"):
        fitted("ease").save(path)
    assert path.read_text() == "mine"
    fitted("ease").save(path, force=True)
    assert tr.models.load(path).l2 == 7.5


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no file"):
        tr.models.load(tmp_path / "m")


@pytest.mark.parametrize("content", [b"", b"PAR1 and so on", b"PK is not enough"])
def test_foreign_bytes_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"not a model file|damaged"):
        tr.models.load(path)


def test_a_data_set_is_no_model(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", user=np.arange(3))
    with pytest.raises(FileFormatError, match="not a model file of truerank"):
        tr.models.load(tmp_path / "m.npz")


def rewritten(path: Path, **changes: Any) -> Path:
    """The same file with another header."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    members["header.json"] = json.dumps(json.loads(members["header.json"]) | changes).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 2}, "newer than the 1 known here; upgrade truerank"),
        ({"class": "Popen"}, "class 'Popen', which this truerank"),
        ({"parameters": {"l2": -1}}, "l2 must be positive"),
        ({"parameters": {"l3": 1}}, "damaged"),
        ({"arrays": {}}, "damaged"),
        ({"kind": "cake"}, "not a model file"),
    ],
)
def test_headers_that_cannot_be_used(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    fitted("ease").save(tmp_path / "m")
    with pytest.raises((FileFormatError, InvalidArgumentError), match=says):
        tr.models.load(rewritten(tmp_path / "m", **changes))


def with_header(path: Path, content: bytes, packing: int = zipfile.ZIP_STORED) -> Path:
    """The file with these bytes for a header."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, array in members.items():
            if name != "header.json":
                new.writestr(name, array)
        new.writestr("header.json", content, packing)
    return path


def claiming(path: Path, name: str, size: int) -> Path:
    """The file with another length of a member in its directory."""
    whole = bytearray(path.read_bytes())
    entry = whole.rindex(name.encode()) - 46  # of the central directory
    assert whole[entry : entry + 4] == b"PK\x01\x02"
    whole[entry + 20 : entry + 28] = size.to_bytes(4, "little") * 2
    path.write_bytes(whole)
    return path


def test_a_header_nested_too_deeply_is_damaged(tmp_path: Path) -> None:
    fitted("ease").save(tmp_path / "m")
    for content in (b"[" * 10**5 + b"]" * 10**5, b'{"kind": ' * 10**5 + b"1" + b"}" * 10**5):
        with_header(tmp_path / "m", content)
        with pytest.raises(FileFormatError, match="damaged"):
            tr.models.load(tmp_path / "m")
        with pytest.raises(FileFormatError, match="damaged"):
            read_header(tmp_path / "m")


def read_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much is read of every member, in bytes."""
    read, sizes = zipfile.ZipExtFile.read, []

    def counted(self: Any, n: int | None = -1) -> bytes:
        content = read(self, n)
        sizes.append(len(content))
        return content

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    return sizes


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_header_of_more_than_16_mb_is_not_read(
    packing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted("ease").save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as file:
        header = file.read("header.json")
    with_header(tmp_path / "m", header + b" " * 2**24, packing)
    sizes = read_bytes(monkeypatch)
    with pytest.raises(FileFormatError, match="damaged"):
        tr.models.load(tmp_path / "m")
    assert sizes == []


@pytest.mark.parametrize("name", ["header.json", "item_ids.npy"])
def test_a_member_longer_than_its_file_is_not_read(name: str, tmp_path: Path) -> None:
    """Whoever believes a length asks for that much memory."""
    fitted("ease").save(tmp_path / "m")
    claimed = 2**24 if name == "header.json" else 2**32 - 9
    with zipfile.ZipFile(claiming(tmp_path / "m", name, claimed)) as file:
        assert file.getinfo(name).file_size == claimed
        with pytest.raises(ValueError, match="longer than it can be"):
            stored_member(file, name)
    with pytest.raises(FileFormatError, match="damaged"):
        tr.models.load(tmp_path / "m")


def test_an_array_whose_description_is_nested_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "z"
    for text in (b"[" * 60_000, b"-" * 60_000 + b"1", b"(" * 150 + b")" * 150):
        with zipfile.ZipFile(path, "w") as new:
            start = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little")
            new.writestr("a.npy", start + text)
        with zipfile.ZipFile(path) as file, pytest.raises(BROKEN):
            read_array(file, "a")


@pytest.mark.parametrize("name", MODELS)
def test_damage_anywhere_is_one_sentence(name: str, tmp_path: Path) -> None:
    """Cut at any place, or with any byte flipped: refused, or the very same model."""
    model, path = fitted(name), tmp_path / "m"
    model.save(path)
    whole = path.read_bytes()
    users = np.arange(5)
    rng = np.random.default_rng(0)
    refused = []
    for place in rng.choice(len(whole), 150, replace=False):
        flipped = bytearray(whole)
        flipped[place] ^= 0x55
        for content in (whole[:place], bytes(flipped)):
            path.write_bytes(content)
            try:
                again = tr.models.load(path)
            except FileFormatError as error:
                refused.append(str(error))
            else:  # a byte that means nothing, such as a date
                np.testing.assert_array_equal(again.score_all(users), model.score_all(users))
    assert len(refused) > 200
    assert all("damaged" in said or "not a model" in said for said in refused)


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "m"
    fitted("popularity").save(path)
    # An array of objects of exactly the length that its header promises.
    pickled = pickle.dumps(Evil(tmp_path / "done"))
    pickled += b"\0" * (-len(pickled) % 8)
    array = io.BytesIO()
    head = {"descr": "|O", "fortran_order": False, "shape": (len(pickled) // 8,)}
    np.lib.format.write_array_header_1_0(array, head)
    array.write(pickled)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    members["item_factors.npy"] = array.getvalue()
    with zipfile.ZipFile(path, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    with pytest.raises(FileFormatError, match="damaged"):
        tr.models.load(path)
    assert not (tmp_path / "done").exists()


@pytest.mark.parametrize(("name", "near"), [("eas", "ease"), ("Item_KNN", "item-knn")])
def test_the_nearest_model_is_suggested(name: str, near: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"did you mean '{near}'"):
        model_class(name)


def test_parameters_and_their_usual_values() -> None:
    assert parameters_of(tr.models.ItemKNN)["similarity"] == "cosine"
    assert parameters_of(tr.models.Popularity) == {"dtype": "float32"}


def test_ids_of_a_file_are_signed() -> None:
    check_ids(np.array([1, 2]))
    with pytest.raises(ValueError, match="neither integers nor strings"):
        check_ids(np.array([1, 2], np.uint64))
