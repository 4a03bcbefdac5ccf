"""The page: everything brought together, and put into the templates."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from schedlab.analysis.columns import Columns
from schedlab.analysis.counters import Change
from schedlab.analysis.warnings import Kind, Warning
from schedlab.findings import Findings
from schedlab.report import counters as counter_words
from schedlab.report import numbers, printed, telling
from schedlab.report.effects import explanation
from schedlab.report.html.counters import first_of, moved
from schedlab.report.html.forest import Bounded, axis
from schedlab.report.html.machine import facts
from schedlab.report.html.marks import marks
from schedlab.report.html.parts import Parts, parts
from schedlab.report.html.payload import payload, script_safe
from schedlab.report.html.prepared import prepared
from schedlab.report.html.repeat import files as experiment_files
from schedlab.report.html.response import responses
from schedlab.report.html.rows import compared, measure, rows
from schedlab.report.html.summary import WORDS, answers
from schedlab.report.verdict_words import heading_of_interval, word

SYMBOLS = {"better": "▲", "worse": "▼", "equivalent": "=", "inconclusive": "?"}
"""Beside each verdict's word and colour: neither ink nor eyes need tell colours apart."""

FEW = 8
"""Failed trials and the like that are shown unfolded."""


def render(
    findings: Findings,
    changes: Sequence[Change] | None = None,
    samples: Columns | None = None,
    store: Path | None = None,
    *,
    named: bool = False,
) -> str:
    """The whole report as one HTML file, which needs no other and no network.

    Args:
        findings: of one run or of several.
        changes: of all counters, from :func:`schedlab.findings.count`; None: none are shown.
        samples: of the findings' columns, from :func:`schedlab.store.columns.columns`; None: distributions are those of
            block means.
        store: named in the commands that repeat the report.
        named: whether the changes are of counters that were asked for by their names: then all are shown.
    """
    found = rows(findings)
    curves = responses(found)
    looks = marks(findings.columns)
    script = _text("report.js")
    # Printed tables have nothing to plot: their page is a tenth of the size.
    runtime, specifications = prepared() if found else ("", {})
    data = payload(found, curves, looks, samples, specifications)
    parted = parts(findings)
    return _environment().get_template("report.html.j2").render(
        findings=findings,
        rows=found,
        curves=curves,
        looks={look.name: look for look in looks},
        answers=answers(findings, compared(found)),
        compared=compared(found),
        axis=axis(findings.verdicts, findings.options.delta),
        parted=parted,
        parts_axis=axis(_bounds(parted), findings.options.delta),
        parts_explanation=explanation(findings),
        counted=None if changes is None else moved(changes, named=named),
        counters_named=named,
        counting=first_of(found),
        machine_facts=facts(findings.runs),
        warned=_by_kind(findings.warnings),
        commands=telling.repeat(findings, store),
        experiments=experiment_files(findings.runs),
        sampled=samples is not None,
        interval_heading=heading_of_interval(findings),
        style=Markup(_text("report.css")),
        data=Markup(script_safe(data)),
        runtime=Markup(runtime),
        script=Markup(script),
        policy=_policy(runtime, script),
    )  # fmt: skip


def _bounds(parted: Sequence[Parts]) -> Iterator[Bounded]:
    return (line.bounds for kind in parted for part in kind.parts for line in part.lines)


def _by_kind(warnings: Sequence[Warning]) -> dict[Kind, list[Warning]]:
    """In the order in which kinds first come: drift may be seen in a hundred rows, and is one thing to know."""
    kinds: dict[Kind, list[Warning]] = {}
    for warning in warnings:
        kinds.setdefault(warning.kind, []).append(warning)
    return kinds


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("schedlab.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "figure": numbers.figure,
        "change": numbers.change,
        "interval": numbers.interval,
        "p": numbers.p_value,
        "remarks": lambda verdict, findings: word(verdict, findings)[1],
        "machine": telling.machine,
        "began": telling.began,
        "parameters": telling.spelled,
        "measure": measure,
        "column_line": telling.column_line,
    }
    environment.globals |= {
        "symbols": SYMBOLS,
        "words": WORDS,
        "counter": counter_words,
        "printed": printed,
        "few": FEW,
    }
    return environment


def _policy(*scripts: str) -> str:
    """A content security policy under which the page runs its own scripts, fetches nothing and evaluates no text."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}"


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")
