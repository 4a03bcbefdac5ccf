"""The answer about what keeps CPUs from being quiet, of a recorded machine and measurement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedlab.findings.quiet import Quiet, quiet, remedies
from schedlab.observe.quiet import Finding
from schedlab.report.answer import Answer
from schedlab.report.answers.quiet import compose
from schedlab.report.render import json as as_json
from schedlab.report.render.text import to_text
from schedlab.results.interruptions import Noise, noise_of
from tests.observe.quiet.test_findings import loud

RECORDED = Path(__file__).parent / "noise.json"


def measured() -> Noise:
    return noise_of(json.loads(RECORDED.read_text()), "host")


def answer(noise: Noise | None = None) -> Answer:
    return compose(quiet("host", loud(), noise))


def test_without_a_measurement_the_most_frequent_interruption_comes_first() -> None:
    rates = [each.per_second for each in remedies(loud())]
    known = [rate for rate in rates if rate is not None]
    assert known == sorted(known, reverse=True)
    assert rates[: len(known)] == known
    shown = answer()
    assert shown.sentences[0].text.endswith("the most frequent: tick (250 a second)")
    assert shown.commands[-1].command == "schedlab noise --cpus 3 --for 60s"


def test_with_a_measurement_the_largest_gain_comes_first() -> None:
    gains = [each.gain for each in remedies(loud(), measured())]
    known = [gain for gain in gains if gain is not None]
    assert known == sorted(known, reverse=True)
    assert gains[: len(known)] == known
    first = remedies(loud(), measured())[0]
    assert (first.subject, first.of_lost) == ("steal", pytest.approx(0.789, abs=0.001))
    shown = answer(measured())
    assert "the largest gain: steal, at most 6.62 % of the time (78.91 % of the lost time)" in shown.sentences[0].text
    assert [each.command for each in shown.commands][-1].startswith("schedlab try noise cpu=3 'cause=hrtimer watchdog")


def test_the_loop_of_the_measurement_is_no_use_of_its_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Finding("use", "CPU 3 was 99% busy"), Finding("tick", "the tick runs")]
    monkeypatch.setattr("schedlab.findings.quiet.findings", lambda _machine: found)
    assert {each.subject for each in remedies(loud())} == {"use", "tick"}
    assert {each.subject for each in remedies(loud(), measured(), meanwhile=True)} == {"tick"}


def test_every_finding_has_its_remedy_in_text_and_json() -> None:
    text = " ".join(to_text(answer(), 120).split())
    fields = json.loads(as_json.render(answer()))
    for each in fields["findings"]:
        assert each["text"] in text
        assert each["boot"] in text
    assert fields["boot_parameters"] in text


def test_a_quiet_cpu_has_nothing_to_mend() -> None:
    shown = compose(Quiet("host", [3], 2.0, [], "", is_measured=False))
    assert shown.sentences[0].text == "quiet, as far as settings and counters show"
    assert (shown.parts, shown.commands) == ([], [])
