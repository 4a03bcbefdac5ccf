"""Another machine that gives false answers: never a traceback, and no file outside the folder of its answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.errors import CannotRunHere, Exit
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.targets.protocol import MissingRequirement
from schedlab.targets.ssh.target import Remote
from schedlab.tunables.journal import client, frames, replies
from tests.targets.ssh import lying
from tests.tunables.fake_tree import build_fake_tree

TEXT = """
[experiment]
name = "lies"
question = "does a false answer end a run in order?"
[design]
blocks = 1
warmup = 0
control = false
[[variant]]
name = "base"
tunables = { "sched.migration_cost_ns" = 100000 }
[[workload]]
use = "command"
run = "true"
"""

EVIL = "schedlab-evil-file"

FRAMES = [
    "line = b'{}\\n'",
    "line = b'[]\\n'",
    "line = b'5\\n'",
    "line = b'null\\n'",
    "line = b'no JSON\\n'",
    "line = b'\\xff\\xfe\\n'",
    "line = b'[' * 100_000 + b'\\n'",
    "line = b'{\"id\":' * 100_000 + b'\\n'",
    "line = b'{\"id\": ' + b'9' * 5000 + b'}\\n'",
    "line = b'x' * 3_000_000 + b'\\n'",
    "del reply['id']",
    "del reply['ok']",
    "reply['id'] = str(reply['id'])",
    "reply['id'] = -1",
    "reply['id'] += 1",
    "reply['id'] = 1 << 70",
    "reply['id'] = float(reply['id'])",
    "reply['ok'] = []",
    "reply['ok'] = None",
    "reply['ok'] = 'yes'",
    "reply['more'] = 1",
    "reply['error'] = {'kind': 'usage', 'text': 'both'}",
    "del reply['ok']; reply['error'] = 'no'",
    "del reply['ok']; reply['error'] = {'text': 'no kind'}",
    "del reply['ok']; reply['error'] = {'kind': [], 'text': 'x'}",
    "del reply['ok']; reply['error'] = {'kind': 'usage', 'text': 5}",
    "ok['more'] = 1",
    "ok.pop(next(iter(ok)), None); ok['more'] = {}",
]
"""False answers to any request."""

OF_REQUESTS = {
    "hello": [
        "del ok['cpus']",
        "ok['cpus'] = '4'",
        "ok['cpus'] = 0",
        "ok['cpus'] = True",
        "ok['cpus'] = 1 << 40",
        "ok['uid'] = None",
        "ok['uid'] = -1",
        "ok['machine'] = ['x86_64']",
        "ok['release'] = {'hex': '00'}",
        "ok['release'] = 'x' * 100_000",
        "ok['protocol'] += 1",
        "ok['protocol'] = '4'",
        "ok['checksum'] = 'x'",
        "ok['journals'] = 'etc/../../evil'",
        "line = json.dumps(reply).replace(ok['boot_id'], '\\\\ud800').encode() + b'\\n'",
    ],
    "read": [
        "ok['files'] = []",
        "ok['errors'] = []",
        "del ok['errors']",
        "ok['files'] = {}; ok['errors'] = {}",
        "ok['files']['/etc/passwd'] = 'x'",
        "ok['files']['/../EVIL'] = 'x'",
        "ok['files']['/../../EVIL'] = 'x'",
        "ok['files']['/proc/../../../EVIL'] = 'x'",
        "ok['files']['../EVIL'] = 'x'",
        "ok['files']['/EVIL\\n'] = 'x'",
        "ok['files']['/' + 'x/' * 5000] = 'x'",
        "ok['files']['/' + 'x' * 300] = 'x'",
        "ok['files'] = {path: 5 for path in ok['files']} or {'/x': 5}",
        "ok['files'] = {path: None for path in ok['files']} or {'/x': None}",
        "ok['files'] = {path: {'hex': 'xy'} for path in ok['files']} or {'/x': {'hex': 'xy'}}",
        "ok['files'] = {path: {'hex': 'abc'} for path in ok['files']} or {'/x': {'hex': 'abc'}}",
        "ok['files'] = {path: {'hex': '00', 'more': 1} for path in ok['files']} or {'/x': {}}",
        "ok['errors']['/x'] = 'ENOENT'",
        "ok['errors']['/x'] = -1",
        "ok['errors']['/x'] = 1 << 70",
        "ok['files'] |= {path + '/x': 'x' for path in ok['files']} or {'/x': 'x', '/x/y': 'x'}",
    ],
    "find": [
        "ok['paths'] = []",
        "ok['paths'] = {name: 5 for name in ok['paths']} or {'x': 5}",
        "ok['paths'] = {name: '../x' for name in ok['paths']} or {'x': '../x'}",
        "ok['paths'] = {name: '/x/../y' for name in ok['paths']} or {'x': '/x/../y'}",
    ],
    "begin": [
        "ok['outcomes'] = {}",
        "ok['outcomes'] = ['x']",
        "ok['outcomes'] = [{'how': 'eaten', 'name': 'x', 'path': '/x', 'text': 'x'}]",
        "ok['outcomes'] = [{'how': 'left', 'name': 'x', 'path': '/x', 'text': 5}]",
        "ok['outcomes'] = [{'how': 'left', 'name': 'x', 'path': '/x'}]",
    ],
    "put": ["ok['writes'] = 'x'", "ok['writes'] = -1", "ok['left'] = {}", "ok['left'] = [5]"],
    "run": [
        "del ok['before']",
        "ok['status'] = '0'",
        "ok['status'] = 1 << 40",
        "ok['stdout'] = []",
        "ok['stdout'] = {'hex': '00'}",
        "ok['stderr'] = None",
        "ok['report'] = {}",
        "ok['started'] = 'now'",
        "ok['started'] = float('nan')",
        "ok['started'] = 1e308",
        "ok['elapsed'] = -1.0",
        "ok['elapsed'] = float('inf')",
        "ok['tree'] = []",
        "ok['tree']['user_us'] = -1",
        "ok['tree']['user_us'] = 1 << 70",
        "del ok['tree']['major_faults']",
        "ok['before'] = ok['before']['files']",
        "ok['before']['files']['/../EVIL'] = 'x'",
        "ok['after']['files']['/proc/EVIL'] = 'x'",
        "ok['after']['files']['/proc/stat'] = 'cpu x'",
        "ok['after']['files']['/proc/stat'] = 'cpu ' + '9' * 5000",
        "ok['before']['files']['/proc/loadavg'] = ''",
        "ok['before']['files']['/proc/loadavg'] = {'hex': 'ff'}",
        "ok['before'] = {'files': {}, 'errors': {}}",
        "ok['samples'] = {}",
        "ok['samples'] = [{'files': {'/x': '1'}, 'errors': {}}]",
        "ok['samples'] = [[]]",
        "ok['changed'] = {}",
        "ok['changed'] = [{'name': 'x', 'path': '/x', 'from': '1', 'to': 2, 'put_back': True}]",
        "ok['report'] = json.dumps(json.loads(ok['report']) | {'sched': 'nr_switches : x'})",
        "ok['report'] = json.dumps(json.loads(ok['report']) | {'sched': 'nr_switches : ' + '9' * 400})",
        "ok = reply['ok'] = {'skipped': True}",
    ],
}
"""False answers to the requests of a run."""

LIES = [(op, lie) for op in OF_REQUESTS for lie in OF_REQUESTS[op]] + [
    (op, lie) for op in ("hello", "run") for lie in FRAMES
]

PLACES = [Path(f"{folder}/{EVIL}") for folder in ("", "/dev", "/dev/shm", "/tmp")]
"""Files that paths with ``..`` would name."""


def measured(folder: Path) -> tuple[Sequence[MissingRequirement], str]:
    """Check, describe and measure the machine behind the stand-in, as a run does.

    Return the missing requirements, and the state of the measurement with the reason for another state than ok.
    """
    run_plan = plan(parse(TEXT, "x.toml"), 1, quick=False)
    with closing(Remote("box", build_fake_tree(folder / "tree", kernel="6.12.1").root)) as target:
        if missing := list(target.missing_requirements(run_plan)):
            return missing, ""
        target.fingerprint()
        with target.session(run_plan, 1) as session:
            session.put_in_place(run_plan.trials[0].variant)
            measurement = session.run(run_plan.trials[0])
            return [], f"{measurement.state} {measurement.reason}".strip()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small limits, so that endless answers end soon."""
    monkeypatch.setattr(client, "LARGEST", 1 << 20)
    monkeypatch.setattr(client, "LARGEST_SHORT", 1 << 20)


