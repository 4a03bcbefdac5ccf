"""What an experiment file says of built kernels: one variant a prefix, and the stack that attribution goes through."""

from __future__ import annotations

import json
from collections.abc import Sequence

from schedlab.kernelbuild.shelf import Record, called

_HEAD = """\
# Made by 'schedlab kernels build'. Name a machine to boot the kernels on, such as --target "vm:{base}@2x2/2".
[experiment]
name = {name}
question = "Which patch of the series makes a difference?"

[design]
blocks = 8

"""

_WORKLOAD = """
[[workload]]
use = "hackbench"
groups = [1, 4]
"""


def blocks(series: str, records: Sequence[Record]) -> str:
    """``[attribution]`` and ``[[variant]]`` for an experiment file, the base first.

    A gap keeps its variant: its trials fail with its reason, and the attribution tells which step spans it.
    """
    parts = []
    if len(records) > 1:
        stack = ", ".join(_quoted(record.prefix) for record in records)
        parts.append(f"[attribution]\nstack = [{stack}]\n")
    for record in records:
        gap = f"# A gap: {' '.join(record.reason.split())}\n" if record.reason else ""
        about = f"description = {_quoted(record.title)}\n" if record.title else ""
        kernel = _quoted(called(series, record.prefix))
        parts.append(f"{gap}[[variant]]\nname = {_quoted(record.prefix)}\n{about}kernel = {kernel}\n")
    return "\n".join(parts)


def experiment(series: str, records: Sequence[Record]) -> str:
    """A whole experiment file to start from, with a workload that is to be replaced by the one in question."""
    head = _HEAD.format(base=called(series, records[0].prefix), name=_quoted(series))
    return head + blocks(series, records) + _WORKLOAD


def _quoted(text: str) -> str:
    """A basic string of TOML: JSON's escapes are among its own."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
