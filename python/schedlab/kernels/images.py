"""Kernel images by name: Debian's cloud kernels, a bzImage, a kernel tree, a series built here. No downloads.

| name | kernel |
|---|---|
| ``debian-6.12``, ``debian-6.12.117+deb12`` | Debian's cloud kernel of that series or release, see :mod:`.debian` |
| ``/path/to/bzImage`` | the named file; its configuration is ``config-RELEASE`` in the same folder, if present |
| ``tree``, ``tree:PATH`` | the x86 kernel built in this folder (or ``O=`` folder); ``tree`` is the working directory |
| ``built:NAME``, ``built:NAME+01`` | a kernel of ``schedlab kernels build``: a series' base, or base and first patch |
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.kernels import bzimage, debian
from schedlab.kernels.build_cache import BUILT, BuildCache
from schedlab.tunables.kernel_files import config_options

BZIMAGE = Path("arch/x86/boot/bzImage")
"""Path of the x86 kernel in a built tree."""


class UnknownKernel(SchedlabError):
    """A kernel name without an image."""


class NotDownloaded(CannotRunHere):
    """A Debian kernel that the cache lacks or has damaged; :func:`schedlab.kernels.debian.fetch` downloads it."""


@dataclass(frozen=True)
class Image:
    """A kernel to boot.

    ``name`` is the requested name, ``release`` the output of ``uname -r`` under this kernel (read from the image),
    ``config`` the file with its configuration if known, ``sha256`` the image's checksum.
    """

    path: Path
    name: str
    release: str
    config: Path | None
    sha256: str

    def is_unchanged(self) -> bool:
        """Whether the file has the same content as before: a tree may be rebuilt during a run."""
        try:
            return bzimage.checksum(self.path) == self.sha256
        except OSError:
            return False


def resolve(name: str, *, cache_folder: Path | None = None) -> Image:
    """Return the image for a kernel name.

    Args:
        name: see the module's docstring.
        cache_folder: folder of downloads and builds; default ``$XDG_CACHE_HOME/schedlab``.

    SchedlabError for a wrong name or file, NotDownloaded for a kernel that the cache lacks, KernelGap for a prefix of a
    series that could not be built: the trials of its variant fail with that reason.
    """
    if name.startswith(BUILT):
        cache = BuildCache.of(cache_folder)
        folder = cache.place(cache.find(name).key)
        return _image(name, folder / "bzImage", folder / "config")
    if debian.is_name(name):
        if (files := debian.files(name, cache_folder)) is None:
            todo = f"download it with 'schedlab kernels fetch {name}'"
            raise NotDownloaded("this kernel is not in the cache, or is damaged there", where=name, todo=todo)
        return _image(name, *files)
    if name == "tree" or name.startswith("tree:"):
        return _of_tree(name, Path(name.partition(":")[2] or ".").expanduser())
    path = Path(name).expanduser()
    if name and path.is_dir():
        is_tree = (path / BZIMAGE).is_file() or (path / "Kconfig").is_file()
        todo = (
            f"write tree:{name} for the kernel built in this folder"
            if is_tree
            else ("write tree:FOLDER or the path of a bzImage")
        )
        raise UnknownKernel("is a folder, not a kernel image", where=str(path), todo=todo)
    if "/" not in name and not path.is_file():
        raise UnknownKernel(
            f"{name!r} is not a kernel",
            todo="write debian-6.12, debian-6.1, built:NAME, tree:PATH of a built tree, or the path of a bzImage",
        )
    return _image(name, path, path.parent / f"config-{bzimage.release(path)}")


def config_of(image: Image) -> dict[str, str] | None:
    """Return the options of the image's configuration (``CONFIG_SMP`` is ``y``); None if the configuration is
    unknown."""
    if image.config is None:
        return None
    try:
        return config_options(image.config.read_text(errors="replace"))
    except OSError as error:
        raise SchedlabError(
            f"the kernel's configuration cannot be read: {error.strerror}",
            where=str(image.config),
            todo="check the permissions of the file",
        ) from error


def _of_tree(name: str, tree: Path) -> Image:
    if not (tree / BZIMAGE).is_file():
        is_source = (tree / "Kconfig").is_file()
        reason = "has no built x86 kernel" if is_source else "is not a built kernel tree"
        todo = f"run 'make -C {tree} bzImage'" if is_source else f"write tree:FOLDER, where FOLDER contains {BZIMAGE}"
        raise UnknownKernel(f"{reason} (no {BZIMAGE})", where=str(tree.absolute()), todo=todo)
    image = _image(name, tree / BZIMAGE, tree / ".config")
    expected = tree / "include/config/kernel.release"
    if expected.is_file() and (release := expected.read_text().strip()) != image.release:
        raise UnknownKernel(
            f"the image is {image.release}, but the source is {release}: the image is older than the source",
            where=str(tree),
            todo=f"run 'make -C {tree} bzImage', or write {tree / BZIMAGE} to use the old image",
        )
    return image


def _image(name: str, path: Path, config: Path) -> Image:
    absolute = path.absolute()
    existing = config.absolute() if config.is_file() else None
    return Image(absolute, name, bzimage.release(path), existing, bzimage.checksum(path))
