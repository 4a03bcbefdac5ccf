"""Real A/A runs: the run's own blocks through ``judge``, and the same trials in time order as "A…A then B…B"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benches.study import rules
from benches.study.arrange import apart, in_blocks
from benches.study.false_alarms import ALPHA
from benches.study.ours import judged
from benches.study.recorded import Recording, campaigns, recordings

from schedlab.analysis.verdicts import Options

DESIGNS = (8, 20)


@dataclass(frozen=True)
class Alarms:
    """Number of campaigns of a recorded run that each rule called better or worse."""

    blocks: int
    campaigns: int
    ours: int
    welch: int
    star_2018: int
    star_2024: int


def alarms(source: Recording, blocks: int) -> Alarms:
    """Divide the run into successive campaigns of this many blocks, and count."""
    visits, control_first = campaigns(source, blocks)
    ours = judged(*in_blocks(visits, control_first), Options(ALPHA))
    a, b = apart(visits)
    calls = (ours.called, rules.welch(a, b), rules.star_2018(a, b), rules.star_2024(a, b))
    return Alarms(blocks, len(visits), *(int(called.sum()) for called in calls))


def study() -> Iterator[tuple[Recording, list[Alarms]]]:
    """Every recording: cut into small and larger campaigns, and whole."""
    for source in recordings():
        yield source, [alarms(source, blocks) for blocks in (*DESIGNS, source.blocks)]