@pytest.mark.slow
def test_a_truthful_machine_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lying.install(tmp_path / "bin", monkeypatch)
    assert measured(tmp_path) == ([], "ok")


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("op", "lie"), LIES)
def test_a_false_answer_ends_the_command_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, op: str, lie: str
) -> None:
    lying.install(tmp_path / "bin", monkeypatch, **{op: lie.replace("EVIL", EVIL)})
    with pytest.raises(CannotRunHere) as raised:
        measured(tmp_path)
    assert raised.value.exit_code is Exit.CANNOT_RUN
    assert raised.value.where == "ssh:box"
    assert raised.value.what.startswith("the machine answered ")
    assert len(raised.value.what) < 1000
    assert not [place for place in PLACES if place.exists()]
    assert not list(Path("/dev/shm").glob(f"**/{EVIL}*"))


WRITINGS = ["", "x", "0-99999999999", "9" * 5000, "9.9" + "9" * 5000, "\\0", "1e999", "a:b\\n:\\n", "-1\\n" * 3]


@pytest.mark.slow
@pytest.mark.parametrize("text", WRITINGS)
@pytest.mark.parametrize("part", ["", "/proc/", "osrelease", "/cpu", "/sys/"])
def test_false_contents_of_files_end_with_a_sentence_or_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, text: str
) -> None:
    lie = f"ok['files'] = {{path: '{text}' if '{part}' in path else old for path, old in ok['files'].items()}}"
    lying.install(tmp_path / "bin", monkeypatch, read=lie)
    with suppress(CannotRunHere):
        missing, state = measured(tmp_path)
        assert missing or state == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("report", ["", "5", "[" * 100_000, '{"timed_out": 1}', "{}"])
