"""The state of a machine that restarts, for every combination of what it shows."""

from __future__ import annotations

import pytest

from schedlab.targets.boots.machine import Seen, State, Wanted, fault, is_over, state

WANTED = Wanted(leaves="old", nonce="n1", release="6.12.1")
TO_DEFAULT = Wanted(leaves="old", nonce=None, release="6.1.0")

UNDER_TEST = Seen("new", "6.12.1", "quiet schedlab.boot=n1")
DEFAULT = Seen("new", "6.1.0", "quiet")
BEFORE = Seen("old", "6.1.0", "quiet")
STRANGER = Seen("new", "6.12.1", "quiet schedlab.boot=n2")


@pytest.mark.parametrize(
    ("seen", "expected", "over"),
    [
        (None, State.SILENT, False),
        (BEFORE, State.BEFORE, False),
        (UNDER_TEST, State.UNDER_TEST, True),
        (DEFAULT, State.DEFAULT, True),
        (STRANGER, State.STRANGER, True),
        # The boot that is left may itself be under test, with the nonce of an earlier request.
        (Seen("old", "6.12.1", "schedlab.boot=n0"), State.BEFORE, False),
    ],
)
def test_the_nonce_and_the_boot_name_the_running_system(seen: Seen | None, expected: State, over: bool) -> None:
    assert state(seen, WANTED) is expected
    assert is_over(seen, WANTED) is over


def test_the_wanted_system_is_no_fault() -> None:
    assert fault(UNDER_TEST, WANTED, 9) == ""
    assert fault(DEFAULT, TO_DEFAULT, 9) == ""


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (None, "did not answer within 9 s"),
        (BEFORE, "did not restart within 9 s"),
        (DEFAULT, "back on its default kernel 6.1.0"),
        (STRANGER, "of another run"),
        (Seen("new", "6.12.2", "schedlab.boot=n1"), "6.12.2 came up in place of 6.12.1"),
    ],
)
def test_every_other_system_is_a_fault_with_its_reason(seen: Seen | None, words: str) -> None:
    assert words in fault(seen, WANTED, 9)


def test_another_run_s_kernel_is_not_the_default_kernel() -> None:
    assert state(STRANGER, TO_DEFAULT) is State.STRANGER
    assert fault(STRANGER, TO_DEFAULT, 9)
