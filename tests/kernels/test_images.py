"""Kernel images by name. A stand-in for apt serves real packages and records its calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.kernels import bzimage, debian, images
from tests.kernels.kernel_files import Repository, built_tree, repository
from tests.kernels.kernel_files import bzimage as image_bytes

pytestmark = pytest.mark.slow

__all__ = ["repository"]


@pytest.fixture
def apt(repository: Repository) -> Repository:
    """An archive with two series."""
    repository.add("6.1.0-9", "6.1.27-1")
    repository.add("6.1.0-48", "6.1.172-1")
    repository.add("6.12.9+deb12", "6.12.9-1~bpo12+1")
    return repository


def fetched(name: str) -> images.Image:
    """Fetch a kernel into the cache and return its image."""
    debian.fetch(name)
    return images.resolve(name)


@pytest.mark.slow
def test_a_series_resolves_to_its_newest_release_only(apt: Repository) -> None:
    assert fetched("debian-6.1").release == "6.1.0-48-cloud-amd64"
    image = fetched("debian-6.12")
    assert image.release == "6.12.9+deb12-cloud-amd64"
    assert image.name == "debian-6.12"
    assert images.config_of(image) == {"CONFIG_NUMA": "y"}
    assert image.sha256 == bzimage.checksum(image.path)


def test_a_release_can_be_requested_by_name(apt: Repository) -> None:
    assert fetched("debian-6.1.0-9").release == "6.1.0-9-cloud-amd64"
    assert images.resolve("debian-6.1.0-9-cloud-amd64").release == "6.1.0-9-cloud-amd64"


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"\0" * 1024])
@pytest.mark.parametrize("file", ["image", "config"])
def test_a_damaged_kernel_in_the_cache_is_downloaded_again(apt: Repository, file: str, damage: bytes) -> None:
    image = fetched("debian-6.12")
    assert image.config is not None
    damaged = image.path if file == "image" else image.config
    damaged.write_bytes(damage if file == "image" else b"")
    with pytest.raises(images.NotDownloaded, match=r"damaged there\n.*schedlab kernels fetch debian-6.12"):
        images.resolve("debian-6.12")
    assert fetched("debian-6.12") == image
    assert images.config_of(image) == {"CONFIG_NUMA": "y"}


@pytest.mark.slow
def test_a_cached_kernel_needs_no_apt_and_is_used_until_a_newer_kernel_is_fetched(
    apt: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fetched("debian-6.12")
    apt.add("6.12.10+deb12", "6.12.10-1~bpo12+1")
    with monkeypatch.context() as without:
        without.setenv("PATH", "/nonexistent")
        assert images.resolve("debian-6.12") == first
    assert len(apt.log) == 1
    assert fetched("debian-6.12").release == "6.12.10+deb12-cloud-amd64"
    monkeypatch.setenv("PATH", "/nonexistent")
    assert images.resolve("debian-6.12").release == "6.12.10+deb12-cloud-amd64"
    assert images.resolve("debian-6.12.9").release == "6.12.9+deb12-cloud-amd64"


def test_a_folder_is_refused_and_a_tree_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(images.UnknownKernel, match="is a folder, not a kernel image") as plain:
        images.resolve(str(tmp_path))
    assert plain.value.todo == "write tree:FOLDER or the path of a bzImage"
    tree = built_tree(tmp_path / "linux", "6.12.1")
    with pytest.raises(images.UnknownKernel) as built:
        images.resolve(str(tree))
    assert built.value.todo == f"write tree:{tree} for the kernel built in this folder"


def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bzImage").write_bytes(image_bytes("6.12.1"))
    built_tree(tmp_path / "linux", "6.12.2")
    assert images.resolve("~/bzImage").path == tmp_path / "bzImage"
    assert images.resolve("tree:~/linux").release == "6.12.2"


def test_resolving_a_name_downloads_nothing(apt: Repository) -> None:
    with pytest.raises(images.NotDownloaded, match=r"download it with 'schedlab kernels fetch debian-6\.12'"):
        images.resolve("debian-6.12")
    assert debian.offered("debian-6.12") is None
    apt.update()
    assert str(debian.offered("debian-6.12")).startswith("linux-image-6.12.9+deb12-cloud-amd64 6.12.9-1~bpo12+1, ")
    assert apt.log == []


def test_a_download_that_differs_from_the_package_list_is_refused(apt: Repository, tmp_path: Path) -> None:
    apt.add("6.13.1", "6.13.1-1", sha256="0" * 64)
    with pytest.raises(CannotRunHere, match="Hash Sum mismatch"):
        debian.fetch("debian-6.13")
    assert not list((tmp_path / "cache").rglob("*6.13*.deb"))
    assert not [path for path in (tmp_path / "cache").rglob("linux-image-6.13*") if path.is_dir()]


def test_a_failed_download_gives_the_reason_and_can_be_repeated(apt: Repository) -> None:
    archive = apt.pool / "linux-image-6.12.9+deb12-cloud-amd64_6.12.9-1~bpo12+1.deb"
    hidden = archive.rename(archive.with_suffix(".hidden"))
    with pytest.raises(CannotRunHere, match=r"'apt-get download' failed: Failed to fetch .*\n  → try again"):
        debian.fetch("debian-6.12")
    hidden.rename(archive)
    assert fetched("debian-6.12").release == "6.12.9+deb12-cloud-amd64"


def test_a_kernel_in_several_packages_is_fetched_without_its_modules(apt: Repository) -> None:
    apt.add("7.2.13+deb14", "7.2.13-1", split=True)
    image = fetched("debian-7.2")
    assert image.release == "7.2.13+deb14-cloud-amd64"
    assert images.config_of(image) == {"CONFIG_NUMA": "y"}
    assert sorted(name.split("-")[1] for name in apt.log) == ["base", "binary", "image"]


def test_an_unknown_series_is_refused_with_the_series_of_the_archive(apt: Repository) -> None:
    with pytest.raises(CannotRunHere, match=r"searched: trixie\)\n  → name debian-6\.1, debian-6\.12;"):
        debian.fetch("debian-5.10")


def test_an_unknown_release_is_refused_with_similar_releases(apt: Repository) -> None:
    with pytest.raises(CannotRunHere, match=r"→ name debian-6\.12\.9\+deb12;"):
        debian.fetch("debian-6.12.8+deb12")


def test_all_kernels_of_the_archive_are_listed_with_their_suites(apt: Repository) -> None:
    listed = debian.newest_first(debian.available())
    assert [package.release for package in listed] == ["6.12.9+deb12", "6.1.0-48", "6.1.0-9"]
    assert {package.suites for package in listed} == {("trixie",)}


def test_package_lists_survive_a_lost_network(apt: Repository, tmp_path: Path) -> None:
    apt.update()
    (tmp_path / "debian/dists").rename(tmp_path / "debian/away")
    assert fetched("debian-6.1").release == "6.1.0-48-cloud-amd64"


def test_without_a_network_and_lists_the_error_says_so(apt: Repository, tmp_path: Path) -> None:
    (tmp_path / "debian/dists").rename(tmp_path / "debian/away")
    with pytest.raises(
        CannotRunHere, match=r"no package list of Debian can be downloaded: .*\n  → connect to a network"
    ):
        debian.fetch("debian-6.1")


def test_without_apt_the_error_names_missing_programs_and_alternatives(
    apt: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    debian.fetch("debian-6.1")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CannotRunHere) as refused:
        debian.offered("debian-6.12")
    messages = str(refused.value)
    assert "debian-6.12: this kernel is not in the cache" in messages
    assert "apt cannot fetch it here (no apt-get, apt-cache, dpkg-deb)" in messages
    for alternative in (
        "the path of a bzImage",
        "tree:FOLDER",
        "a kernel in the cache: debian-6.1.0-48",
        "/kernels/debian",
    ):
        assert alternative in messages


def test_the_release_comes_from_the_header_and_the_configuration_from_the_same_folder(tmp_path: Path) -> None:
    path = tmp_path / "vmlinuz-whatever-it-is-called"
    path.write_bytes(image_bytes("6.19.0-rc3"))
    assert images.resolve(str(path)).release == "6.19.0-rc3"
    assert images.config_of(images.resolve(str(path))) is None
    (tmp_path / "config-6.19.0-rc3").write_text("CONFIG_SCHED_CLASS_EXT=y\n")
    assert images.config_of(images.resolve(str(path))) == {"CONFIG_SCHED_CLASS_EXT": "y"}


def test_a_built_tree_is_an_image_with_its_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = built_tree(tmp_path / "linux", "6.20.0-mine")
    image = images.resolve(f"tree:{tree}")
    assert image.release == "6.20.0-mine"
    assert images.config_of(image) == {"CONFIG_SMP": "y", "CONFIG_LOCALVERSION": "-x"}
    monkeypatch.chdir(tree)
    assert images.resolve("tree").path == image.path


def test_an_image_older_than_its_tree_is_refused(tmp_path: Path) -> None:
    tree = built_tree(tmp_path / "linux", "6.20.0")
    (tree / "include/config/kernel.release").write_text("6.20.0-00001-gabcdef\n")
    with pytest.raises(SchedlabError, match=r"the image is 6\.20\.0, but the source is 6\.20\.0-00001-gabcdef"):
        images.resolve(f"tree:{tree}")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x7fELF" + bytes(2000), "such as vmlinux"),
        (b"", "name a bzImage"),
        (image_bytes("6.1.0")[:0x300], "the file is damaged"),
        (image_bytes("6.1.0")[:0x305], "the file is damaged"),
        (b"!<arch>\ndebian-binary", "dpkg-deb -x"),
    ],
)
def test_a_file_that_is_not_an_image_is_refused_with_advice(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "kernel"
    path.write_bytes(content)
    with pytest.raises(bzimage.NotABzImage, match=expected):
        images.resolve(str(path))


@pytest.mark.parametrize("name", ["debian", "6.12", "", "built", "debian-6"])
def test_an_unknown_name_is_refused_with_the_forms_of_names(name: str) -> None:
    with pytest.raises(images.UnknownKernel, match=r"debian-6\.12.*tree:PATH.*bzImage"):
        images.resolve(name)


def test_a_folder_without_a_tree_is_refused_with_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(images.UnknownKernel) as refused:
        images.resolve("tree")
    assert str(refused.value).startswith(f"{tmp_path}: is not a built kernel tree")
    assert "tree:FOLDER" in refused.value.todo


def test_an_unbuilt_tree_is_refused_with_the_command_that_builds_it(tmp_path: Path) -> None:
    (tmp_path / "Kconfig").touch()
    with pytest.raises(images.UnknownKernel, match=r"has no built x86 kernel(.|\n)*make -C"):
        images.resolve(f"tree:{tmp_path}")
