"""Replies of an agent: what is accepted, and that everything else is garbled."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedlab.tunables.journal import client, frames, replies
from schedlab.tunables.journal.client import BadReply, Client, Lost, Refusal
from schedlab.tunables.journal.frames import Body, Declined, Garbled, Reply
from schedlab.workloads import launcher

OUTCOME = {"how": "left", "name": "sched.x", "path": "/x", "text": "left at 7"}
FILES = {"files": {"/proc/stat": "cpu 1"}, "errors": {"/proc/x": 2}}
USAGE = dict.fromkeys(
    ("user_us", "system_us", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"), 0
)
REPORT = USAGE | {"elapsed_ns": 5, "exit_code": 0, "signal": None, "timed_out": False}
FACTS = {
    "protocol": replies.PROTOCOL,
    "version": "1.0", "checksum": 1, "boot_id": "b", "uid": 0, "machine": "x86_64", "release": "6.12", "hostname": "h",
    "cpus": 2, "ticks_per_second": 100, "pid": 7, "journals": "/var/lib",
}  # fmt: skip
WRITTEN = {"name": "a", "place": 0, "path": "/a", "error": None, "shown": "1"}


def framed(content: object, number: int = 1) -> bytes:
    """Return the bytes of a reply."""
    return json.dumps({"id": number, "ok": content}).encode()


def decoded(content: object, kind: type[Body]) -> Body:
    """Return the content of a reply of one kind."""
    return Reply.of(framed(content)).content(kind)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (replies.Nothing, {}),
        (replies.Facts, FACTS),
        (replies.Files, FILES),
        (replies.Errors, {"errors": {"/x": 13}}),
        (replies.Found, {"paths": {"sh": "/bin/sh"}}),
        (replies.Holder, {"holder": None}),
        (replies.Holder, {"holder": "process 7"}),
        (replies.Outcomes, {"outcomes": [OUTCOME]}),
        (replies.Put, {"writes": 2, "left": [OUTCOME]}),
        (replies.AllWritten, {"written": [WRITTEN]}),
    ],
)
def test_the_content_of_a_reply_is_its_fields(kind: type[Body], content: dict[str, object]) -> None:
    reply = decoded(content, kind)
    assert isinstance(reply, kind)
    assert reply.model_fields_set == content.keys()
    with pytest.raises(Garbled, match="not the expected reply"):
        decoded(content | {"more": 1}, kind)
    for name in content:
        with pytest.raises(Garbled, match=name):
            decoded({key: value for key, value in content.items() if key != name}, kind)
        with pytest.raises(Garbled, match=name):
            decoded(content | {name: [[]]}, kind)


@pytest.mark.parametrize(("how", "is_leftover"), [("left", True), ("failed", True), ("damaged", True)])
@pytest.mark.parametrize(("other", "is_other"), [("restored", False), ("removed", False), ("rebooted", False)])
def test_outcomes_that_are_not_as_before_are_leftovers(how: str, is_leftover: bool, other: str, is_other: bool) -> None:
    reply = decoded({"outcomes": [OUTCOME | {"how": how}, OUTCOME | {"how": other}]}, replies.Outcomes)
    assert isinstance(reply, replies.Outcomes)
    assert [each.is_leftover for each in reply.outcomes] == [is_leftover, is_other]
    assert str(reply.outcomes[0]) == "left at 7"


def test_contents_are_bytes_of_texts_or_of_hexadecimal_digits() -> None:
    reply = decoded({"files": {"/a": "é\n", "/b": {"hex": "ff00"}}, "errors": {}}, replies.Files)
    assert isinstance(reply, replies.Files)
    assert reply.files == {"/a": "é\n".encode(), "/b": b"\xff\x00"}


@pytest.mark.parametrize("content", [5, None, [], {"hex": "xy"}, {"hex": "abc"}, {"hex": 5}, {"hex": "00", "x": 1}, {}])
def test_other_contents_are_garbled(content: object) -> None:
    with pytest.raises(Garbled, match=r"files\./a"):
        decoded({"files": {"/a": content}, "errors": {}}, replies.Files)


@pytest.mark.parametrize(
    "path",
    [
        "x",
        "../x",
        "/../x",
        "/x/../../y",
        "/x/..",
        "/be\nfore",
        "/\x00",
        f"/{'x' * 256}",
        f"/{'x/' * 2048}",
        "",
        "/",
        "//",
    ],
)
def test_a_path_that_could_leave_its_folder_is_garbled(path: str) -> None:
    for content in ({"files": {path: "x"}, "errors": {}}, {"files": {}, "errors": {path: 2}}):
        with pytest.raises(Garbled, match="is not a path of a file"):
            decoded(content, replies.Files)


@pytest.mark.parametrize("path", [f"/{'x' * 255}", "/..x", "/x..", "/proc/a b", f"/{'x/' * 2046}x"])
def test_other_paths_are_accepted(path: str) -> None:
    assert decoded({"files": {path: "x"}, "errors": {}}, replies.Files)


@pytest.mark.parametrize("paths", [("/x", "/x/y"), ("/x/y/z", "/x"), ("/x/y", "/x/y/"), ("/a/b/c", "/a/b/d", "/a")])
def test_a_file_is_not_a_folder_too(paths: tuple[str, ...]) -> None:
    with pytest.raises(Garbled, match="is a file and a folder"):
        decoded({"files": dict.fromkeys(paths, ""), "errors": {}}, replies.Files)


def test_files_are_written_below_the_folder(tmp_path: Path) -> None:
    reply = decoded({"files": {"/a/b/c": "1", "/a/b/d": "2", "/e": "3"}, "errors": {}}, replies.Files)
    assert isinstance(reply, replies.Files)
    reply.write(tmp_path)
    reply.write(tmp_path)
    found = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"a/b/c": "1", "a/b/d": "2", "e": "3"}


@pytest.mark.parametrize(
    ("patterns", "fault"),
    [
        (["/proc/stat", "/proc/x"], ""),
        (["/proc/*"], ""),
        (["/p*c/st*", "/proc/x"], ""),
        (["/proc/stat"], "'/proc/x', a file that was not requested"),
        (["/*", "/proc/x"], "'/proc/stat', a file that was not requested"),
        (["/proc/st.t", "/proc/x"], "'/proc/stat', a file that was not requested"),
        (["/proc/*", "/other"], "nothing about '/other'"),
        (["/proc/*", "/oth*"], ""),
        ([], "'/proc/stat', a file that was not requested"),
    ],
)
def test_only_requested_files_are_answered(patterns: list[str], fault: str) -> None:
    reply = decoded(FILES, replies.Files)
    assert isinstance(reply, replies.Files)
    if not fault:
        reply.check(patterns)
        return
    with pytest.raises(Garbled) as raised:
        reply.check(patterns)
    assert str(raised.value) == fault


def test_the_agent_s_refusal_has_its_kind_and_text() -> None:
    reply = Reply.of(b'{"error": {"kind": "busy", "text": "wait"}, "id": 3}')
    assert reply.number == 3
    with pytest.raises(Declined, match="wait") as raised:
        reply.content(replies.Nothing)
    assert raised.value.kind == "busy"


def test_another_version_of_the_protocol_is_named() -> None:
    with pytest.raises(Garbled, match="version 99 of the agent's protocol"):
        decoded(FACTS | {"protocol": 99, "new": 1}, replies.Facts)


def test_the_limit_of_a_reply_is_the_output_of_a_trial_with_half_as_much_for_escapes() -> None:
    output = 2 * launcher.LARGEST_OUTPUT
    assert output < frames.LARGEST <= 1.5 * output
    lines = f"\x1b[1m{'x' * 60}\x1b[0m\n" * 100
    assert len(json.dumps(lines)) < 1.5 * len(lines)


def test_a_reply_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LARGEST", 1000)
    monkeypatch.setattr(frames, "LARGEST_STRUCTURE", 100)
    assert Reply.of(framed({"text": '"\\' * 100}))
    with pytest.raises(Garbled, match="more than"):
        Reply.of(framed({"text": "x" * 1000}))
    with pytest.raises(Garbled, match="too many parts"):
        Reply.of(framed({"text": [""] * 90}))


@pytest.mark.parametrize("text", ["", "5", "[]", "{}", "[" * 100_000, json.dumps(REPORT)[:-1]])
def test_an_incomplete_report_is_none(text: str) -> None:
    assert replies.Report.parse(text) is None


def test_a_report_may_lack_what_no_measurement_needs() -> None:
    report = replies.Report.parse(json.dumps(REPORT))
    assert report is not None
    assert (report.exit_code, report.signal, report.runs, report.sched) == (0, None, [], "")
    assert replies.Report.parse(json.dumps(REPORT | {"schema": 3, "attributes": {"cpus": [1]}})) is not None


@contextmanager
def answering(*lines: bytes, end: str = "cat >/dev/null") -> Iterator[Client]:
    """A client of an agent that prints these lines, whatever is asked."""
    script = f'printf "%s\\n" "$@"; {end}'
    argv = ["sh", "-c", script, "sh", *(line.decode() for line in lines)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    agent = Client(process, lambda: b"first\nlast words\n", "schedload", "/", "ssh:box")
    try:
        yield agent
    finally:
        agent.close()
    assert process.returncode is not None


def test_the_reply_to_an_interrupted_request_is_skipped() -> None:
    with answering(framed({"outcomes": []}, 0), framed({"holder": "me"})) as agent:
        assert agent.holder() == "me"
        assert agent.alive


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (framed({"holder": 5}), "which is not the expected reply (holder: "),
        (framed({"holder": None}, 2), "schedload answered request 2, which was not sent"),
        (b"noise", "schedload answered b'noise', which is not a reply (Invalid JSON"),
    ],
)
def test_a_false_reply_ends_the_connection_with_its_reason(line: bytes, reason: str) -> None:
    with answering(line) as agent:
        with pytest.raises(BadReply) as raised:
            agent.holder()
        assert reason in raised.value.what
        assert raised.value.where == "ssh:box"
        assert not agent.alive
        with pytest.raises(BadReply):
            agent.end()


def test_an_endless_reply_ends_the_connection() -> None:
    with answering(end="exec cat /dev/zero") as agent:
        with pytest.raises(BadReply):
            agent._ask("holder", replies.Holder, largest=1 << 20)
        assert agent._size <= (1 << 20) + (1 << 20)


def test_a_long_reply_may_precede_the_reply_to_the_next_request() -> None:
    run = framed({"text": "x" * 100_000})
    with answering(run, framed({"holder": "me"}, 2)) as agent:
        agent._last, agent._allowed = 1, 1 << 20  # a run was interrupted
        assert agent._ask("holder", replies.Holder, largest=1 << 10).holder == "me"


def test_the_agent_s_refusal_is_an_error_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "todo", {"busy": "wait for it"})
    with answering(b'{"error": {"kind": "busy", "text": "another run"}, "id": 1}') as agent:
        with pytest.raises(Refusal, match="another run") as raised:
            agent.holder()
        assert (raised.value.kind, raised.value.todo) == ("busy", "wait for it")
        assert agent.alive


def test_an_agent_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SILENT_SECONDS", 0.0)
    with answering(b"", end="trap '' TERM; exec sleep 600") as agent:
        agent._lines.clear()
        with pytest.raises(Lost, match="no answer in time"):
            agent._line(0.0, 1 << 20)
        with pytest.raises(Lost, match="no answer in time"):
            agent.end()


def test_a_lost_agent_is_lost_with_its_last_words() -> None:
    with answering(b"x", end="exit 3") as agent:
        agent._process.wait()
        agent._receive(1 << 20)
        with pytest.raises(Lost, match=r"is lost \(last words\)"):
            agent._receive(1 << 20)
