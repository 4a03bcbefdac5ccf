"""Texts as people write them: which run belongs to which column, or why the text is refused.

``{N}`` stands for a run of hackbench that took N seconds.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem

Columns = dict[str, list[float]]


def text(template: str) -> str:
    """Return the text with a run of hackbench in the place of each ``{SECONDS}``."""

    def run(match: re.Match[str]) -> str:
        groups = match["groups"] or "2"
        tasks = int(groups) * 40
        return (
            f"Running in process mode with {groups} groups using 40 file descriptors each (== {tasks} tasks)\n"
            f"Each sender will pass 200 messages of 100 bytes\nTime: {match['seconds']}"
        )

    return re.sub(r"\{(?:(?P<groups>\d+)x)?(?P<seconds>[\d.]+)\}", run, template) + "\n"


TWO = {"6.12.8": [1.1, 1.2], "6.13.0": [2.1, 2.2]}
READ: dict[str, tuple[str, Columns]] = {
    "kernels and counters": ("6.12.8\nrun 1\n{1.1}\nrun 2\n{1.2}\n6.13.0\nrun 1\n{2.1}\nrun 2\n{2.2}", TWO),
    "kernels and numbers": ("6.12.8\n1\n{1.1}\n2\n{1.2}\n6.13.0\n1\n{2.1}\n2\n{2.2}", TWO),
    "a counter beside the name": (
        "vanilla run 1\n{1.1}\nvanilla run 2\n{1.2}\npatched run 1\n{2.1}\npatched run 2\n{2.2}",
        {"vanilla": [1.1, 1.2], "patched": [2.1, 2.2]},
    ),
    "a number in brackets": (
        "[1/2] vanilla\n{1.1}\n[2/2] vanilla\n{1.2}\n[1/2] patched\n{2.1}\n[2/2] patched\n{2.2}",
        {"vanilla": [1.1, 1.2], "patched": [2.1, 2.2]},
    ),
    "times beside the name": (
        "2026-01-05 10:00:01 vanilla\n{1.1}\n2026-01-05 10:01:01 vanilla\n{1.2}\n2026-01-05 11:00:01 patched\n{2.1}",
        {"vanilla": [1.1, 1.2], "patched": [2.1]},
    ),
    "German counters": ("Durchlauf 1\n{1.1}\nDurchlauf 2\n{1.2}", {"results": [1.1, 1.2]}),
    "a loop in a trace": (
        "+ for i in 1 2\n+ i=1\n+ hackbench -g 2\n{1.1}\n+ for i in 1 2\n+ i=2\n+ hackbench -g 2\n{1.2}",
        {"results": [1.1, 1.2]},
    ),
    "commands that change nothing": (
        "$ hackbench -g 2\n{1.1}\n$ sleep 10\n$ hackbench -g 2\n{1.2}", {"results": [1.1, 1.2]}),
    "builds of two days": (
        "tip/sched/core 2025-12-01:\n{1.1}\ntip/sched/core 2025-12-08:\n{2.1}",
        {"tip/sched/core 2025-12-01": [1.1], "tip/sched/core 2025-12-08": [2.1]},
    ),
    "shares": ("shares 10:90\n{1.1}\nshares 50:50\n{2.1}", {"shares 10:90": [1.1], "shares 50:50": [2.1]}),
    "samples of two lengths": ("sample 1000 us\n{1.1}\nsample 4000 us\n{2.1}",
        {"sample 1000 us": [1.1], "sample 4000 us": [2.1]}),
    "a number as value": ("1\n{1.1}\n{1.2}\n2\n{2.1}\n{2.2}\n4\n{3.1}\n{3.2}",
        {"1": [1.1, 1.2], "2": [2.1, 2.2], "4": [3.1, 3.2]}),
    "hosts": (
        "me@old:~$ hackbench -g 2\n{1.1}\nme@new:~$ hackbench -g 2\n{2.1}",
        {"me@old:~$ hackbench -g 2": [1.1], "me@new:~$ hackbench -g 2": [2.1]},
    ),
    "paths of the tool": (
        "$ ./old/hackbench -g 2\n{1.1}\n$ ./new/hackbench -g 2\n{2.1}",
        {"./old/hackbench -g 2": [1.1], "./new/hackbench -g 2": [2.1]},
    ),
    "uname": (
        "Linux box 6.12.8-arch1-1 #1 SMP PREEMPT_DYNAMIC Thu, 02 Jan 2026 22:52:26 +0000 x86_64 GNU/Linux\n{1.1}\n"
        "Linux box 6.13.0-arch1-1 #1 SMP PREEMPT_DYNAMIC Thu, 09 Jan 2026 22:52:26 +0000 x86_64 GNU/Linux\n{2.1}",
        {"6.12.8-arch1-1": [1.1], "6.13.0-arch1-1": [2.1]},
    ),
    "headings like a patch": ("--- 6.12.8 ---\n{1.1}\n{1.2}\n+++ 6.13.0\n{2.1}\n{2.2}", TWO),
    "headings like a mail": ("From: 6.12.8\nSubject: 6.12.8\n6.12.8:\n{1.1}\n{1.2}\n6.13.0:\n{2.1}\n{2.2}", TWO),
    "code blocks of Markdown": (
        "6.12.8:\n\n    " + "{1.1}\n{1.2}".replace("\n", "\n    ") + "\n\n6.13.0:\n\n    " + "{2.1}\n{2.2}",
        TWO,
    ),
    "blocks of Jira": ("{noformat}\n{1.1}\n{noformat}\n{noformat}\n{1.2}\n{noformat}", {"results": [1.1, 1.2]}),
    "HTML": ("<h3>6.12.8</h3>\n<pre>\n{1.1}\n{1.2}\n</pre>\n<h3>6.13.0</h3>\n<pre>\n{2.1}\n{2.2}\n</pre>", TWO),
    "names of tests": ("8 groups\n{8x1.1}\n16 groups\n{16x2.1}", {"results": [1.1, 2.1]}),
    "tests outside, kernels inside": (
        "hackbench 8\n6.12.8\n{8x1.1}\n6.13.0\n{8x2.1}\nhackbench 16\n6.12.8\n{16x1.2}\n6.13.0\n{16x2.2}",
        TWO,
    ),
    "one run without a heading": ("{1.1}\npatched:\n{2.1}\npatched:\n{2.2}", {"results": [1.1], "patched": [2.1, 2.2]}),
    "every run has its heading": ("CFS\n{1.1}\nCFS\n{1.2}\nEEVDF\n{2.1}\nEEVDF\n{2.2}",
        {"CFS": [1.1, 1.2], "EEVDF": [2.1, 2.2]}),
    "unknown tags": ("<vanilla>\n{1.1}\n<patched>\n{2.1}", {"vanilla": [1.1], "patched": [2.1]}),
    "names of fences": ("```vanilla\n{1.1}\n```\n```patched\n{2.1}\n```", {"vanilla": [1.1], "patched": [2.1]}),
    "names of blocks": (
        "{code:title=before}\n{1.1}\n{code}\n{code:title=after}\n{2.1}\n{code}",
        {"{code:title=before}": [1.1], "{code:title=after}": [2.1]},
    ),
    "builds by time": (
        "kernel-20250101-120000\n{1.1}\nkernel-20250108-120000\n{2.1}",
        {"kernel-20250101-120000": [1.1], "kernel-20250108-120000": [2.1]},
    ),
    "a setting in a trace": (
        "+ SLICE=3000000\n{1.1}\n+ SLICE=700000\n{2.1}",
        {"SLICE=3000000": [1.1], "SLICE=700000": [2.1]},
    ),
    "values in a trace": ("+ echo 0\n{1.1}\n+ echo 1\n{2.1}", {"echo 0": [1.1], "echo 1": [2.1]}),
    "builds of one release": (
        "Linux a 6.12.0+ #1 SMP Mon Jan 5 10:00:00 CET 2026 x86_64\n{1.1}\n"
        "Linux a 6.12.0+ #1 SMP Tue Jan 6 10:00:00 CET 2026 x86_64\n{2.1}",
        {"6.12.0+": [1.1], "6.12.0+ (2)": [2.1]},
    ),
    "versions of perf": (
        "perf version 6.12.1\n{1.1}\nperf version 6.13.0\n{2.1}",
        {"perf version 6.12.1": [1.1], "perf version 6.13.0": [2.1]},
    ),
    "disjoint rows of two kernels": ("vanilla\n{4x1.1}\npatched\n{8x2.1}", {"vanilla": [1.1], "patched": [2.1]}),
}  # fmt: skip

REFUSED = {
    "a figure of the run above": "on 6.12.8\n{1.1}\ntook 12.3 s\n{1.2}\ntook 13.1 s\n{1.3}",
    "temperatures": (
        "6.12.8:\nCPU temp: 45 C\n{1.1}\nCPU temp: 46 C\n{1.2}\n"
        "6.13.0:\nCPU temp: 44 C\n{2.1}\nCPU temp: 48 C\n{2.2}"
    ),
    "a separator": "6.12.8:\n{1.1}\ncooling down\n{1.2}\ncooling down\n{1.3}",
    "a message": "6.12.8:\n{1.1}\ntee: log: No space left on device\n{1.2}\n6.13.0:\n{2.1}",
    "results of a reply": "A wrote:\n> before:\n> Time: 1.1\n> after:\n> Time: 2.1\n\nbefore:\n{3.1}\nafter:\n{4.1}",
    "a patch between": (
        "{1.1}\n\ndiff --git a/kernel/x.c b/kernel/x.c\n--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1 +1 @@\n"
        "-a\n+b\n\n{2.1}"
    ),
    "a warm-up": "6.12.8:\nwarmup run\n{9.1}\nrun 1\n{1.1}\nrun 2\n{1.2}",
    "an outlier": "run 1\n{1.1}\nrun 2 (outlier, cron was running)\n{9.1}\nrun 3\n{1.2}",
    "captions": "Results of hackbench on EPYC\n{1.1}\n(6.12.8)\n{2.1}\n(6.13.0)",
    "a heading within a shortened run": "6.12\n{1.1}\n6.13\nTime: 2.2",
    "counters that begin again": "Iteration 1\n{1.1}\nIteration 2\n{1.2}\nIteration 1\n{2.1}\nIteration 2\n{2.2}",
    "two numbers": "0\n{1.1}\n1\n{2.1}",
    "unknown counters": "Probe 1:\n{1.1}\nProbe 2:\n{1.2}\nProbe 3:\n{1.3}",
    "a heading beside output": "before:\n{1.1}\nafter: {2.1}",
    "a sentence": "before:\n{1.1}\nThe same with the patch, on the other machine.\n{2.1}",
}  # fmt: skip


def read(tmp_path: Path, content: str) -> Columns:
    path = tmp_path / "results.txt"
    path.write_text(content)
    columns: Columns = {}
    for series in detect.read(path).series:
        columns.setdefault(series.column, []).extend(float(value) for value in series.values)
    return columns


@pytest.mark.parametrize("name", READ)
def test_every_run_is_in_its_column(name: str, tmp_path: Path) -> None:
    template, expected = READ[name]
    assert read(tmp_path, text(template)) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_certain_is_refused_with_a_remedy(name: str, tmp_path: Path) -> None:
    with pytest.raises(ImportProblem) as problem:
        read(tmp_path, text(REFUSED[name]))
    assert "--column NAME=FIRST-LAST" in (problem.value.todo or ""), problem.value
