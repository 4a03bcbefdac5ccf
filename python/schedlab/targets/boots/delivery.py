"""The files that a machine needs to boot a kernel: the image, its modules, and the guard.

A machine gets them in a folder of schedlab's. The initial file system of its running kernel is taken over; archives
with the new kernel's modules and with the guard follow it. All modules of a kernel are in the folder too, and a
symbolic link below ``/lib/modules`` makes them available to the running system.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from schedlab.errors import CannotRunHere
from schedlab.files import scratch
from schedlab.kernels.images import Image
from schedlab.targets.vm.initramfs import archive, executable, regular

GUARD = "rdinit=/schedlab/guard"
"""Boot parameter that starts the guard before ``/init`` (``crates/load/src/boot/guard.rs``)."""

KMOD = "apt-get install kmod"


@dataclass(frozen=True)
class Modules:
    """A kernel's modules: a gzipped archive of all, and one of those that an initial file system needs."""

    everything: bytes
    initial: bytes


def guard(program: bytes, seconds: int) -> bytes:
    """Return the archive with the guard, which restarts the machine after so many seconds without a confirmation."""
    return archive({"/schedlab/guard": executable(program), "/schedlab/seconds": regular(b"%d\n" % seconds)})


def modules_folder(image: Image) -> Path | None:
    """Return the folder of an image's modules, as in a distribution's package; None without modules."""
    top = image.path.parent.parent
    # Since Debian 13 packages have their files in /usr (UsrMerge).
    places = (top / parent / "lib" / "modules" / image.release for parent in ("", "usr"))
    return next((place for place in places if place.is_dir()), None)


def modules(image: Image, place: Path, needed: Iterable[str]) -> Modules:
    """Pack an image's modules. ``needed`` names those of the running system, which the boot needs; CannotRunHere."""
    depmod = shutil.which("depmod", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if depmod is None:
        raise CannotRunHere("there is no depmod here to list the modules of a kernel", where=image.name, todo=KMOD)
    with scratch.locked_folder("schedlab-packing-", Path(gettempdir())) as top:
        copy = top / "lib" / "modules" / image.release
        shutil.copytree(place, copy, symlinks=True, ignore=shutil.ignore_patterns("build", "source"))
        argv = [depmod, "-b", str(top), image.release]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            todo = f"build or unpack the modules of {image.name} again"
            raise CannotRunHere(f"depmod failed: {done.stderr.strip()[-200:]}", where=image.name, todo=todo)
        dependencies = read_dependencies((copy / "modules.dep").read_text())
        lists = [path for path in sorted(copy.glob("modules.*")) if path.is_file()]
        chosen = [copy / path for path in closure(needed, dependencies)]
        return Modules(_tar(copy), _initial(copy, [*lists, *chosen], image.release))


def read_dependencies(text: str) -> dict[str, list[str]]:
    """Read a ``modules.dep`` (modules.dep(5)): paths of modules, each with the paths that it needs."""
    rows = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {path: rest.split() for path, _, rest in rows}


def closure(names: Iterable[str], dependencies: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the paths of the modules of these names and of all that they need; unknown names are built in or absent.

    Dashes and underscores are equal in names of modules.
    """
    paths = {module_name(path): path for path in dependencies}
    left = [paths[plain] for name in names if (plain := name.replace("-", "_")) in paths]
    result: dict[str, None] = {}
    while left:
        path = left.pop()
        if path not in result:
            result[path] = None
            left += dependencies.get(path, ())
    return sorted(result)


def module_name(path: str) -> str:
    """Return the name of the module in a file: ``kernel/fs/ext4/ext4.ko.xz`` is ``ext4``."""
    return path.rpartition("/")[2].partition(".")[0].replace("-", "_")


def _initial(base: Path, files: Iterable[Path], release: str) -> bytes:
    inside = {f"/lib/modules/{release}/{path.relative_to(base)}": regular(path.read_bytes()) for path in files}
    return archive(inside, present=("/lib", "/lib/modules"))


def _tar(base: Path) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", compresslevel=1) as tar:
        for path in sorted(base.rglob("*")):
            tar.add(path, arcname=str(path.relative_to(base)), recursive=False, filter=_plain)
    return target.getvalue()


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out this machine's owners and times."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    return entry


def copy_lines(image: str, initrds: Sequence[str], folder: str) -> list[str]:
    """Return the lines of a script that copies a kernel and its initial file system to a boot loader's folder.

    The files are ``image`` and, with parts of an initial file system, ``initrd``.
    """
    return [f"mkdir -p {folder}", f"cp {image} {folder}/image", join_line(initrds, f"{folder}/initrd")]


def join_line(initrds: Sequence[str], path: str) -> str:
    """Return the line of a script that writes the parts of an initial file system to one file; without parts, it does
    nothing."""
    return f"cat {' '.join(initrds)} > {path}" if initrds else ":"
