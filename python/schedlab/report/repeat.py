"""The commands that repeat a run and its report: experiment file, random seed, and options."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from schedlab.findings.run import Findings
from schedlab.store.columns import Chosen
from schedlab.store.location import Location
from schedlab.store.reader import Run

KINDS = ("host", "ssh", "sim", "vm")
"""Beginnings of the targets that ``--target`` accepts."""


def commands(findings: Findings, store: Location | None) -> list[str]:
    """Return the commands that measure or import the columns again and print this report.

    A temporary store has ended when they are used, so that only the run can be repeated.
    """
    if store and store.temporary:
        return [shlex.join(run_command(findings.run))]
    at = ["--store", str(store)] if store else []
    run, columns = findings.run, findings.columns
    if len(findings.runs) == 1 and findings.paired:
        file = shlex.quote(file_name(run))
        return [
            f"{shlex.join(['schedlab', 'store', 'show', str(run.id), '--file', *at])} > {file}",
            shlex.join(run_command(run)),
        ]
    into = ["--to", str(store)] if store else []
    imported = [column for column in columns if column.stored and not column.run.design.paired]
    paths = dict.fromkeys(column.run.experiment_path for column in imported)
    imports = [shlex.join(["schedlab", "import", path, *into]) for path in paths]
    if len(findings.runs) == 1 and columns[0].stored:
        return [*imports, shlex.join(["schedlab", "report", str(run.id), *at])]
    return [*imports, shlex.join(["schedlab", "compare", *_words(columns), *at])]


def _words(columns: Sequence[Chosen]) -> list[str]:
    """Return the arguments of ``compare`` for these columns. A path includes all columns of its results."""
    words = []
    for column in columns:
        if not column.stored:
            words.append(column.run.experiment_path)
        elif column.run.design.paired:
            words.append(f"{column.run.id}:{column.variant}")
        else:
            words.append(str(column.run.id))
    return list(dict.fromkeys(words))


def file_name(run: Run) -> str:
    """Return the experiment file's name without its folder."""
    return PurePath(run.experiment_path).name or "experiment.toml"


def run_command(run: Run) -> list[str]:
    """Return the arguments of ``schedlab run FILE --quick --target sim:kunpeng920 --seed 5``."""
    quick = ["--quick"] if run.quick else []
    return ["schedlab", "run", file_name(run), *quick, *_target(run), *_sysroot(run), "--seed", str(run.seed)]


def run_again(run: Run, store: Location | None) -> list[str]:
    """Return the arguments that measure the experiment again into the same store, in full size and another order."""
    at = ["--store", str(store)] if store and not store.temporary else []
    return ["schedlab", "run", file_name(run), *_target(run), *_sysroot(run), *at]


def _target(run: Run) -> list[str]:
    """Return ``--target``, unless the file names the same target or the option does not accept it.

    A machine model of the user is a path in the file and a name in the run. Then the file's target is used.
    """
    try:
        in_file = _target_name(tomllib.loads(run.experiment_file).get("target", {}))
    except tomllib.TOMLDecodeError:
        in_file = ""  # a report must not depend on the file
    kind, own_model = run.target.partition(":")[0], ".toml" in in_file
    same = in_file == run.target or (own_model and in_file.partition(":")[0] == kind)
    return [] if same or kind not in KINDS else ["--target", run.target]


def _target_name(table: Mapping[str, Any]) -> str:
    """Return the name of a ``[target]`` table's target."""
    kind = table.get("kind", "host")
    if kind == "sim":
        return "sim:" + "/".join(table[part] for part in ("machine", "kernel") if part in table)
    if kind == "ssh":
        return f"ssh:{table.get('host')}"
    return f"vm:{table['kernel']}@{table.get('topology')}" if kind == "vm" else "host"


def _sysroot(run: Run) -> list[str]:
    root = run.fingerprint.get("tunables", "/")
    return [] if root == "/" else ["--sysroot", root]
