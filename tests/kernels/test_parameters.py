"""A kernel's messages about unknown boot parameters; the lines are from Debian's 6.12 and 6.1."""

from __future__ import annotations

import pytest

from schedlab.kernels.parameters import not_understood

LOG = """\
[    0.000000] Kernel command line: console=ttyS0 isolcpu=1 foo.bar=1 isolcpus=99 schedstats=enabel panic=ab preempt=ful
[    0.000000] Unsupported mitigations=of, system may still be vulnerable
[    0.000000] Housekeeping: nohz_full= or isolcpus= incorrect CPU range
[    0.000000] Malformed early option 'maxcpus'
[    0.000000] Unable to parse schedstats=
[    0.000000] Booting kernel: `ab' invalid for parameter `panic'
[    0.000000] Unknown kernel command line parameters "splash isolcpu=1 isolcpus=99 schedstats=enabel preempt=ful", \
will be passed to user space.
[    0.000000] random: crng init done
"""


@pytest.mark.parametrize(
    ("cmdline", "ignored"),
    [
        ("schedstats=enable nohz_full=1 console=ttyS0", []),
        ("isolcpu=1", ["isolcpu=1"]),
        ("nohz_full=1 isolcpus=99 schedstats=enabel", ["isolcpus=99", "schedstats=enabel"]),
        ("panic=ab mitigations=of maxcpus=x", ["panic=ab", "mitigations=of", "maxcpus=x"]),
        ("", []),
    ],
)
def test_unknown_words_are_found_in_the_log(cmdline: str, ignored: list[str]) -> None:
    assert not_understood(LOG, cmdline) == ignored


def test_a_truncated_list_in_the_log_is_read_to_its_end() -> None:
    log = '[    0.000000] Unknown kernel command line parameters "splash isolcpu=1 no\n[    0.1] next\n'
    assert not_understood(log, "isolcpu=1 next") == ["isolcpu=1"]
