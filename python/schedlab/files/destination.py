"""Which files schedlab may write: the one decision for every output and every store.

An output goes into a regular file, or through a character device, a named pipe or an open descriptor (``/dev/null``,
``/dev/stdout``). A store is a regular file. Nothing is written to block devices, sockets, folders, loops of symbolic
links, or files of the kernel (``/proc``, ``/sys``). A new file needs an existing folder.

No other user chooses what is written: links of other users are not followed, and a store is written only where no other
user can replace the store.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_MOST_LINKS = 40
"""Maximum number of symbolic links that are followed to a file, as in the kernel (MAXSYMLINKS, linux/namei.h)."""

_KERNEL = (
    "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "efivarfs", "fusectl", "mqueue", "nsfs",
    "proc", "pstore", "securityfs", "selinuxfs", "smackfs", "sysfs", "tracefs",
)  # fmt: skip
"""Types of file systems whose files are interfaces of the kernel."""

_TYPES = {
    stat.S_IFDIR: "is a folder",
    stat.S_IFBLK: "is a block device",
    stat.S_IFCHR: "is a character device",
    stat.S_IFIFO: "is a named pipe",
    stat.S_IFSOCK: "is a socket",
}


class Unsuitable(OSError):
    """A path that cannot be written as an output or a store. ``strerror`` is the reason."""

    def __init__(self, reason: str, path: Path) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


class Exposed(Unsuitable):
    """A path whose file other users could choose or change."""


class Use(Enum):
    """What a file is for."""

    OUTPUT = "output"
    """Links of other users, and own links to files of other users, are not followed: the output replaces the link. In
    a folder that everybody may write, another user could otherwise choose the file that is overwritten."""

    NEW_STORE = "new store"
    """A store that this process may create and write. Links and files of other users are refused, and folders in which
    other users can create files, except with the sticky bit: SQLite uses files beside a store by their names."""

    STORE = "store"
    """An existing store, for reading."""


@dataclass(frozen=True)
class Destination:
    """The file behind the links that are followed; ``state`` is None for a missing file. The content is written through
    a ``stream``, and a regular file is replaced."""

    path: Path
    state: os.stat_result | None
    stream: bool = False


def destination(path: Path, use: Use) -> Destination:
    """Return the file that a path names for this use; Unsuitable for a path that schedlab must not write."""
    named, is_output = path, use is Use.OUTPUT
    for _ in range(_MOST_LINKS):
        if use is not Use.STORE and (fault := _fault_on_the_way(path.parent, use)):
            raise Exposed(f"leads through {fault}", named)
        state = state_of(path)
        file_system = _kernel_file_system(path.parent)
        if file_system is not None:
            if is_output and (target := _open_file(path)) is not None:
                return _checked(Destination(path, target, stream=True), named, use)
            raise Unsuitable(f"is in a file system of the kernel ({file_system})", named)
        if state is None or not stat.S_ISLNK(state.st_mode):
            file = _checked(Destination(path, state), named, use)
            if use is Use.NEW_STORE:
                _require_own(file, named)
            return file
        if use is not Use.STORE and not _trusts(path, state):
            if is_output:
                return Destination(path, state)
            raise Unsuitable("is a link of another user", named)
        target_path = path.parent / path.readlink()
        if is_output and _is_foreign_file(target_path):
            return Destination(path, state)
        path = target_path
    raise Unsuitable("is a loop of symbolic links", named)


def is_private(folder: Path, owner: int) -> bool:
    """Whether a folder belongs to this user or to ``owner``, and nobody else can create files in the folder."""
    return folder.stat().st_uid in (os.geteuid(), owner) and not is_shared(folder)


def is_shared(folder: Path) -> bool:
    """Whether users other than its owner (and root) can create files in a folder.

    A group that has the name of the owner and no other members is the owner's alone: many systems give each user such a
    group and the umask 002.
    """
    state = folder.stat()
    if not state.st_mode & 0o020:
        return bool(state.st_mode & 0o002)
    user, group, members = str(state.st_uid), str(state.st_gid), set[str]()
    with suppress(KeyError):
        user = pwd.getpwuid(state.st_uid).pw_name
    with suppress(KeyError):
        entry = grp.getgrgid(state.st_gid)
        group, members = entry.gr_name, set(entry.gr_mem)
    # With an access control list, the bits of the group are the most that any user or group of the list has.
    return bool(state.st_mode & 0o002) or group != user or not members <= {user} or _has_list(folder)


def state_of(path: Path) -> os.stat_result | None:
    """Return the state of the link or file itself; None when it does not exist."""
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _checked(file: Destination, named: Path, use: Use) -> Destination:
    """Return the destination; Unsuitable for a type of file that this use does not have."""
    if file.state is None:
        if use is not Use.STORE and not file.path.parent.is_dir():
            raise Unsuitable(f"its folder {file.path.parent} does not exist", named)
        return file
    kind = stat.S_IFMT(file.state.st_mode)
    if kind == stat.S_IFREG or (file.stream and kind == stat.S_IFSOCK):
        return file
    if use is not Use.OUTPUT or kind not in (stat.S_IFCHR, stat.S_IFIFO):
        raise Unsuitable(_TYPES[kind], named)
    # The other user would read the content, or let the writer wait for ever. A pipe without a name is in /proc.
    if kind == stat.S_IFIFO and not file.stream and file.state.st_uid != os.geteuid():
        raise Unsuitable("is a named pipe of another user", named)
    return Destination(file.path, file.state, stream=True)


def _require_own(store: Destination, named: Path) -> None:
    """Raise Exposed if other users could change what this process writes to a store.

    ``/tmp`` and other shared folders with the sticky bit are allowed: nobody else can replace the store there, existing
    files beside the store are checked, and fs.protected_regular (proc_sys_fs(5)) refuses files that another user makes
    later.
    """
    folder = store.path.parent
    if is_shared(folder) and not folder.stat().st_mode & stat.S_ISVTX:
        raise Exposed(f"other users can create files in its folder {folder.absolute()}, which SQLite would use", named)
    owner = os.geteuid() if store.state is None else store.state.st_uid
    if owner != os.geteuid() and not is_private(folder, owner):
        raise Exposed("belongs to another user", named)


def _open_file(path: Path) -> os.stat_result | None:
    """Return the state of the open file that a link below ``/proc/PID/fd`` stands for; None for other paths."""
    if path.parent.name != "fd" or not path.is_symlink():
        return None
    return path.stat()


def _is_foreign_file(path: Path) -> bool:
    state = state_of(path)
    if state is None or not (stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode)):
        return False
    return _kernel_file_system(path.parent) is None and not _trusts(path, state)


def _trusts(path: Path, state: os.stat_result) -> bool:
    """Whether the user or the system (a link of root in a folder that only root can write: /dev/stdout) owns this
    file or link."""
    if state.st_uid == os.geteuid():
        return True
    folder = path.parent.stat()
    return stat.S_ISLNK(state.st_mode) and state.st_uid == folder.st_uid == 0 and not is_shared(path.parent)


def _fault_on_the_way(folder: Path, use: Use) -> str:
    """Return what another user may have planted on the way to a folder; empty without such a link or folder.

    A link is followed if it belongs to this user, or to the only user who can write its folder; but not below a folder
    that another user made in a shared folder. For a store, which SQLite opens by its path again and again, such a
    folder and folders that other users can rename are faults too.
    """
    place, parts, links, is_planted = Path("/"), list(reversed(folder.absolute().parts)), 0, False
    while parts and links <= _MOST_LINKS:
        path = place / parts.pop()
        if path.name == "..":
            place = place.parent  # has no links
            continue
        state = state_of(path)
        if state is None:
            return ""
        is_own = state.st_uid == os.geteuid()
        is_shared_place = is_shared(place)
        if use is Use.NEW_STORE and is_shared_place and not place.stat().st_mode & stat.S_ISVTX:
            return f"{path}, which other users can rename"
        if stat.S_ISLNK(state.st_mode):
            if not is_own and (is_planted or is_shared_place or state.st_uid != place.stat().st_uid):
                return f"{path}, a link of another user"
            parts.extend(reversed(path.readlink().parts))
            links += 1
            continue
        is_planted = is_planted or (is_shared_place and not is_own and state.st_uid != 0)
        if use is Use.NEW_STORE and is_planted:
            return f"{path}, a folder of another user"
        place = path
    return ""


def _has_list(folder: Path) -> bool:
    try:
        return "system.posix_acl_access" in os.listxattr(folder)
    except OSError:  # a file system without attributes
        return False


def _kernel_file_system(folder: Path) -> str | None:
    """Return the type of the kernel's file system that contains a folder; None for other file systems.

    The device of the folder is looked up in proc_pid_mountinfo(5), so that other mounts of ``/proc`` count too.
    """
    try:
        device = folder.stat().st_dev
        lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        mount, _, source = line.partition(" - ")
        kind = source.partition(" ")[0]
        if mount.split(" ", 3)[2] == number and kind in _KERNEL:
            return kind
    return None
