"""The order of Debian versions, by Debian's policy and compared with dpkg if dpkg is installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab.kernels.debian import compare_versions

RISING = [
    "6.1.27~rc1-1", "6.1.27-1~bpo11+1", "6.1.27-1", "6.1.27-1+b1", "6.1.27a-1", "6.1.27+x-1", "6.1.172-1", "6.12.9-1",
    "6.12.10-1~deb12u1", "6.12.10-1", "1:6.1-1",
]  # fmt: skip
VERSIONS = st.text(st.sampled_from("019a~+."), max_size=5).map(lambda suffix: f"6{suffix}")


@pytest.mark.parametrize("at", range(len(RISING) - 1))
def test_versions_are_ordered_by_debian_s_rules(at: int) -> None:
    low, high = RISING[at : at + 2]
    assert (compare_versions(low, high), compare_versions(high, low), compare_versions(low, low)) == (-1, 1, 0)


def test_a_missing_revision_equals_revision_0() -> None:
    assert compare_versions("6.1", "6.1-0") == compare_versions("6.1-", "6.1-0") == 0
    assert compare_versions("6.1-0~", "6.1") == -1


@pytest.mark.slow
@settings(max_examples=60)
@given(first=VERSIONS, second=VERSIONS, revisions=st.tuples(VERSIONS, VERSIONS) | st.none())
def test_dpkg_agrees(first: str, second: str, revisions: tuple[str, str] | None) -> None:
    if shutil.which("dpkg") is None:
        pytest.skip("dpkg is not installed: nothing to compare with")
    if revisions is not None:
        first, second = f"{first}-{revisions[0]}", f"{second}-{revisions[1]}"
    relation = {-1: "lt", 0: "eq", 1: "gt"}[compare_versions(first, second)]
    assert subprocess.run(["dpkg", "--compare-versions", first, relation, second], check=False).returncode == 0
