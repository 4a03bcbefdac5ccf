"""What changed while a trial ran: the kernel's own counters, read before and after it.

    probe ──▶ Counters ──▶ snapshot (raw bytes) … trial … snapshot ──▶ delta: name → number

One source a file; each says which names it gives. All of them count the whole machine, not the trial's processes
alone, except ``tree.*`` and ``process.*``.
"""

from schedlab.observe.counters.collection import Counters, Snapshot

__all__ = ["Counters", "Snapshot"]