def test_a_false_account_of_the_launcher_fails_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    lying.install(tmp_path / "bin", monkeypatch, run=f"ok['report'] = {report!r}")
    missing, state = measured(tmp_path)
    assert (missing, state.partition(" ")[0]) == ([], "failed")


@pytest.mark.slow
@pytest.mark.parametrize(("op", "lie"), [("hello", "ok['cpus'] = '4'"), ("read", "ok['files']['/../EVIL'] = 'x'")])
@pytest.mark.parametrize("words", [["doctor"], ["run", "FILE", "--dry-run"], ["run", "FILE"]])
def test_commands_end_with_the_exit_code_of_a_machine_that_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, op: str, lie: str, words: list[str]
) -> None:
    lying.install(tmp_path / "bin", monkeypatch, **{op: lie.replace("EVIL", EVIL)})
    file = tmp_path / "experiment.toml"
    file.write_text(TEXT)
    words = [str(file) if word == "FILE" else word for word in words]
    command = [sys.executable, "-m", "schedlab", *words, "--target", "ssh:box"]
    options = ["--store", str(tmp_path / "store")] if words[-1] == str(file) else []
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, env=os.environ)
    assert "Traceback" not in done.stdout + done.stderr
    assert "the machine answered" in done.stdout + done.stderr
    assert done.returncode == (0 if words == ["doctor"] and op == "hello" else Exit.CANNOT_RUN)
    assert not [place for place in PLACES if place.exists()]


KINDS = [kind for kind in vars(replies).values() if isinstance(kind, type) and issubclass(kind, frames.Body)]

FIELDS = sorted({name for kind in KINDS for name in kind.model_fields} | {"id", "ok", "error", "hex", "/x", "more"})

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(JSON, st.sampled_from(KINDS))
def test_no_json_is_more_than_garbled(value: object, kind: type[frames.Body]) -> None:
    with suppress(frames.Garbled, frames.Declined):
        frames.Reply.of(json.dumps({"id": 1, "ok": value}).encode()).content(kind)


@pytest.mark.slow
def test_what_a_silent_machine_has_undone_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lying.install(tmp_path / "bin", monkeypatch, end="sys.stdin.buffer.read()", recover="ok['outcomes'] = 5")
    monkeypatch.setattr(client, "ENDING_SECONDS", 0.2)
    run_plan = plan(parse(TEXT, "x.toml"), 1, quick=False)
    with closing(Remote("box", build_fake_tree(tmp_path / "tree", kernel="6.12.1").root)) as target:
        with target.session(run_plan, 1):
            pass
        (left,) = target.leftovers
    assert left.startswith("not known for all values: no answer in time; ")
