"""Any bytes are read, or refused by an ImportProblem."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedlab.importers import detect
from schedlab.importers.logs.reading import readers
from schedlab.importers.outline import outline
from schedlab.report.imports import to_json
from schedlab.results.imported import ImportProblem
from schedlab.store.imports import read_into_memory
from schedlab.workloads.log_reader import Log, Reader
from tests.importers.logs.recorded import SAMPLES

pytestmark = pytest.mark.slow

FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file())
CONTENTS = {path.name: path.read_bytes() for path in FILES}

HOSTILE = [
    b"9" * 5000, b"1e999", b"-", b"nan", b"", b"\xff\xfe", b"\0", b"{", b"}", b"[[[[", b'"', b"\\ud800", b"\n" * 50,
    b"\x1b[31m", b"0", b"-1.00", b"<not counted>", b",,,,", b"Time:", b"9999999999999999999", b"1" * 400 + b".5",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Draw a sample with pieces removed, inserted, doubled or truncated."""
    content = draw(st.sampled_from(sorted(CONTENTS.values())))[:6000]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 60))
        kind = draw(st.sampled_from(["cut off", "cut out", "put in", "double", "replace", "number"]))
        if kind == "cut off":
            content = content[:at]
        elif kind == "cut out":
            content = content[:at] + content[at + length :]
        elif kind == "put in":
            content = content[:at] + draw(st.binary(max_size=20)) + content[at:]
        elif kind == "double":
            content = content[: at + length] + content[at:]
        elif kind == "replace":
            content = content[:at] + draw(st.sampled_from(HOSTILE)) + content[at + length :]
        else:
            digit = next((i for i in range(at, len(content)) if content[i : i + 1].isdigit()), at)
            content = content[:digit] + draw(st.sampled_from(HOSTILE)) + content[digit + 1 :]
    return content


def require_read_or_problem(read: Callable[[], object]) -> None:
    """Check that nothing but an ImportProblem is raised, and that its text can be printed."""
    message = ""
    try:
        read()
    except ImportProblem as problem:
        message = str(problem)
        assert problem.what  # noqa: PT017 - success and refusal are both valid, and a refusal needs a message
    message.encode()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=mutated())
def test_a_mutated_log_is_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.log"
    path.write_bytes(content)

    def read() -> None:
        imports = detect.read_all([path])
        assert all(len(each.values) and np.isfinite(each.values).all() for result in imports for each in result.series)
        to_json([outline(result) for result in imports]).encode()

    require_read_or_problem(read)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=mutated())
def test_the_import_of_a_mutated_log_can_be_stored(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "kept.log"
    path.write_bytes(content)
    require_read_or_problem(lambda: read_into_memory(detect.read_all([path])))


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=mutated())
def test_every_reader_reads_or_refuses_a_mutated_log(reader: Reader, content: bytes) -> None:
    text = content.decode(errors="replace").replace("\0", " ")
    reader.recognises(text)
    require_read_or_problem(lambda: reader.read(Log("log", text, "log")))


@settings(max_examples=50, deadline=None)
@given(content=st.binary(max_size=300))
def test_random_bytes_are_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(content)
    require_read_or_problem(lambda: detect.read(path))


LONG = {
    "blank lines": "\n" * 200_000,
    "blanks": " " * 200_000,
    "digits": "1" * 200_000,
    "numbers": "1 " * 100_000,
    "commas": "a," * 100_000,
    "lines of numbers": "1.5 2.5\n" * 50_000,
    "headings": "# Running 'sched/pipe' benchmark:\n" * 20_000,
    "times": "Time: 1.000\n" * 50_000,
    "brackets": "[" * 100_000,
    "objects": '{"start": {"version": "iperf 3.12"}}' * 5_000,
    "rows": "variant,value\n" + "a,1\n" * 50_000,
    "dashes": "-" * 100_000 + "\n",
    "before": "before " * 30_000,
    "slashes": "Benchmark" + "A/" * 50_000 + " 1 2 ns/op",
}


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_is_read_or_refused(reader: Reader, kind: str) -> None:
    reader.recognises(LONG[kind][:65_536])
    require_read_or_problem(lambda: reader.read(Log("log", LONG[kind], "log")))


@pytest.mark.verify
@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
@pytest.mark.parametrize("kind", LONG)
def test_no_text_takes_a_reader_quadratic_time(reader: Reader, kind: str) -> None:
    # The bound is wide, since a reader of quadratic time takes minutes here and a linear reader less than a second.
    began = time.process_time()
    test_a_long_text_is_read_or_refused(reader, kind)
    assert time.process_time() - began < 20
