"""Undoing dead runs with a shell script, for a machine where schedlab cannot run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedlab.files.scratch import GROUP, SEGMENT
from schedlab.tunables import mounts
from schedlab.tunables.journal.recovery import PendingJournal, pending

_HEAD = r"""#!/bin/sh
# Restores the kernel tunables that ended schedlab runs changed and did not restore.
# Needs root. Values that another program has changed since then stay. Safe to run twice.
set -u
status=0

# shows TEXT: whether $file shows this text, as a whole or as a word
shows() {
    case $form in
        whole) [ "$(tr -s ' \t\n' '   ' < "$file" | sed 's/^ //; s/ $//')" = "$1" ] ;;
        word) tr -s ' \t' '\n\n' < "$file" | grep -qxF -e "$1" ;;
    esac
}

# put_back FORM FILE ORIGINAL SHOWN... -- OURS...: write ORIGINAL to FILE if FILE shows one of OURS, and none of SHOWN
put_back() {
    form=$1 file=$2 original=$3
    shift 3
    if [ ! -e "$file" ]; then
        echo "gone: $file"
        return
    fi
    while [ "$1" != -- ]; do
        if shows "$1"; then
            echo "already $original: $file"
            return
        fi
        shift
    done
    shift
    for ours in "$@"; do
        if [ "$ours" = any ] || shows "$ours"; then
            if printf '%s\n' "$original" > "$file"; then
                echo "put back $original: $file"
            else
                echo "FAILED to put back $original: $file" >&2
                status=1
            fi
            return
        fi
    done
    echo "left at $(cat "$file"), which another process set (before the run: $original): $file" >&2
    status=1
}
"""


def undo_script(directory: Path) -> str:
    """Return a POSIX shell script that undoes the changes of dead runs of `directory`, last written first.

    The script names live runs and damaged journals in comments, and does not change their values. The script prints a
    message if there is nothing to undo.
    """
    journals = pending(directory)
    parts = [_HEAD, *(_section(journal) for journal in reversed(journals))]
    if any(_in_debugfs(value) for journal in journals for value in journal.values):
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
    lines = [_line(value) for value in reversed(journal.values)]
    boot_id = journal.opened.get("boot_id")
    if lines and boot_id and journal.opened["root"] == "/":
        test = f'[ "$(cat /proc/sys/kernel/random/boot_id)" = {shlex.quote(boot_id)} ]'
        otherwise = "    echo 'booted since the run: the boot has reset its values'"
        lines = [f"if {test}; then", *(f"    {line}" for line in lines), "else", otherwise, "fi"]
    return "\n".join(["", title, *fault, *lines, *map(_removal, reversed(journal.made))])


def _line(value: Mapping[str, Any]) -> str:
    original = value["original"]
    ours = [text for each in value["ours"] for text in each["shown"]] if value["steady"] else ["any"]
    words = [value["form"], value["path"], original["write"], *original["shown"], "--", *ours]
    return "put_back " + " ".join(shlex.quote(word) for word in words)


def _in_debugfs(value: Mapping[str, Any]) -> bool:
    return Path(value["path"]).is_relative_to(mounts.DEBUGFS)


def _removal(resource: Mapping[str, str]) -> str:
    if resource["what"] == SEGMENT:
        return f"ipcrm --shmem-key {int(resource['name']) & 0xFFFFFFFF:#x} 2>/dev/null"
    folder = shlex.quote(resource["name"])
    if resource["what"] == GROUP:
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
