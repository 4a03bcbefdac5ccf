"""``schedlab noise``: options, formats, and measurements on this machine, whose figures no test compares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

from schedlab.files import folders
from schedlab.workloads.tools import SCHEDLOAD, need
from tests.cli.in_process import Schedlab, runner
from tests.targets.ssh import loopback
from tests.targets.vm.guest_files import require_guest

RECORDED = Path(__file__).parents[1] / "report" / "noise.json"

MOUNTED = """
set -e
mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
"""

TRACES = (
    MOUNTED
    + """
cd /sys/kernel/tracing/instances
live=schedlab-noise-$$-$(cut -d' ' -f22 /proc/$$/stat)
trap 'rmdir $live schedlab-noise-test-$$' EXIT
mkdir schedlab-noise-4194305-77 $live schedlab-noise-test-$$
"$1" noise --cpus "$2" --for 100ms > "$3"
ls -d schedlab-noise-4194305-* $live schedlab-noise-test-$$ 2> /dev/null || true
"""
)
"""Instances of a dead owner, of a live owner, and of another program; then a measurement. No process has the number
4194305: the largest is 4194304 (PID_MAX_LIMIT)."""

KILLED = (
    MOUNTED
    + """
cd /sys/kernel/tracing/instances
"$1" noise --cpus "$2" --for 1h > /dev/null &
owner=$!
while ! ls -d schedlab-noise-$owner-* > /dev/null 2>&1; do kill -0 $owner; sleep 0.01; done
child=$(cat /proc/$owner/task/$owner/children)
kill -9 $owner $child
wait $owner || true
while grep -qs "^State:.[^ZX]" /proc/$child/status; do sleep 0.01; done
ls -d schedlab-noise-$owner-*
"$1" noise --cpus "$2" --for 100ms > "$3"
ls -d schedlab-noise-$owner-* 2> /dev/null || true
"""
)


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def cpu() -> str:
    return str(max(os.sched_getaffinity(0)))


def require_tracefs() -> None:
    """Skip without the right to mount tracefs in a namespace of a process."""
    if os.geteuid() != 0:
        pytest.skip("needs root: an instance of the kernel's trace")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", MOUNTED], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"needs tracefs: {done.stderr.strip()}")


def in_namespace(script: str, document: Path) -> list[str]:
    """Run a script in a mount namespace with tracefs; return the lines of its output."""
    argv = ["unshare", "--mount", "sh", "-c", script, "sh", need(SCHEDLOAD), cpu(), str(document)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("form", ["text", "json", "html", "markdown"])
def test_a_stored_measurement_is_shown_in_each_format(schedlab: Schedlab, form: str, tmp_path: Path) -> None:
    output = tmp_path / "noise"
    done = schedlab("noise", "--read", RECORDED, "--format", form, "--output", output)
    assert done.code == 0, done.err
    assert "vmstat_update" in output.read_text()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([], "no CPUs are named"),
        (["--cpus", "0-"], "0-"),
        (["--cpus", "0", "--for", "10"], "10"),
        (["--cpus", "0", "--for", "2h"], "is not between 10ms and 1h"),
        (["--cpus", "0", "--threshold", "fast"], "--threshold"),
        (["--cpus", "0", "--priority", "rr:5"], "write fifo:1 to fifo:99"),
        (["--cpus", "0", "--priority", "fifo:100"], "write fifo:1 to fifo:99"),
        (["--cpus", "0", "--target", "box"], "name host, ssh:"),
        (["--cpus", "0", "--cmdline", "isolcpus=0"], "only a guest is booted with these parameters"),
        (["--cpus", "0", "--target", "vm:"], "names no kernel"),
        (["--read", __file__], "is not a measurement"),
    ],
)
def test_wrong_options_are_refused_with_the_remedy(schedlab: Schedlab, words: list[str], fault: str) -> None:
    done = schedlab("noise", *words)
    assert done.code == 2, done.err
    assert fault in done.words


def test_a_cpu_that_may_not_be_used_is_named(schedlab: Schedlab) -> None:
    done = schedlab("noise", "--cpus", "8191", "--for", "10ms", "--no-trace")
    assert done.code == 3
    assert "CPU 8191 cannot be used" in done.words


@pytest.mark.slow
def test_a_measurement_without_a_trace_needs_no_rights(schedlab: Schedlab) -> None:
    done = schedlab("noise", "--cpus", cpu(), "--for", "500ms", "--no-trace", "--threshold", "1us", "--format", "json")
    assert done.code == 0, done.err
    fields = json.loads(done.out)
    assert fields["attribution"] == "correlation"
    (measured,) = fields["cpus"]
    assert measured["cpu"] == int(cpu())
    assert {remedy["gain"] for remedy in fields["remedies"]} <= {None}
    assert "use" not in {remedy["subject"] for remedy in fields["remedies"]}
    assert measured["turns"] > 0
    assert measured["minimum_cycles"] > 0
    assert sum(number for _, _, number in measured["histogram"]) == measured["gaps"] - measured["lost"]
    assert [cause["name"] for cause in fields["causes"]] in (
        ["unexplained"],
        ["unexplained", "hypervisor"],
        ["hypervisor"],
        [],
    )


GAPS = [
    {
        "cpu": 0,
        "at_ns": 1000.0,
        "length_ns": 90.0,
        "main": 0,
        "parts": [(0, 1010.0, 1060.0), (1, 1020.0, 1030.0)],
        "rest": [(2, 40.0)],
        "senders": [(1, "task rustc on CPU 0 in rcu_core")],
    }
]


def test_the_gaps_are_a_trace_for_perfetto(schedlab: Schedlab, tmp_path: Path) -> None:
    stored, trace_file = tmp_path / "noise.json", tmp_path / "trace"
    stored.write_text(json.dumps(json.loads(RECORDED.read_text()) | {"gaps": GAPS}))
    done = schedlab("noise", "--read", stored, "--format", "perfetto", "--output", trace_file)
    assert done.code == 0, done.err
    trace = perfetto.Trace()
    trace.ParseFromString(trace_file.read_bytes())
    tracks = {packet.track_descriptor.name for packet in trace.packet if packet.HasField("track_descriptor")}
    assert tracks == {"Gaps", "CPU 0", "CPU 1"}
    of_cpu = [packet for packet in trace.packet if packet.trusted_packet_sequence_id == 2]
    names = {each.iid: each.name for packet in of_cpu for each in packet.interned_data.event_names}
    causes = [cause["name"] for cause in json.loads(RECORDED.read_text())["causes"]]
    start = min(cpu["start_ns"] for cpu in json.loads(RECORDED.read_text())["cpus"])
    start = json.loads(RECORDED.read_text())["cpus"][0]["start_ns"] - start
    events = [(packet.timestamp - start, packet.track_event) for packet in of_cpu if packet.HasField("track_event")]
    assert [(at, names.get(event.name_iid)) for at, event in events] == [
        (1000, f"gap: {causes[0]}"),
        (1010, causes[0]),
        (1020, causes[1]),
        (1030, None),
        (1060, None),
        (1090, None),
    ]
    (sender,) = events[2][1].debug_annotations
    assert (sender.name, sender.string_value) == ("sent by", "task rustc on CPU 0 in rcu_core")


def test_a_trace_needs_a_file_and_the_parts_of_all_gaps(schedlab: Schedlab, tmp_path: Path) -> None:
    done = schedlab("noise", "--read", RECORDED, "--format", "perfetto")
    assert done.code == 2
    assert "name its file with --output FILE" in done.words
    done = schedlab("noise", "--read", RECORDED, "--format", "perfetto", "--output", tmp_path / "trace")
    assert done.code == 2
    assert "does not contain the parts of its gaps" in done.words


@pytest.mark.slow
def test_a_guest_is_measured_with_its_boot_parameters(schedlab: Schedlab) -> None:
    require_guest("debian-6.12")
    words = ["--cpus", "1", "--for", "300ms", "--target", "vm:debian-6.12@1x2", "--cmdline", "isolcpus=1"]
    done = schedlab("noise", *words, "--format", "json")
    assert done.code == 0, done.err
    fields = json.loads(done.out)
    assert fields["target"] == "vm:debian-6.12@1x2"
    assert fields["tracing"]["traced"], fields["tracing"]["reason"]
    assert fields["tracing"]["requests"] is not None
    assert [cpu["cpu"] for cpu in fields["cpus"]] == [1]
    for gap in fields["worst"]:
        assert sum(part["ns"] for part in gap["parts"]) == pytest.approx(gap["length_ns"])


@pytest.mark.slow
def test_another_machine_is_measured_over_ssh(
    schedlab: Schedlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.require()
    # The command sets the variable for ssh; the test restores it.
    monkeypatch.setenv("SCHEDLAB_SSH_CONFIG", "")
    words = ["--cpus", cpu(), "--for", "500ms", "--no-trace", "--threshold", "1us", "--format", "json"]
    with loopback.server(tmp_path / "server") as server:
        done = schedlab("noise", *words, "--target", "ssh:box", "--ssh-config", server.config)
    assert done.code == 0, done.err
    fields = json.loads(done.out)
    assert fields["target"] == "ssh:box"
    assert fields["cpus"][0]["turns"] > 0


@pytest.mark.root
def test_a_trace_names_causes_whose_shares_sum_to_one(schedlab: Schedlab) -> None:
    require_tracefs()
    done = schedlab("noise", "--cpus", cpu(), "--for", "300ms", "--format", "json")
    assert done.code == 0, done.err
    fields = json.loads(done.out)
    assert fields["tracing"]["traced"], fields["tracing"]["reason"]
    assert "sched/sched_switch" in fields["tracing"]["events"]
    assert (fields["tracing"]["requests"] is None) == (fields["tracing"]["no_senders"] is not None)
    assert all(cause["count"] > 0 for cause in fields["causes"])
    assert all(cause["inclusive_total_ns"] >= cause["total_ns"] for cause in fields["causes"])
    if fields["causes"]:
        assert sum(cause["share"] for cause in fields["causes"]) == pytest.approx(1)
    for gap in fields["worst"]:
        assert sum(part["ns"] for part in gap["parts"]) == pytest.approx(gap["length_ns"])


@pytest.mark.root
def test_the_trace_of_a_dead_measurement_is_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    require_tracefs()
    names = in_namespace(TRACES, tmp_path / "noise.json")
    assert "schedlab-noise-4194305-77" not in names
    assert len(names) == 2
    removed = json.loads((tmp_path / "noise.json").read_text())["tracing"]["removed"]
    assert "schedlab-noise-4194305-77" in removed
    assert not set(names) & set(removed)


@pytest.mark.root
@pytest.mark.slow
def test_the_next_command_removes_the_trace_of_a_killed_measurement_also_without_tracefs(schedlab: Schedlab) -> None:
    require_tracefs()
    left = ["schedlab-noise-4194305-78", "schedlab-noise-4194305-78-requests"]
    folder = f"{MOUNTED} cd /sys/kernel/tracing/instances;"
    in_namespace(f"{folder} mkdir {' '.join(left)}", Path())
    record = folders.traces() / left[0]
    record.parent.mkdir()
    record.touch()
    schedlab("sim", "machines", "list")
    assert not record.exists()
    assert in_namespace(f"{folder} ls -d {' '.join(left)} 2> /dev/null || true", Path()) == []


@pytest.mark.root
@pytest.mark.slow
def test_a_measurement_records_its_trace_until_its_end(tmp_path: Path) -> None:
    require_tracefs()
    script = (
        MOUNTED
        + """
