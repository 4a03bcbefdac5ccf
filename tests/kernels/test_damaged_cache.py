"""Torn, empty and foreign files of the cache are made again or named with their remedy, and new files are synced before
they have their name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.files import cache
from schedlab.kernels import bzimage, images
from schedlab.kernels.build_cache import BuildCache, NotBuilt, Record
from tests.kernels.kernel_files import bzimage as image_of

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "torn": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "lost end": lambda content: content[:-1],
    "not text": lambda content: b"\xff\xfe" * 40,
    "another document": lambda content: b'{"a": [1]}',
    "deep": lambda content: b"[" * 100_000,
}


@pytest.fixture
def builds(tmp_path: Path) -> BuildCache:
    """A cache with the series "eevdf" of two kernels."""
    builds = BuildCache.of(tmp_path)
    records = []
    for prefix in ("base", "01"):
        (tmp_path / "bzImage").write_bytes(image_of(f"6.99.0-{prefix}", b"\x7fELF" + bytes(5000)))
        sha256 = bzimage.checksum(tmp_path / "bzImage")
        record = Record(f"key-{prefix}", prefix, "", "v6.99", "gcc", release=f"6.99.0-{prefix}", sha256=sha256)
        builds.keep(record, {"bzImage": tmp_path / "bzImage"})
        records.append(record)
    builds.name("eevdf", records)
    return builds


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_list_of_a_series_is_named_with_its_remedy_and_others_stay(
    builds: BuildCache, tmp_path: Path, damage: str
) -> None:
    (record,) = builds.series()["eevdf"][:1]  # type: ignore[index]
    builds.name("other", [record])
    path = tmp_path / "kernels" / "names" / "eevdf"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    for use in (builds.find, builds.recorded, lambda name: builds.expanded(["series:eevdf"])):
        with pytest.raises(NotBuilt, match="schedlab kernels build TREE --name eevdf"):
            use("built:eevdf")
    listed = builds.series()
    assert isinstance(listed["eevdf"], NotBuilt)
    assert listed["other"] == [record]
    assert builds.find("built:other") == record


@pytest.mark.parametrize("file", ["record.json", "bzImage"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_kernel_is_built_again(builds: BuildCache, tmp_path: Path, damage: str, file: str) -> None:
    path = builds.place("key-01") / file
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    assert builds.record("key-01") is None
    assert builds.record("key-base") is not None
    with pytest.raises(NotBuilt, match="is damaged there"):
        images.resolve("built:eevdf+01", cache_folder=tmp_path)
    (tmp_path / "bzImage").write_bytes(image_of("6.99.0-01", b"\x7fELF" + bytes(5000)))
    builds.keep(builds.recorded("built:eevdf+01"), {"bzImage": tmp_path / "bzImage"})
    assert images.resolve("built:eevdf+01", cache_folder=tmp_path).release == "6.99.0-01"


def test_an_image_is_whole_only_with_all_bytes_that_its_header_declares(tmp_path: Path) -> None:
    path = tmp_path / "bzImage"
    content = image_of("6.12.1", bytes(5000))
    for size, is_whole in ((len(content), True), (len(content) - 1, False), (0, False), (600, False)):
        path.write_bytes(content[:size])
        assert bzimage.is_whole(path) is is_whole
    assert not bzimage.is_whole(tmp_path / "missing")


def test_a_folder_is_synced_before_it_has_its_name_and_made_again_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync = set(), os.fsync
    place = tmp_path / "place"

    def note(file: int) -> None:
        assert not (place / "file").exists() or (place / "file").read_text() != "new"
        synced.add(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        sync(file)

    monkeypatch.setattr(os, "fsync", note)

    def make(part: Path) -> None:
        (part / "below").mkdir()
        (part / "below" / "inner").touch()
        (part / "file").write_text("new")

    def is_whole(folder: Path) -> bool:
        return (folder / "file").read_text() == "new"

    cache.made_once(place, make, is_whole)
    assert synced == {"below", "inner", "file", "place"}
    (place / "file").write_text("")
    cache.made_once(place, make, is_whole)
    assert (place / "file").read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == [".place.lock", "place"]


def test_a_failed_repair_keeps_the_damaged_folder(tmp_path: Path) -> None:
    place = cache.made_once(tmp_path / "place", lambda part: (part / "file").touch())

    def fail(part: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        cache.made_once(place, fail, lambda folder: False)
    assert os.listdir(place) == ["file"]


def test_a_file_of_the_cache_is_synced_before_it_replaces_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "names" / "series", []
    cache.write(path, "old")
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(path.read_text()))
    cache.write(path, "new")
    assert synced == ["old"]
    assert path.read_text() == "new"
