"""A process is identified by host, boot, PID namespace, PID and start time."""

from __future__ import annotations

import os
import subprocess
import sys

from schedlab.files.processes import has_ended, is_gone, is_running, namespace, start_of, this_process


def test_a_process_is_known_to_have_ended_only_on_its_own_machine() -> None:
    host, boot, namespace, pid, started = this_process().split()
    assert not has_ended(this_process())
    assert has_ended(f"{host} {boot} {namespace} {pid} {int(started) + 1}")
    assert has_ended(f"{host} another-boot {namespace} {pid} {started}")
    assert has_ended(None)
    assert not has_ended(f"elsewhere another-boot {namespace} {pid} {started}")
    assert not has_ended(f"{host} {boot} pid:[1] {pid} 1")


def test_a_process_is_known_to_run_only_on_its_own_machine() -> None:
    host, boot, namespace, pid, started = this_process().split()
    assert is_running(this_process())
    assert not is_running(f"{host} {boot} {namespace} {pid} {int(started) + 1}")
    assert not is_running(f"elsewhere {boot} {namespace} {pid} {started}")
    assert not is_running(f"{host} {boot} pid:[1] {pid} {started}")
    assert not is_running(None)


def test_a_process_that_is_not_yet_reaped_has_no_start_time() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        start = start_of(child.pid)
        assert start is not None
        assert not is_gone(child.pid, start, namespace())
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert start_of(child.pid) is None
        assert is_gone(child.pid, start, namespace())


def test_a_process_name_with_parentheses_does_not_shift_the_fields() -> None:
    name = "a) S 1 2 3 (b"
    program = f"import ctypes; ctypes.CDLL(None).prctl(15, {name.encode()!r}); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert (start_of(child.pid) or 0) >= int(this_process().split()[4])
        child.communicate(b"\n")
