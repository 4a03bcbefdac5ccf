"""False alarms in recorded A/A runs: schedlab on the run's blocks, other rules on the trials as "A…A then B…B"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benches.study import rules
from benches.study.arrange import first_and_second_half, in_blocks
from benches.study.false_alarms import ALPHA
from benches.study.judging import judge_rows
from benches.study.recorded import Recording, campaigns, recordings

from schedlab.analysis.verdicts import Options

DESIGNS = (8, 20)


@dataclass(frozen=True)
class Alarms:
    """Number of campaigns of a recorded A/A run that each rule calls better or worse."""

    blocks: int
    campaigns: int
    schedlab: int
    welch: int
    star_2018: int
    star_2024: int


def alarms(source: Recording, blocks: int) -> Alarms:
    """Divide a recorded run into successive campaigns of ``blocks`` blocks; return each rule's false alarms."""
    visits, control_first = campaigns(source, blocks)
    verdicts = judge_rows(*in_blocks(visits, control_first), Options(ALPHA))
    a, b = first_and_second_half(visits)
    calls = (verdicts.called, rules.welch(a, b), rules.star_2018(a, b), rules.star_2024(a, b))
    return Alarms(blocks, len(visits), *(int(called.sum()) for called in calls))


def study() -> Iterator[tuple[Recording, list[Alarms]]]:
    """Yield each recording with its false alarms: in small campaigns, in larger campaigns, and as a single
    campaign."""
    for source in recordings():
        yield source, [alarms(source, blocks) for blocks in (*DESIGNS, source.blocks)]
