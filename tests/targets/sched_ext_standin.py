"""A stand-in for a kernel with sched_ext and its schedulers: files, a script, and a thread.

Only :class:`FakeKernel` acts like a kernel: after the end of the process that loaded a scheduler it removes the
scheduler. The script loads a scheduler, prints, and is ejected or misbehaves according to its arguments.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SCRIPT = r"""#!/bin/sh
# standin ROOT NAME HOW
root=$1 name=$2 how=$3 folder=$1/sys/kernel/sched_ext
put() { echo "$2" >"$folder/.$1"; mv "$folder/.$1" "$folder/$1"; }

[ "$(cat "$folder/state")" = disabled ] || { echo "Device or resource busy" >&2; exit 16; }
case $how in
refused) echo "libbpf: the verifier does not like it" >&2; exit 7 ;;
never) sleep 600 ;;
stubborn) trap '' INT TERM ;;
*) trap 'echo "EXIT: unregistered from user space"; exit 0' INT TERM ;;
esac

mkdir "$folder/root"
echo "$name" >"$folder/root/ops"
[ -e "$folder/enable_seq" ] && put enable_seq $(($(cat "$folder/enable_seq") + 1))
echo $$ >"$root/.loader"
mv "$root/.loader" "$root/loader"
echo "6,76,123455,-;sched_ext: BPF scheduler \"$name\" enabled" >>"$root/dev/kmsg"
put state enabled
echo "$name is up"
[ "$how" = chatty ] && yes "statistics" | head -c 3000000
[ "$how" = child ] && { sleep 600 & }

while :; do
    if [ -e "$root/eject" ]; then
        rm "$root/eject" "$root/loader"
        echo "3,77,123456,-;sched_ext: BPF scheduler \"$name\" disabled (runtime error)" >>"$root/dev/kmsg"
        echo "3,78,123457,-;sched_ext: $name: non-existent DSQ 0x1267" >>"$root/dev/kmsg"
        rm -r "$folder/root"
        put state disabled
        echo "DEBUG DUMP: a task was not run for 30 s" >&2
        exit 1
    fi
    [ -e "$root/leave" ] && { rm "$root/leave"; exit 3; }
    sleep 0.01
done
"""


ENABLED_BEFORE = 4
"""Number of schedulers loaded since boot."""


class FakeKernel:
    """A tree of files below ``root``. With ``keeps`` a scheduler outlives its process, like a pinned scheduler."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "sys/kernel/sched_ext"
        self.keeps = False
        self.folder.mkdir(parents=True)
        files = {"state": "disabled", "enable_seq": ENABLED_BEFORE, "nr_rejected": 0, "switch_all": 0}
        for name, text in files.items():
            (self.folder / name).write_text(f"{text}\n")
        (root / "dev").mkdir()
        (root / "dev/kmsg").write_text("6,1,2,-;sched_ext: of an earlier day\n")
        (root / "proc/sys/kernel").mkdir(parents=True)
        (root / "proc/sys/kernel/osrelease").write_text("6.12.1\n")
        self._script = root / "standin"
        self._script.write_text(SCRIPT)
        self._script.chmod(0o755)

    def standin(self, name: str = "simple", how: str = "well") -> list[str]:
        """Return a scheduler's command."""
        return [str(self._script), str(self.root), name, how]

    def line(self, name: str = "simple", how: str = "well") -> str:
        """Return a scheduler's command as one line."""
        return shlex.join(self.standin(name, how))

    def read(self, name: str) -> str:
        """Read a file of the kernel; empty if the file does not exist."""
        try:
            return (self.folder / name).read_text().strip()
        except FileNotFoundError:
            return ""

    def load(self, ops: str) -> None:
        """Load a scheduler as another user would."""
        (self.folder / "root").mkdir()
        (self.folder / "root/ops").write_text(f"{ops}\n")
        (self.folder / "enable_seq").write_text(f"{int(self.read('enable_seq')) + 1}\n")
        self._put("state", "enabled")

    def unload(self) -> None:
        """Remove the scheduler."""
        self._put("state", "disabling")
        with suppress(FileNotFoundError):
            (self.folder / "root/ops").unlink()
            (self.folder / "root").rmdir()
        self._put("state", "disabled")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Remove schedulers whose process has ended, during the block."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.005):
                with suppress(FileNotFoundError, ValueError):
                    loader = int((self.root / "loader").read_text())
                    if not self.keeps and not Path(f"/proc/{loader}").exists():
                        (self.root / "loader").unlink()
                        self.unload()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _put(self, name: str, text: str) -> None:
        (self.folder / f".{name}").write_text(f"{text}\n")
        (self.folder / f".{name}").rename(self.folder / name)
