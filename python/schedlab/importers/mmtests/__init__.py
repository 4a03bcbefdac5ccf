"""MMTests result trees: what ``run-mmtests.sh`` leaves under ``work/log``, read as series of samples.

    path ──tree──▶ folders of logs ──one module a benchmark──▶ rows ──reading──▶ Import

The formats are those of MMTests' own logs, learnt from its benchmark scripts and from the tools that they run; the
label of a row is the name that MMTests' report gives it. Where this reader differs on purpose: ``docs/mmtests.md``.
"""

from __future__ import annotations

from schedlab.importers.mmtests.reading import FORMAT, looks_like, read

__all__ = ["FORMAT", "looks_like", "read"]
