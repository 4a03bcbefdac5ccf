"""Boots of a machine: one kernel after another, and at the end the default kernel again."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.experiment.target_table import BootMethod
from schedlab.kernels.images import Image, resolve
from schedlab.kernels.parameters import NONCE, PANIC, merged
from schedlab.targets.boots import delivery, machine
from schedlab.targets.boots.control import Control
from schedlab.targets.boots.loaders import Loader, loader
from schedlab.targets.boots.machine import Facts, Seen, State, Wanted, fault, is_over, state
from schedlab.targets.boots.shell import Done, Shell, Unreachable
from schedlab.targets.protocol import Fault

INSTALLED = "installed:"
"""Prefix of the name of a kernel that the machine has in ``/boot``."""

FOLDER = "/var/lib/schedlab/boot"
"""Folder on the machine with everything that boots need; :meth:`Boots.clean` removes it."""

PROGRAM = f"{FOLDER}/schedload"
"""Path of schedload on the machine."""

PARENTS = "/var/lib/schedlab/journal /var/lib/schedlab"
"""Folders that are removed when they are empty."""

DEFAULT = f"{FOLDER}/default"
"""File with release and command line of the machine's default kernel, as they were before the first boot."""

UNDO = f"{FOLDER}/undo"
"""Script on the machine that undoes what the boot loader was asked to do."""

SWITCH = "look at its console; switching it off and on starts the default kernel"

LIMIT = 300.0
"""Default seconds in which a kernel has to come up."""

LOADING = 180.0
"""Limit in seconds for sending a kernel, and for loading it: the running kernel checksums the image."""

POLL = 1.0
"""Seconds between two questions to a machine that restarts."""

STOPPING = 4.0
"""Seconds before the first question: a system that stops its processes would accept a connection and not answer."""

ANSWER, PATIENCE, LONGEST_ANSWER = 10.0, 1.5, 60.0
"""Seconds in which a machine has to answer the first question, the factor for each further question, the most seconds.

A busy machine answers late, and an attempt that is given up makes it busier.
"""


