"""Undoing dead runs with a shell script, for a machine where schedlab cannot run."""

from __future__ import annotations

import shlex
from pathlib import Path

from schedlab.tunables import mounts
from schedlab.tunables.codecs import codec

from .journal_file import Made
from .recovery import PendingJournal, pending
from .resources import GROUP, SEGMENT
from .undo import History

# Each function `read_NAME` prints a file's current value in the form that the codec NAME encodes.
_HEAD = r"""#!/bin/sh
# Restores the kernel tunables that ended schedlab runs changed and did not restore.
# Needs root. Values that another program has changed since then stay. Safe to run twice.
set -u
status=0

read_plain() { tr -s ' \t\n' '   ' < "$1" | sed 's/^ //; s/ $//'; }
read_yesno() { case $(read_plain "$1") in [Yy1] | true) echo 1 ;; *) echo 0 ;; esac; }
read_choice() { sed -n 's/.*[[(]\([^])]*\)[])].*/\1/p' "$1"; }
read_feature() { tr -s ' \t' '\n\n' < "$1" | grep -x -e "$2" -e "NO_$2"; }

# put_back HOW FILE ORIGINAL OURS...: write ORIGINAL to FILE if it contains one of OURS
put_back() {
    how=$1 file=$2 original=$3
    shift 3
    if [ ! -e "$file" ]; then
        echo "gone: $file"
        return
    fi
    case $how in
        feature:*) now=$(read_feature "$file" "${how#feature:}") ;;
        *) now=$("read_$how" "$file") ;;
    esac
    if [ "$now" = "$original" ]; then
        echo "already $original: $file"
        return
    fi
    for ours in "$@"; do
        if [ "$ours" = "$now" ] || [ "$ours" = any ]; then
            if printf '%s\n' "$original" > "$file"; then
                echo "put back $original: $file"
            else
                echo "FAILED to put back $original: $file" >&2
                status=1
            fi
            return
        fi
    done
    echo "left at $now, which another process set (before the run: $original): $file" >&2
    status=1
}
"""
_SHELL_READERS = {"yesno": "yesno", "choice": "choice"}


def undo_script(directory: Path) -> str:
    """Return a POSIX shell script that undoes the changes of dead runs of `directory`, last written first.

    The script names live runs and damaged journals in comments, and does not change their values. The script prints a
    message if there is nothing to undo.
    """
    journals = pending(directory)
    parts = [_HEAD, *(_section(journal) for journal in reversed(journals))]
    if any(history.in_debugfs for journal in journals for history in journal.histories):
        parts.insert(1, _mount_lines())
        parts.append(_unmount_lines())
    if not journals:
        parts.append("echo 'nothing to put back'")
    return "\n".join([*parts, "exit $status", ""])


def _section(journal: PendingJournal) -> str:
    title = _comment(f"run {journal.run_id}, journal {journal.path}")
    fault = [_comment(f"NOT undone completely: {journal.fault}"), "status=1"] if journal.fault else []
    if journal.live:
        return "\n".join(["", title, _comment("still running: the run restores its values when it ends")])
    lines = [_line(history) for history in reversed(journal.histories)]
    opened = journal.opened
    if lines and opened is not None and opened.boot_id and opened.root == "/":
        test = f'[ "$(cat /proc/sys/kernel/random/boot_id)" = {shlex.quote(opened.boot_id)} ]'
        otherwise = "    echo 'booted since the run: the boot has reset its values'"
        lines = [f"if {test}; then", *(f"    {line}" for line in lines), "else", otherwise, "fi"]
    return "\n".join(["", title, *fault, *lines, *map(_removal, journal.made)])


def _line(history: History) -> str:
    format_ = codec(history.codec)
    base = history.codec.partition(":")[0]
    reader = history.codec if base == "feature" else _SHELL_READERS.get(base, "plain")
    ours = sorted(format_.encode(value) for value in history.possible) if format_.steady else ["any"]
    words = [reader, str(history.path), format_.encode(history.original), *ours]
    return "put_back " + " ".join(shlex.quote(word) for word in words)


def _removal(resource: Made) -> str:
    if resource.what == SEGMENT:
        return f"ipcrm --shmem-key {int(resource.name) & 0xFFFFFFFF:#x} 2>/dev/null"
    folder = shlex.quote(resource.name)
    if resource.what == GROUP:
        return f"if [ -d {folder} ]; then rmdir {folder} || status=1; fi"
    return f"if [ -d {folder} ] && [ ! -L {folder} ] && [ -O {folder} ]; then rm -rf {folder}; fi"


def _mount_lines() -> str:
    where = mounts.DEBUGFS
    return f"grep -q ' {where} debugfs ' /proc/mounts || mount -t debugfs {mounts.SOURCE} {where} || status=1\n"


def _unmount_lines() -> str:
    where = mounts.DEBUGFS
    return f"\nif grep -q '^{mounts.SOURCE} {where} debugfs ' /proc/mounts; then umount {where}; fi"


def _comment(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.splitlines())
