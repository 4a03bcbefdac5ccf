"""Debian's archive: the mirrors of a machine's apt, split packages, and all suites of the real mirror."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.kernels import archive, debian
from schedlab.kernels.archive import Archive, fields

PIECES = (Path(__file__).parent / "packages" / "linux-7.2.13.txt").read_text()
"""Stanzas of sid's Packages file: the kernel 7.2.13, which is split into four packages."""


def machine_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, targets: str) -> list[str]:
    """Return the lines of sources.list for a machine whose apt prints these index targets."""

    def run(argv: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, 0, targets, "")

    keyring = tmp_path / "keyring"
    keyring.touch()
    monkeypatch.setattr(archive, "run", run)
    monkeypatch.setattr(archive, "KEYRING", keyring)
    return [source.line for source in Archive.of_machine(tmp_path / "apt")._sources]


def test_the_mirrors_come_from_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = machine_with(
        monkeypatch,
        tmp_path,
        "cdrom:[Debian]/ bookworm main\nhttp://other.example/ jammy main\nhttp://one.example/debian/ bookworm main\n"
        "http://two.example/security/ bookworm-security main\nhttp://three.example/ bookworm-updates main\n",
    )
    signed = f"signed-by={tmp_path}/keyring"
    assert f"deb [arch=amd64 target=Packages {signed}] http://one.example/debian/ sid main\n" in lines
    assert f"deb [arch=amd64 target=Packages {signed}] http://two.example/security/ trixie-security main\n" in lines
    assert len(lines) == len(archive.SUITES) + len(archive.SECURITY)


def test_a_mirror_without_security_updates_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = machine_with(monkeypatch, tmp_path, "http://one.example/debian/ stable main\n")
    assert len(lines) == len(archive.SUITES)


def test_a_machine_without_a_mirror_of_debian_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotRunHere, match="this machine's apt sources have no mirror of Debian"):
        machine_with(
            monkeypatch, tmp_path, "http://other.example/ jammy main\nhttp://other.example/ jammy-security main\n"
        )


def test_a_machine_without_debians_keyring_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, tmp_path, "http://one.example/ sid main\n")
    monkeypatch.setattr(archive, "KEYRING", tmp_path / "none")
    with pytest.raises(CannotRunHere, match="Debian's keyring is missing"):
        Archive.of_machine(tmp_path / "apt")


class Recorded(Archive):
    """An archive that answers from recorded stanzas."""

    def __init__(self, text: str) -> None:
        super().__init__(Path("/nonexistent"), [])
        self._fields = list(fields(text))

    def names(self, prefix: str) -> list[str]:
        return [stanza["Package"] for stanza in self._fields if stanza["Package"].startswith(prefix)]

    def stanzas(self, names: object) -> list[dict[str, str]]:
        assert isinstance(names, list)
        return [stanza for stanza in self._fields if stanza["Package"] in names]

    def suites(self) -> list[str]:
        return ["sid"]


def test_a_split_kernel_consists_of_its_image_and_its_configuration() -> None:
    package = debian._newest_of("debian-7.2", Recorded(PIECES))
    assert str(package) == "linux-image-7.2.13+deb14-cloud-amd64 7.2.13-1, 14 MB"
    assert [part.name.split("-")[1] for part in package.parts] == ["base", "binary"]


def test_a_split_kernel_without_its_configuration_is_offered_but_not_without_its_image() -> None:
    stanzas = PIECES.split("\n\n")
    without_base = "\n\n".join(stanza for stanza in stanzas if "Package: linux-base-" not in stanza)
    assert len(debian._newest_of("debian-7.2", Recorded(without_base)).parts) == 1
    without_binary = "\n\n".join(stanza for stanza in stanzas if "Package: linux-binary-" not in stanza)
    with pytest.raises(CannotRunHere, match="no such cloud kernel"):
        debian._newest_of("debian-7.2", Recorded(without_binary))


@pytest.mark.verify
@pytest.mark.parametrize("series", ["5.10", "6.1", "6.12", "7.2"])
def test_the_mirror_has_the_kernels_of_all_suites(series: str, tmp_path: Path) -> None:
    name = f"debian-{series}"
    debian.fetch(name, tmp_path)
    files = debian.files(name, tmp_path)
    assert files is not None
    image, config = files
    assert image.stat().st_size > 5 << 20
    assert "CONFIG_SMP=y" in config.read_text()
