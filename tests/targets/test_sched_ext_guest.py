"""The shell functions for sched_ext in guests, under each supported shell, with files that replace a kernel's files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedlab.targets.sched_ext import protocol, requirements
from tests.targets.sched_ext_standin import ENABLED_BEFORE, FakeKernel

pytestmark = pytest.mark.slow

SHELLS = {"busybox": ["busybox", "sh"], "sh": ["sh"]}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    """A shell for the script."""
    words = SHELLS[request.param]
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed: apt-get install busybox-static")
    return words


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[FakeKernel]:
    """A kernel with sched_ext and no loaded scheduler."""
    fake = FakeKernel(tmp_path / "kernel")
    with fake.running():
        yield fake


SETTINGS = (
    "scx_root={root} scx_folder={root}/run scx_log='cat {root}/dev/kmsg' "
    "scx_start_seconds={start} scx_last_words=0 scx_grace={grace}"
)
"""Time limits of the script. A wait may take one second more."""


def run_script(
    shell: list[str], kernel: FakeKernel, body: str, how: str = "well", start: int = 20, grace: int = 20
) -> str:
    """Run this text in a shell that has sourced the script, and return its output."""
    settings = SETTINGS.format(root=kernel.root, start=start, grace=grace)
    text = f"{protocol.shell_text(kernel.standin('simple_1.0', how))}\n{settings}\n{body}\n"
    # Files, because a pipe would end with the last child of the shell, which sleeps for a second.
    out, err = kernel.root / "stdout", kernel.root / "stderr"
    with out.open("w") as stdout, err.open("w") as stderr:
        subprocess.run(
            [*shell, "-c", text], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, timeout=110, check=False
        )
    assert err.read_text() == ""
    return out.read_text()


STATE = 'echo "$(scx_read state) $(scx_read root/ops)"'


def test_a_scheduler_is_loaded_during_the_jobs_and_removed_afterwards(shell, kernel) -> None:
    job = f"scx_ready && {STATE}; scx_fault || echo well\n"
    out = run_script(shell, kernel, f'{job}{job}scx_stop && echo "out $scx_reason"')
    assert out.split("\n") == ["enabled simple_1.0", "well"] * 2 + ["out ", ""]
    assert kernel.read("state") == "disabled"
    assert int(kernel.read("enable_seq")) == ENABLED_BEFORE + 1


def test_an_ejected_scheduler_is_a_fault_with_its_reason_and_is_loaded_again(shell, kernel) -> None:
    wait = 'while [ "$(scx_read state)" = enabled ]; do sleep 0.02; done'
    body = (
        f'scx_ready; touch {kernel.root}/eject; {wait}; scx_fault && echo "$scx_reason"; scx_ready && {STATE}; scx_stop'
    )
    out = run_script(shell, kernel, body)
    for words in (
        f"sched_ext: '{kernel.root}/standin {kernel.root} simple_1.0 well' is no longer loaded (state 'disabled')",
        "its process has ended (status 1)",
        'message of the kernel: sched_ext: BPF scheduler "simple_1.0" disabled (runtime error); '
        "sched_ext: simple_1.0: non-existent DSQ 0x1267; the program printed",
        "DEBUG DUMP",
        "\nenabled simple_1.0\n",
    ):
        assert words in out
    assert "earlier day" not in out
    assert kernel.read("state") == "disabled"


def test_a_kernel_without_a_counter_of_schedulers_is_supported(shell, kernel) -> None:
    (kernel.folder / "enable_seq").unlink()
    assert (
        run_script(shell, kernel, f"scx_ready; {STATE}; scx_fault || echo well; scx_stop")
        == "enabled simple_1.0\nwell\n"
    )
    assert kernel.read("state") == "disabled"


def test_a_replaced_scheduler_is_a_fault(shell, kernel) -> None:
    out = run_script(
        shell, kernel, f'scx_ready; echo 99 >{kernel.folder}/enable_seq; scx_fault && echo "$scx_reason"; scx_stop'
    )
    assert "was ejected or ended, and 'simple_1.0' was loaded later" in out


def test_a_refused_scheduler_is_reported_with_its_output(shell, kernel) -> None:
    out = run_script(shell, kernel, 'scx_ready || echo "$scx_reason"; scx_fault && echo fault', how="refused")
    assert (
        "was not loaded; its process has ended (status 7); the program printed: libbpf: the verifier does not like it"
        in out
    )
    assert out.endswith("fault\n")


def test_a_program_that_loads_no_scheduler_is_ended_after_the_limit(shell, kernel) -> None:
    out = run_script(shell, kernel, 'scx_ready || echo "$scx_reason"', how="never", start=0)
    assert "was not loaded within 0 s: state 'disabled'; the program printed: nothing" in out
    assert not (kernel.root / "run").exists()


def test_a_program_that_ignores_signals_is_killed(shell, kernel) -> None:
    out = run_script(shell, kernel, f"scx_ready; {STATE}; scx_stop && {STATE}", how="stubborn")
    assert out == "enabled simple_1.0\ndisabled \n"


def test_a_scheduler_that_the_kernel_keeps_is_reported(shell, kernel) -> None:
    kernel.keeps = True
    out = run_script(shell, kernel, 'scx_ready; scx_stop || echo "$scx_reason"', grace=0)
    assert "sched_ext: 'simple_1.0' is still loaded 0 s after the end of" in out


def test_a_large_output_is_truncated_while_the_jobs_run(shell, kernel) -> None:
    run = f"{kernel.root}/run"
    cut = f"[ -s {run}/end ] && [ $(wc -c <{run}/output) -le 1048576 ]"
    out = run_script(
        shell, kernel, f"scx_ready; until {cut}; do sleep 0.02; done; scx_fault || echo well; scx_stop", how="chatty"
    )
    assert out == "well\n"


def test_a_kernel_without_sched_ext_or_with_a_loaded_scheduler_is_reported(shell, kernel) -> None:
    kernel.load("rusty")
    assert "'rusty' is loaded already" in run_script(shell, kernel, 'scx_ready || echo "$scx_reason"')
    kernel.unload()
    shutil.rmtree(kernel.folder)
    assert "the kernel has no sched_ext" in run_script(shell, kernel, 'scx_ready || echo "$scx_reason"')


def test_a_guest_s_kernel_is_refused_by_its_configuration() -> None:
    assert requirements.guest_fault({"CONFIG_SCHED_CLASS_EXT": "y"}, "6.12") is None
    assert requirements.guest_fault(None, "6.12") is None
    fault = requirements.guest_fault({"CONFIG_BPF": "y"}, "6.12.0-debian")
    assert fault is not None
    assert fault[0] == "kernel 6.12.0-debian has no sched_ext: the kernel is built without CONFIG_SCHED_CLASS_EXT"


def test_the_script_declares_its_limits_and_messages_nowhere_else() -> None:
    script = protocol.files("schedlab.targets.sched_ext").joinpath("guest.sh").read_text()
    names = protocol._SHELL.keys()
    assert all(f"${name}" in script for name in names)
    assert not [name for name in names if f"\n{name}=" in script]
    assert "was not loaded" not in script