"$1" noise --cpus "$2" --for 1h > /dev/null &
owner=$!
while ! ls $SCHEDLAB_STATE/traces/* > /dev/null 2>&1; do kill -0 $owner; sleep 0.01; done
basename $SCHEDLAB_STATE/traces/schedlab-noise-$owner-*
kill $owner
wait $owner || true
ls $SCHEDLAB_STATE/traces
"""
    )
    assert len(in_namespace(script, tmp_path)) == 1


# How long the threads of a killed process keep its files open depends on the load.
@pytest.mark.verify
@pytest.mark.root
def test_the_trace_of_a_measurement_whose_processes_were_all_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    require_tracefs()
    names = in_namespace(KILLED, tmp_path / "noise.json")
    # Where the kernel records requests between CPUs there is a second instance.
    assert len(names) in (1, 2), names
    assert set(names) <= set(json.loads((tmp_path / "noise.json").read_text())["tracing"]["removed"])


@pytest.mark.root
def test_a_stopped_measurement_leaves_no_trace(tmp_path: Path) -> None:
    require_tracefs()
    script = (
        MOUNTED
        + """
    cd /sys/kernel/tracing/instances
    "$1" noise --cpus "$2" --for 1h > "$3" 2> /dev/null &
    owner=$!
    while ! ls -d schedlab-noise-$owner-* > /dev/null 2>&1; do kill -0 $owner; sleep 0.01; done
    kill -TERM $owner
    wait $owner && exit 9 || echo $?
    ls -d schedlab-noise-$owner-* 2> /dev/null || true
    """
    )
    assert in_namespace(script, tmp_path / "noise.json") == ["143"]


def test_start_up_does_not_import_the_answer() -> None:
    code = "import sys, schedlab.cli.noise_command; sys.exit('schedlab.results.interruptions' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
