"""``schedlab sim run --timeline``, read with the published definition of the format."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
from typer.testing import CliRunner

from schedlab.cli.app import app
from schedlab.files.output_file import OutputError
from schedlab.simulation.errors import Deadlock

HACKBENCH = ("hackbench", "groups=2", "fds=4", "loops=20", "--machine", "xeon-e5-2670v3")


def simulate(*words: object) -> Any:
    return CliRunner().invoke(app, ["sim", "run", *map(str, words)])


def read(path: Path) -> Any:
    trace = perfetto.Trace()
    trace.ParseFromString(path.read_bytes())
    assert trace.IsInitialized()
    return trace


def of_kind(trace: Any, kind: str) -> list[tuple[int, Any]]:
    """Return (CPU, event) of the kernel's events of a kind, ordered by time."""
    events = [
        (packet.ftrace_events.cpu, event)
        for packet in trace.packet
        for event in packet.ftrace_events.event
        if event.HasField(kind)
    ]
    return sorted(events, key=lambda each: each[1].timestamp)


def unknown(message: Any) -> list[int]:
    """Return the numbers of undefined fields at any depth of a message."""
    results = [field.field_number for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if hasattr(value, "append") or hasattr(value, "add") else [value]:
                results += unknown(each)
    return results


def test_slices_sum_to_the_busy_time_and_all_fields_are_defined(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    output = json.loads(simulate(*HACKBENCH, "--timeline", path, "--format", "json").stdout)
    trace = read(path)
    assert not unknown(trace)
    closed = output["ledger"]["closed_ns"]

    switches = defaultdict(list)
    for cpu, event in of_kind(trace, "sched_switch"):
        switches[cpu].append((event.timestamp, event.sched_switch))
    assert sum(map(len, switches.values())) == output["counters"]["switches"]
    wakeups = sum(value for name, value in output["counters"].items() if name.startswith("wakeups."))
    assert len(of_kind(trace, "sched_waking")) == wakeups

    names = {e.task_newtask.pid: e.task_newtask.comm for _, e in of_kind(trace, "task_newtask")}
    assert {"the main task", "receiver 0 of replica 0", "sender 3 of replica 1"} < set(names.values())
    assert {s.next_pid for each in switches.values() for _, s in each} - {0} <= set(names)

    kernel = kernel_slices(trace)
    for cpu, accounts in enumerate(output["ledger"]["cpus"]):
        slices, since, running = [], 0, 0
        for at, switch in switches[cpu]:
            assert switch.prev_pid == running
            slices.append((since, at, running))
            since, running = at, switch.next_pid
        slices.append((since, closed, running))
        in_tasks = sum(until - from_ for from_, until, pid in slices if pid)
        idle = [(from_, until) for from_, until, pid in slices if not pid]
        beside = sum(until - from_ for from_, until in kernel[cpu] if any(a <= from_ < b for a, b in idle))
        assert in_tasks + beside == closed - accounts["idle"]


def kernel_slices(trace: Any) -> dict[int, list[tuple[int, int]]]:
    """Return slices by CPU; the name of a track contains its CPU."""
    named = {p.track_descriptor.uuid: p.track_descriptor.name for p in trace.packet if p.HasField("track_descriptor")}
    track_of: dict[int, str] = {}
    begun: dict[int, int] = {}
    slices = defaultdict(list)
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        if packet.HasField("trace_packet_defaults"):
            assert packet.sequence_flags == perfetto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            track_of[sequence] = named[packet.trace_packet_defaults.track_event_defaults.track_uuid]
        kind = packet.track_event.type if packet.HasField("track_event") else None
        if kind == perfetto.TrackEvent.TYPE_SLICE_BEGIN:
            begun[sequence] = packet.timestamp
        elif kind == perfetto.TrackEvent.TYPE_SLICE_END:
            cpu = int(track_of[sequence].removeprefix("CPU "))
            slices[cpu].append((begun.pop(sequence), packet.timestamp))
    return slices


def test_a_timeline_does_not_change_the_outcome_and_is_deterministic(tmp_path: Path) -> None:
    without = simulate(*HACKBENCH, "--format", "json").stdout
    for name in ("one", "two"):
        assert simulate(*HACKBENCH, "--timeline", tmp_path / name, "--format", "json").stdout == without
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_timeline_that_cannot_be_written_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    done = simulate(*HACKBENCH, "--timeline", tmp_path / "nowhere" / "trace")
    assert isinstance(done.exception, OutputError)
    assert "nowhere does not exist" in str(done.exception)
    assert "with --timeline" in str(done.exception)
    assert "is a folder" in str(simulate(*HACKBENCH, "--timeline", tmp_path).exception)
    done = simulate(*HACKBENCH, "--timeline", "/dev/full")
    assert isinstance(done.exception, OutputError)
    assert "/dev/full: cannot be written: No space left on device" in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_a_failed_simulation_keeps_the_existing_file(tmp_path: Path) -> None:
    program, path = tmp_path / "stuck.json", tmp_path / "trace"
    program.write_text(
        '{"tasks": {"one": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m"}}}'
    )
    path.write_text("before")
    done = simulate("--program", program, "--machine", "rpi4b", "--timeline", path)
    assert isinstance(done.exception, Deadlock), done.exception
    assert path.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [program, path]


PEAK = """
import resource, sys
from pathlib import Path
from schedlab.simulation import texts
words = ["hackbench", "groups=2", "loops=1000000"]
request = texts.Request(
    words=words, file=None, machine="laptop-4", kernel=None, seed=0, tunables=[], command_line="", policy="other",
    priority=None, nice=0, slice=None, cpus=None, horizon=sys.argv[1], timeline=Path(sys.argv[2]),
)
texts.simulate(request)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_timeline(tmp_path: Path) -> None:
    def peak_kib(horizon: str) -> tuple[int, int]:
        path = tmp_path / horizon
        command = [sys.executable, "-c", PEAK, horizon, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return int(done.stdout), path.stat().st_size

    (short, small), (long, large) = peak_kib("100ms"), peak_kib("2s")
    # The start has more events than the rest.
    assert large > 10 * small
    # A timeline in memory would take at least its size in the file.
    assert (long - short) * 1024 < (large - small) / 4
    assert large - small > 4 << 20, "the difference is large enough to be measured"


@pytest.mark.parametrize("kernel", ["linux-2.5.59", "linux-6.12"])
def test_the_system_of_the_trace_is_labelled_as_simulated(tmp_path: Path, kernel: str) -> None:
    path = tmp_path / "trace"
    simulate(*HACKBENCH, "--kernel", kernel, "--timeline", path)
    (name,) = [p.system_info.utsname for p in read(path).packet if p.HasField("system_info")]
    assert (name.sysname, name.release, name.machine) == (
        "SIMULATED",
        f"simulated {kernel}",
        "simulated xeon-e5-2670v3",
    )
