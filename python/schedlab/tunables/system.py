"""A machine with tunables: the running machine, or a tree of plain files that replaces it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.errors import CannotRunHere
from schedlab.tunables.availability import (
    ELSEWHERE,
    Absent,
    Available,
    BootOnly,
    ReadOnly,
    Refused,
    Resolution,
    Unrestorable,
    lacking,
)
from schedlab.tunables.codecs import codec, codec_of, lacks_feature
from schedlab.tunables.errors import BadValue
from schedlab.tunables.kernel_files import Files, KernelFiles, PlainFiles, read_config
from schedlab.tunables.knobs import never_restored
from schedlab.tunables.library import catalogue, entries, lookup
from schedlab.tunables.setting import Setting, check_kernel, setting
from schedlab.tunables.terms import KernelVersion, Kind, PlaceKind

if TYPE_CHECKING:
    from schedlab.tunables.tunable import Place, Tunable


@dataclass(frozen=True)
class System:
    """A kernel's files below `root`.

    If the root is not `/`, the files are plain files (see `PlainFiles`) and nothing is mounted. `uid` is the user of
    the command. The user determines the wording of reasons and whether debugfs is mounted. Tests inject failures
    through `files`.
    """

    root: Path = Path("/")
    uid: int = field(default_factory=os.geteuid)
    files: Files = None  # type: ignore[assignment]  # chosen by the root unless given
    _mount_failures: list[str] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.files is None:
            object.__setattr__(self, "files", KernelFiles() if self.real else PlainFiles())

    @property
    def real(self) -> bool:
        """True for the running kernel."""
        return self.root == Path("/")

    @property
    def is_root(self) -> bool:
        """Whether the user is root."""
        return self.uid == 0

    @cached_property
    def release(self) -> str:
        """The release that `uname -r` prints."""
        return self._text("proc/sys/kernel/osrelease") or os.uname().release

    @cached_property
    def version(self) -> KernelVersion:
        """Mainline version of the kernel. CannotRunHere where the kernel shows none, as on a forged machine."""
        try:
            return KernelVersion.parse(self.release)
        except ValueError as error:
            what = f"the kernel calls itself {self.release[:60]!r}, which does not begin with a version"
            raise CannotRunHere(what, where="/proc/sys/kernel/osrelease", todo="use a machine with a Linux") from error

    @cached_property
    def boot_id(self) -> str:
        """Identity of this boot; empty when the tree has no boot id."""
        return self._text("proc/sys/kernel/random/boot_id") or ""

    @cached_property
    def host(self) -> str:
        """Name of the machine."""
        return self._text("proc/sys/kernel/hostname") or os.uname().nodename

    @cached_property
    def command_line(self) -> tuple[str, ...]:
        """Words of the kernel's command line."""
        return tuple((self._text("proc/cmdline") or "").split())

    @cached_property
    def config(self) -> Mapping[str, str] | None:
        """Options that the kernel was built with (`CONFIG_…` to `y`, `m` or a value); None when the options cannot
        be read."""
        return read_config(self.root, self.release, self.files.read_bytes)

    @cached_property
    def lockdown(self) -> str | None:
        """`none`, `integrity` or `confidentiality`; None when securityfs is not mounted."""
        state = self._text("sys/kernel/security/lockdown")
        return codec("choice").decode(state) if state else None

    @property
    def debugfs_root(self) -> Path | None:
        """The root of debugfs; None while debugfs is not mounted, or when a tree of plain files lacks the directory."""
        place = self.root / "sys/kernel/debug"
        return place if self.files.has_debugfs(place) else None

    @contextmanager
    def debugfs(self) -> Iterator[None]:
        """Mount debugfs for the block, if this is the running kernel and the user is root.

        At the end debugfs is unmounted if schedlab mounted it and no other process uses it. When the kernel refuses
        the mount, this raises no error: `resolve` then gives the reason for each tunable.
        """
        with ExitStack() as stack:
            if self.real and self.is_root:
                try:
                    stack.enter_context(self.files.debugfs())
                except OSError as error:
                    self._mount_failures.append(error.strerror or str(error))
            yield

    def resolve(self, tunable: Tunable | str) -> Resolution:
        """Return whether a tunable, given by any of its names, can be set here. Changes nothing, and never mounts."""
        tunable = lookup(tunable) if isinstance(tunable, str) else tunable
        refused: Refused | None = None
        for place in tunable.run_time_places(self.version):
            answer = self._try_place(tunable, place)
            if isinstance(answer, Refused):
                refused = refused or answer
            elif answer is not None:
                return answer
        if refused is not None:
            return refused
        return self._not_here(tunable)

    def resolve_all(self, names: Iterable[str] | None = None) -> dict[str, Resolution]:
        """Return the resolutions of the named tunables, or of all tunables, by canonical name.

        For root, debugfs is mounted meanwhile. Raises UnknownTunable.
        """
        every = [*catalogue().values(), *(entry.tunable for entry in entries().values())]
        tunables = every if names is None else [lookup(name) for name in names]
        with self.debugfs():
            return {tunable.name: self.resolve(tunable) for tunable in tunables}

    def check(self, wanted: Mapping[str, object]) -> dict[str, Resolution]:
        """Return the resolutions of the tunables in `wanted` that cannot be set here.

        A tunable that appears only when another requested tunable is set (domains, by sched.verbose) is not reported.
        Raises UnknownTunable and BadValue.
        """
        settings = {name: setting(name, value) for name, value in wanted.items()}
        names = {each.name for each in settings.values()}
        problems: dict[str, Resolution] = {}
        for name, each in settings.items():
            answer = self.resolve(each.catalogued)
            if isinstance(answer, Available):
                self.accept(each, answer)
            elif each.catalogued.enabled_by not in names:
                problems[name] = answer
        return problems

    def accept(self, wanted: Setting, here: Available) -> str:
        """Return the value in the canonical form of the file. BadValue when this kernel does not offer the value."""
        tunable, text, form = wanted.catalogued, wanted.text, codec(here.place.codec)
        if tunable.kind is Kind.KNOB:
            try:
                text = form.canonical(text)
            except ValueError as error:
                raise BadValue(
                    tunable.name, text, str(error), f"values like {here.current} in {here.paths[0]}"
                ) from None
        elif tunable.kind is not Kind.CHOICE:
            return text
        options = form.options(self.files.read(here.paths[0]))
        if options is None:
            check_kernel(tunable, text, self.version)
        elif text not in options:
            raise BadValue(tunable.name, text, "is not among this kernel's choices", ", ".join(options))
        return text

    def _try_place(self, tunable: Tunable, place: Place) -> Resolution | None:
        """The resolution for this place; None when the kernel has no such file."""
        expected = self.version in place.range
        try:
            paths = self._paths(place)
            lost = self._never_restored(paths) if tunable.kind is Kind.KNOB else None
            texts = [] if lost else [self.files.read(path) for path in paths]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except _Unmounted as unmounted:
            return self._unmounted(unmounted.path) if expected else None
        except OSError as error:
            return self._unreadable(tunable, place, error) if expected else None
        if tunable.kind is Kind.KNOB and paths:
            if lost := lost or self._never_restored(paths, texts):
                return lost
            place = place.model_copy(update={"codec": codec_of(place.codec, texts[0]).name})
        values = tuple(codec(place.codec).decode(text) for text in texts)
        return self._state_of(tunable, place, paths, values)

    def _unreadable(self, tunable: Tunable, place: Place, error: OSError) -> Resolution:
        path = Path(str(error.filename)) if error.filename else self.root / place.text[1:]
        if tunable.kind is Kind.KNOB and (self.is_root or error.errno in {errno.EINVAL, errno.EIO}):
            return Unrestorable(path, "it cannot be read, so that its value is not known")
        return self._refused(path, error, place)

    def _never_restored(self, paths: Sequence[Path], texts: Sequence[str] = ()) -> Unrestorable | None:
        for path, text in zip_longest(paths, texts):
            if why := never_restored(f"/{path.relative_to(self.root)}", text):
                return Unrestorable(path, why)
        return None

    def _state_of(
        self, tunable: Tunable, place: Place, paths: tuple[Path, ...], values: tuple[str | None, ...]
    ) -> Resolution | None:
        shown = tuple(value for value in values if value is not None)
        if not paths or len(shown) != len(paths):
            return None
        for path, value in zip(paths, shown, strict=True):
            if tunable.kind is Kind.CHOICE and value not in {choice.value for choice in tunable.choices}:
                return ReadOnly(path, value, 0, "the machine does not support the tunable, according to the file")
            try:
                self.files.check_writable(path)
            except OSError as error:
                return ReadOnly(path, value, error.errno or 0, self._why_refused(error, place))
        return Available(place, paths, shown)

    def _paths(self, place: Place) -> tuple[Path, ...]:
        match place.kind:
            case PlaceKind.SYSCTL:
                base, below = self.root / "proc/sys", place.where.replace(".", "/")
            case PlaceKind.SYSFS:
                base, below = self.root / "sys", place.where
            case PlaceKind.PROC:
                base, below = self.root / "proc", place.where
            case _:
                here = self.debugfs_root
                if here is None:
                    raise _Unmounted(self.root / "sys/kernel/debug" / place.where)
                base, below = here, place.where
        if "*" not in below:
            return (base / below,)
        return tuple(sorted(self.files.matches(base, below), key=_natural))

    def _refused(self, path: Path, error: OSError, place: Place) -> Refused:
        return Refused(path, error.errno or 0, self._why_refused(error, place), self._elsewhere)

    @property
    def _elsewhere(self) -> str:
        return ELSEWHERE if self.is_root else f"run schedlab as root, or {ELSEWHERE}"

    def _unmounted(self, path: Path) -> Refused:
        if not self.real:
            why = "this tree has no sys/kernel/debug: debugfs is not mounted"
        elif not self.is_root:
            why = "debugfs is not mounted, and mounting it needs root"
        else:
            why = "debugfs is not mounted (`mount -t debugfs none /sys/kernel/debug` would)"
            if self._mount_failures:
                failure = self._mount_failures[-1]
                why = f"debugfs cannot be mounted: {failure} (a container, or booted with debugfs=off or no-mount)"
        return Refused(path, errno.ENOENT, why, self._elsewhere, unmounted=True)

    def _why_refused(self, error: OSError, place: Place) -> str:
        if error.errno == errno.EROFS:
            return "the file system is mounted read-only, as in a container"
        if error.errno not in {errno.EPERM, errno.EACCES}:
            return error.strerror or str(error)
        if not self.is_root:
            return "needs root"
        if self.lockdown in {"integrity", "confidentiality"}:
            return f"kernel lockdown is at {self.lockdown}, and denies the write even to root"
        if place.kind is PlaceKind.DEBUGFS:
            return (
                "kernel lockdown or a locked-down debugfs (CONFIG_SECURITY_LOCKDOWN_LSM with lockdown=integrity, "
                "or Secure Boot; debugfs=no-mount or off) denies the write even to root"
            )
        return "a container or a security module denies the write even to root, or the kernel made the file read-only"

    def _not_here(self, tunable: Tunable) -> Resolution:
        if not tunable.is_documented:
            return Absent(self._no_knob(tunable), tunable.range)
        lack = lacking(tunable, self.version, self.config)
        if isinstance(lack, BootOnly):
            return BootOnly(lack.parameter, self._booted_with(lack.parameter))
        if lack is not None:
            return lack
        range_ = tunable.range
        if tunable.enabled_by:
            return Absent(f"appears once {tunable.enabled_by} is true (and with more than one CPU)", range_)
        where = " or ".join(place.text for place in tunable.places_in(self.version) if place.kind is not PlaceKind.BOOT)
        if (needs := [n.option for n in tunable.config if self.version in n.range]) and self.config is None:
            text = f"no {where}: the kernel is perhaps built without {' and '.join(needs)}"
            return Absent(f"{text} (its configuration cannot be read)", range_, needs[0])
        return Absent(f"no {where}, although kernel {self.version} should have it", range_)

    def _no_knob(self, tunable: Tunable) -> str:
        if tunable.kind is not Kind.FEATURE:
            return f"this kernel has no {tunable.places[0].text}"
        for place in tunable.run_time_places(self.version):
            try:
                return lacks_feature(tunable.name, self.files.read(self._paths(place)[0]))
            except (OSError, _Unmounted):
                continue
        return f"this kernel has no {tunable.places[0].text}"

    def _booted_with(self, parameter: str) -> str | None:
        for word in reversed(self.command_line):
            if word == parameter or (parameter.endswith("=") and word.startswith(parameter)):
                return word.removeprefix(parameter) or "set"
        return None

    def _text(self, below: str) -> str | None:
        try:
            return self.files.read_bytes(self.root / below).decode(errors="replace").strip()
        except OSError:
            return None


class _Unmounted(Exception):
    def __init__(self, path: Path) -> None:
        self.path = path


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key that puts cpu2 before cpu10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path))]
