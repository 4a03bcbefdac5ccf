"""Any columns that netperf's ``-O``, ``-o`` and ``-k`` select are read or named."""

from __future__ import annotations

import pytest

from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import read, reading, text, values

TITLE = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET\n"
GIGABITS = """Throughput Throughput  Local      Remote     Local
           Units       Send       Recv       Transport
                       Throughput Throughput Retransmissions

12.62      10^9bits/s  12.60      12.59      7
"""


def printed(content: str) -> dict[str, tuple[float, str]]:
    return {
        samples.metric.name: (float(samples.values[-1]), samples.metric.unit)
        for samples in reading("netperf", content).samples
    }


def test_columns_for_people_are_read_by_their_headings() -> None:
    imported = read("netperf-selected.log")
    assert values(imported, "transactions", "netperf-rr", protocol="tcp") == [12016.621]
    assert [values(imported, f"latency{end}") for end in ("-min", "", "-max")] == [[24.0], [83.13], [1697.0]]
    assert not imported.notes


def test_groups_of_columns_are_one_test_and_other_columns_are_named() -> None:
    imported = read("netperf-selected-groups.log")
    assert values(imported, "throughput", "netperf", protocol="tcp") == [13236.53]
    assert (values(imported, "cpu-local"), values(imported, "demand-local")) == ([62.2], [0.77])
    assert {series.unit for series in imported.series if series.metric == "demand-local"} == {"us/KB"}
    assert any("left out, columns that are not read: Local CPU User %" in note for note in imported.notes)
    assert any("THROUGHPUT is assumed to be in Mbit/s" in note for note in imported.notes)


def test_rates_of_both_ends_have_the_unit_of_the_throughput() -> None:
    assert printed(TITLE + GIGABITS) == {
        "throughput": (12.62, "Gbit/s"), "sent": (12.60, "Gbit/s"), "received": (12.59, "Gbit/s"),
        "retransmits-local": (7.0, "segments"),
    }  # fmt: skip


def test_headings_without_their_blank_line_are_read() -> None:
    assert printed(TITLE + GIGABITS.replace("\n\n", "\n")) == printed(TITLE + GIGABITS)


@pytest.mark.parametrize("output", ["Transaction Rate Tran/s\n12657.975\n", "TRANSACTION_RATE=12657.975\n"])
def test_one_selected_column_is_enough(output: str) -> None:
    assert printed(TITLE.replace("STREAM", "REQUEST/RESPONSE") + output) == {
        "transactions": (12657.975, "transactions/s")
    }


def test_unknown_keys_are_named() -> None:
    reading_of_keys = reading("netperf", f"{TITLE}THROUGHPUT=5.0\nTHROUGHPUT_UNITS=10^6bits/s\nFUTURE_FIGURE=3.5\n")
    assert len(reading_of_keys.samples) == 1
    assert list(reading_of_keys.notes) == ["log:1: left out, columns that are not read: FUTURE_FIGURE"]


@pytest.mark.parametrize(
    "damaged",
    [
        GIGABITS.replace("      7\n", "\n"),
        GIGABITS.replace("  ", " "),
        GIGABITS.replace("12.60", "-----"),
        GIGABITS + "\n" + GIGABITS.replace("12.60", "-----"),
        "Test     Elapsed\nUUID     Time\n         (sec)\n\n548e034e 1.00\n",
    ],
)
def test_columns_that_cannot_be_read_are_refused_with_their_names(damaged: str) -> None:
    with pytest.raises(ImportProblem, match=r"netperf's selected columns cannot be read: (?:Throughput|Test UUID)"):
        reading("netperf", TITLE + damaged)


def test_a_classic_table_that_ends_early_is_still_called_cut_off() -> None:
    with pytest.raises(ImportProblem, match="cut off"):
        reading("netperf", "\n".join(text("netperf-udp-stream.log").split("\n")[:6]))
