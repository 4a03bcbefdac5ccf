"""Kernel images by name: Debian's cloud kernels, a bzImage, a built tree. Looking one up downloads nothing.

| name | kernel |
|---|---|
| ``debian-6.12``, ``debian-6.12.117+deb12`` | Debian's cloud kernel of that series or release, see :mod:`.debian` |
| ``/path/to/bzImage`` | this file; its configuration is taken from ``config-RELEASE`` beside it, where there is one |
| ``tree``, ``tree:PATH`` | the x86 kernel built in this folder (or ``O=`` folder); ``tree`` is the working directory |
| ``built:NAME``, ``built:NAME+01`` | what ``schedlab kernels build`` made: a series' base, and with its first patch |
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.kernelbuild.shelf import BUILT, Shelf
from schedlab.tunables import kconfig
from schedlab.vm import bzimage, debian

BZIMAGE = Path("arch/x86/boot/bzImage")
"""Where a tree's build puts the x86 kernel."""


class UnknownKernel(SchedlabError):
    """A kernel name that stands for no image."""


class NotDownloaded(CannotRunHere):
    """A kernel of Debian's that the cache does not hold: :func:`schedlab.vm.debian.fetch` brings it."""


@dataclass(frozen=True)
class Image:
    """A kernel to boot.

    ``name`` is what it was asked for by, ``release`` what ``uname -r`` prints in it (read from the image itself),
    ``config`` the configuration it was built with where that is known, ``sha256`` the image's checksum.
    """

    path: Path
    name: str
    release: str
    config: Path | None
    sha256: str

    def is_unchanged(self) -> bool:
        """Whether the file still is what was looked at: a tree may be built again while a run goes on."""
        try:
            return bzimage.checksum(self.path) == self.sha256
        except OSError:
            return False


def resolve(name: str, *, cache_folder: Path | None = None) -> Image:
    """The image that a kernel name stands for.

    Args:
        name: see the module.
        cache_folder: where downloads are kept; default ``$XDG_CACHE_HOME/schedlab``.

    SchedlabError says what is wrong with the name or the file; NotDownloaded that the cache lacks it; KernelGap that
    the kernel is a prefix of a series that could not be built: the trials of its variant fail with that reason.
    """
    if name.startswith(BUILT):
        shelf = Shelf.of(cache_folder)
        folder = shelf.place(shelf.find(name).key)
        return _image(name, folder / "bzImage", folder / "config")
    if debian.is_name(name):
        if (files := debian.files(name, cache_folder)) is None:
            raise NotDownloaded(
                "this kernel is not in the cache", where=name, todo=f"'schedlab kernels fetch {name}' downloads it"
            )
        return _image(name, *files)
    if name == "tree" or name.startswith("tree:"):
        return _of_tree(name, Path(name.partition(":")[2] or ".").expanduser())
    path = Path(name).expanduser()
    if name and path.is_dir():
        is_tree = (path / BZIMAGE).is_file() or (path / "Kconfig").is_file()
        todo = f"tree:{name} is the kernel built there" if is_tree else "name a bzImage in it, or tree:FOLDER"
        raise UnknownKernel("is a folder, and no kernel image", where=str(path), todo=todo)
    if "/" not in name and not path.is_file():
        raise UnknownKernel(
            f"{name!r} is no kernel",
            todo="debian-6.12, debian-6.1, the path of a bzImage, tree:PATH of a built kernel tree, or built:NAME",
        )
    return _image(name, path, path.parent / f"config-{bzimage.release(path)}")


def config_of(image: Image) -> dict[str, str] | None:
    """The options that the image's kernel was built with (``CONFIG_SMP`` is ``y``); None when nobody knows."""
    if image.config is None:
        return None
    try:
        return kconfig.options(image.config.read_text(errors="replace"))
    except OSError as error:
        raise SchedlabError(
            f"the kernel's configuration cannot be read: {error.strerror}", where=str(image.config)
        ) from error


def _of_tree(name: str, tree: Path) -> Image:
    if not (tree / BZIMAGE).is_file():
        is_source = (tree / "Kconfig").is_file()
        reason = "has no built x86 kernel" if is_source else "is no built kernel tree"
        todo = f"make -C {tree} bzImage" if is_source else f"tree:FOLDER, of the folder that holds {BZIMAGE}"
        raise UnknownKernel(f"{reason} (no {BZIMAGE})", where=str(tree.absolute()), todo=todo)
    image = _image(name, tree / BZIMAGE, tree / ".config")
    meant = tree / "include/config/kernel.release"
    if meant.is_file() and (release := meant.read_text().strip()) != image.release:
        raise UnknownKernel(
            f"its image is of {image.release}, but the tree is at {release}: the image is older than the tree",
            where=str(tree),
            todo=f"make -C {tree} bzImage, or name {tree / BZIMAGE} where the old one is meant",
        )
    return image


def _image(name: str, path: Path, config: Path) -> Image:
    absolute = path.absolute()
    known = config.absolute() if config.is_file() else None
    return Image(absolute, name, bzimage.release(path), known, bzimage.checksum(path))
