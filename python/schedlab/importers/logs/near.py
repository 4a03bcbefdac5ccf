"""Output for people of tools whose output for scripts is read: what to ask the tool for instead."""

from __future__ import annotations

import re

_ADVICE = (
    (r"^\[ ID\] Interval +Transfer", "iperf3's output for people", "run it with --json"),
    (r"^ +Time \(mean ± σ\):|^ +Time \(abs ≡\):", "hyperfine's output for people", "run it with --export-json FILE"),
    (r"^-{8,} benchmark.*: \d+ tests? -{8,}$", "pytest-benchmark's table", "run pytest with --benchmark-json FILE"),
    (
        r"\A\s*(?P<page>[\w.+:@-]+\(\d\w*\))\s{2,}\S.*\s{2,}(?P=page)\s*$",
        "a manual page",
        "import what the tool printed; the examples of its manual are nobody's results",
    ),
    (r"^.*\bsec/op\b.*\bvs base\b", "a comparison by benchstat", "import what 'go test -bench' printed instead"),
)


def advice(text: str) -> tuple[str, str] | None:
    """What a text is, and what to import in its place; None for any other text."""
    found = ((what, todo) for pattern, what, todo in _ADVICE if re.search(pattern, text, re.MULTILINE))
    return next(found, None)
