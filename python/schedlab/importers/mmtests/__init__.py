"""Result trees of MMTests: ``run-mmtests.sh`` leaves them under ``work/log``; read as series of samples.

    path ──tree──▶ folders of logs ──workloads/*/mmtests.py──▶ rows ──read──▶ Import

The formats follow MMTests' benchmark scripts and the tools that they run. A row has the label of MMTests' report.
``docs/mmtests.md`` lists intended differences.
"""

from __future__ import annotations

from schedlab.importers.mmtests.tree import looks_like, read

__all__ = ["looks_like", "read"]