class BootFailed(Exception):
    """A kernel that did not come up; ``reason`` is one line, ``tail`` the end of the console where it is recorded."""

    def __init__(self, reason: str, tail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.tail = tail


@dataclass(frozen=True)
class Kernel:
    """A kernel to boot: ``image`` is None for a kernel that the machine has in ``/boot``."""

    release: str
    image: Image | None = None


@dataclass(frozen=True)
class Booted:
    """A kernel that came up.

    ``seconds`` are: ``prepare`` (files sent), ``load`` (kernel put into memory), ``restart`` (until the
    machine answered).
    """

    seen: Seen
    nonce: str
    seconds: dict[str, float]


@dataclass(frozen=True)
class Clock:
    """The clock, which tests replace: ``now`` returns seconds, ``sleep`` waits for a number of seconds."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class Boots:
    """The boots of one machine.

    Args:
        shell: a root shell on the machine.
        where: the machine's name in messages.
        schedload: the static program ``schedload``, for the machine and for the guard.
        limit: seconds in which a kernel has to come up.
        method: how kernels start; all methods but ``kexec`` start them through the firmware.
        command: the command of the machine for the method ``command``.
    """

    def __init__(
        self,
        shell: Shell,
        where: str,
        schedload: bytes,
        *,
        limit: float = LIMIT,
        method: BootMethod = "kexec",
        command: str | None = None,
        control: Control | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._shell, self._where, self._schedload = shell, where, schedload
        self._limit = limit
        self._control = control or Control()
        self._clock = clock or Clock()
        self._method, self._command = method, command
        self._loader: Loader | None = None
        self._default: Facts | None = None
        self._sent: set[str] = set()

    @property
    def default(self) -> Facts:
        """The machine's facts under its default kernel; available after :meth:`begin`."""
        assert self._default is not None
        return self._default

    def begin(self) -> None:
        """Read the machine's facts, under its default kernel. CannotRunHere when it cannot boot kernels.

        A machine that an interrupted run left in a kernel under test is returned to its default kernel first.
        """
        self.restore()
        for reason, remedy in self.faults():
            raise CannotRunHere(reason, where=self._where, todo=remedy)
        self._loader = self._found_loader()
        self._sent = set()
        self.clean()
        self._send_program()
        self._send(f"cat > {FOLDER}/guard", delivery.guard(self._schedload, round(self._limit)))
        default = self.default.seen
        self._send(f"cat > {DEFAULT}", f"{default.release}\n{default.command_line}\n".encode())

    def restore(self) -> bool:
        """Return a machine that an interrupted run left under test to its default kernel; False for other machines."""
        seen = machine.facts(self._shell).seen
        machine.require_other_machine(seen, self._where)
        if not machine.is_under_test(seen):
            return False
        self._return(seen)
        return True

    def _facts(self) -> Facts:
        """Read the machine's facts, with the recorded default kernel where a kernel under test runs."""
        found = machine.facts(self._shell)
        machine.require_other_machine(found.seen, self._where)
        if machine.is_under_test(found.seen) and len(recorded := self._recorded()) == 2:
            return replace(found, seen=Seen(found.seen.boot_id, *recorded))
        return found

    def _recorded(self) -> list[str]:
        """Return release and command line of the default kernel from before the first boot; [] without a boot."""
        return self._shell.run(f"cat {DEFAULT}").output.splitlines()

    def faults(self) -> list[Fault]:
        """Read the machine's facts, and return why it cannot boot kernels, each reason with a remedy."""
        self._default = self._facts()
        faults = list(self.default.faults(kexec=self._method == "kexec"))
        try:
            self._found_loader()
        except CannotRunHere as error:
            faults.append((error.what, error.todo))
        return faults

    def _found_loader(self) -> Loader | None:
        return loader(self._method, self._command, self._shell, self._where, FOLDER)

    def kernel(self, name: str | None) -> Kernel:
        """Return the kernel of a variant; None names the machine's default kernel. SchedlabError for wrong names."""
        if name is not None and not name.startswith(INSTALLED):
            image = resolve(name)
            return Kernel(image.release, image)
        release = self.default.seen.release if name is None else name.removeprefix(INSTALLED)
        if self.default.image(release) is None:
            has = ", ".join(INSTALLED + each for each in self.default.releases()) or "none"
            raise CannotRunHere(
                f"the machine has no /boot/vmlinuz-{release}", where=self._where, todo=f"its kernels are {has}"
            )
        return Kernel(release)

    def boot(self, kernel: Kernel, command_line: str = "") -> Booted:
        """Start a kernel with words added to the default command line, and wait for it; BootFailed with the reason."""
        began = self._clock.now()
        leaves = self._contact()
        try:
            image, initrds = self._deliver(kernel)
            nonce = secrets.token_hex(8)
            line = merged(self.default.seen.command_line, command_line, delivery.GUARD, PANIC, f"{NONCE}={nonce}")
            prepared = self._clock.now()
            self._load(leaves, image, initrds, line)
            loaded = self._clock.now()
            self._request(f"{'reboot' if self._loader else 'kexec'} --boot-id {leaves.boot_id}")
        except (SchedlabError, TimeoutError) as error:
            raise BootFailed(str(error).partition("\n")[0]) from error
        wanted = Wanted(leaves.boot_id, nonce, kernel.release)
        seen = self._wait(wanted)
        if why := fault(seen, wanted, self._limit if seen is None else self._clock.now() - loaded):
            raise BootFailed(*self._after_failure(seen, wanted, why))
        assert seen is not None
        try:
            self._request(f"confirm --boot-id {seen.boot_id}")
        except SchedlabError as error:
            raise BootFailed(f"the kernel came up, and did not answer further: {error.what}") from error
        if self._loader is not None and self._do(self._loader.verify()).output.strip():
            self._do(self._loader.clean())
            raise BootFailed(
                "the boot loader did not forget its choice for one boot, which was removed now: boot kernels by kexec"
            )
        return Booted(
            seen,
            nonce,
            {"prepare": prepared - began, "load": loaded - prepared, "restart": self._clock.now() - loaded},
        )

    def is_running(self, booted: Booted) -> bool:
        """Whether the machine still is in this boot; wait while the machine restarts. BootFailed without an answer."""
        return self._contact().boot_id == booted.seen.boot_id

    def console(self) -> str:
        """Return the end of the console's output; empty where it is not recorded."""
        return self._control.console()

    def end(self) -> Seen:
        """Return the machine to its default kernel, verify it, and remove schedlab's files from the machine.

        Returns the running system; CannotRunHere when it is not the system that :meth:`begin` saw, in this process or
        in a process that was killed.
        """
        try:
            seen = self._contact()
        except BootFailed as error:
            raise CannotRunHere(error.reason, where=self._where, todo=SWITCH) from error
        recorded = self._recorded()
        if machine.is_under_test(seen):
            seen = self._return(seen)
        now = [seen.release, seen.command_line]
        if recorded and now != recorded:
            raise CannotRunHere(
                f"the machine runs {' with '.join(now)} in place of its default kernel, {' with '.join(recorded)}",
                where=self._where,
                todo="look at the default entry of its boot loader, which schedlab does not change",
            )
        self.clean()
        return seen

    def clean(self) -> None:
        """Remove schedlab's files and links from the machine."""
        links = f'for link in /lib/modules/*; do case "$(readlink "$link")" in {FOLDER}/*) rm "$link";; esac; done'
        self._do(f"[ ! -e {UNDO} ] || sh {UNDO}", timeout=LOADING)
        # The parent folder goes too, unless an agent has its journal there.
        self._do(f"{links}; rm -rf {FOLDER}; rmdir {PARENTS} 2>/dev/null || true")

    def _contact(self) -> Seen:
        """Return the running system; wait for a machine that restarts, and switch a machine that froze off and on.

        BootFailed when it does not answer.
        """
        if (seen := self._answer()) is None:
            tail = self._control.console()
            why = f"the machine did not answer for {self._limit:g} s"
            if self._control.power is None:
                raise BootFailed(why, tail)
            try:
                self._control.power()
            except CannotRunHere as error:
                raise BootFailed(f"{why}; switching it off and on failed ({error.what})", tail) from error
            if (seen := self._answer()) is None:
                raise BootFailed(f"{why}, and not after it was switched off and on", tail)
        machine.require_other_machine(seen, self._where)
        return seen

    def _answer(self) -> Seen | None:
        """Return the running system as soon as the machine answers; None if it does not before the limit."""
        deadline, answer = self._clock.now() + self._limit, ANSWER
        while (seen := self._ask(answer)) is None and self._clock.now() <= deadline:
            answer = min(PATIENCE * answer, LONGEST_ANSWER)
            self._clock.sleep(POLL)
        return seen

    def _ask(self, answer: float) -> Seen | None:
        try:
            return machine.seen(self._shell, answer)
        except Unreachable:
            self._shell.drop()
            return None

    def _wait(self, wanted: Wanted) -> Seen | None:
        """Wait until the restart is over; return what the machine shows at the end, None for no answer."""
        self._shell.drop()
        deadline, answer = self._clock.now() + self._limit, ANSWER
        self._clock.sleep(STOPPING)
        while not is_over(seen := self._ask(answer), wanted) and self._clock.now() < deadline:
            if seen is None:
                answer = min(PATIENCE * answer, LONGEST_ANSWER)
            self._clock.sleep(POLL)
        return seen

    def _after_failure(self, seen: Seen | None, wanted: Wanted, why: str) -> tuple[str, str]:
        """Bring a machine that does not answer back to its default kernel; return reason and console."""
        tail = self._control.console()
        if state(seen, wanted) is not State.SILENT:
            return why, tail
        how = "its guard restarted it"
        if self._control.power is not None:
            try:
                self._control.power()
                how = "it was switched off and on"
            except CannotRunHere as error:
                how = f"switching it off and on failed ({error.what}), and its guard restarted it"
        back = self._wait(wanted)
        after = f"; {how}" if back is not None else "; it has not come back"
        return why + after, tail

    def _return(self, seen: Seen) -> Seen:
        """Restart into the default kernel; CannotRunHere when that fails."""
        self._send_program()
        self._request(f"reboot --boot-id {seen.boot_id}")
        wanted = Wanted(seen.boot_id, None, "")
        now = self._wait(wanted)
        if now is None or state(now, wanted) is not State.DEFAULT:
            raise CannotRunHere(
                f"the machine did not return to its default kernel within {self._limit:g} s",
                where=self._where,
                todo=SWITCH,
            )
        return now

    def _send_program(self) -> None:
        self._do(f"mkdir -p {FOLDER} && chmod 700 {FOLDER}")
        # A new file: the kernel refuses to write a program that runs.
        script = f"cat > {FOLDER}/new && chmod 700 {FOLDER}/new && mv {FOLDER}/new {PROGRAM}"
        self._send(script, self._schedload)

    def _deliver(self, kernel: Kernel) -> tuple[str, Sequence[str]]:
        """Send a kernel's files once; return the paths of the image and of the parts of the initial file system."""
        default = self.default
        if kernel.image is None:
            image, initrd = default.image(kernel.release), default.initrd(kernel.release)
            assert image is not None
            return image, ([initrd] if initrd else [])
        initrd = default.initrd(default.seen.release)
        assert initrd is not None
        place = f"{FOLDER}/{kernel.image.sha256[:16]}"
        if place not in self._sent:
            self._do(f"mkdir -p {place}/modules")
            self._send(f"cat > {place}/image", kernel.image.path.read_bytes())
            modules = b""
            if folder := delivery.modules_folder(kernel.image):
                packed = delivery.modules(kernel.image, folder, [*default.modules, default.root_type])
                modules = packed.initial
                if kernel.release not in default.installed:
                    self._send(f"tar -xzf - -C {place}/modules", packed.everything)
                    self._do(f"ln -s {place}/modules /lib/modules/{kernel.release}")
            self._send(f"cat > {place}/initial", modules)
            self._sent.add(place)
        return f"{place}/image", [initrd, f"{place}/initial"]

    def _load(self, leaves: Seen, image: str, initrds: Sequence[str], command_line: str) -> None:
        if self._loader is not None:
            parts = [*initrds, f"{FOLDER}/guard"] if initrds else []
            self._send(f"cat > {UNDO}", f"{self._loader.clean()}\n".encode())
            self._do(self._loader.prepare(image, parts, command_line), timeout=LOADING)
            return
        initrd = f"--initrd {FOLDER}/initrd" if initrds else ""
        if initrds:
            self._do(f"cat {' '.join(initrds)} {FOLDER}/guard > {FOLDER}/initrd")
        line = shlex.quote(command_line)
        self._request(f"load --boot-id {leaves.boot_id} --image {image} {initrd} --command-line {line}", LOADING)

    def _request(self, arguments: str, timeout: float = 60.0) -> None:
        self._do(f"{PROGRAM} boot {arguments}", timeout=timeout)

    def _send(self, script: str, data: bytes) -> None:
        self._do(script, data, LOADING)

    def _do(self, script: str, data: bytes = b"", timeout: float = 60.0) -> Done:
        """Run a script that must succeed; CannotRunHere with its last error line."""
        done = self._shell.run(script, data, timeout)
        if done.status != 0:
            lines = done.errors.strip().splitlines()
            reason = lines[-1] if lines else f"status {done.status}: {script}"
            todo = "log in there as the same user, and check its rights and the free space"
            raise CannotRunHere(reason, where=self._where, todo=todo)
        return done
