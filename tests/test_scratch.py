"""A run's scratch folder exists while the run lives; the next run removes the folders of killed runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from schedlab import scratch

OWNER = """
import sys, time
from pathlib import Path
from schedlab import scratch
with scratch.folder(Path(sys.argv[1])) as folder:
    (folder / "initramfs").write_text("large")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_folder_is_removed_at_the_exit(tmp_path: Path) -> None:
    with scratch.folder(tmp_path) as folder:
        assert folder.name.startswith(scratch.PREFIX)
        (folder / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_a_new_run_removes_folders_of_killed_runs_only(tmp_path: Path) -> None:
    other_folder = tmp_path / "schedlab-other"
    other_folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        with scratch.folder(tmp_path):
            assert (left / "initramfs").exists()
        process.send_signal(signal.SIGKILL)
    assert (left / "initramfs").exists()
    with scratch.folder(tmp_path) as folder:
        assert set(tmp_path.iterdir()) == {other_folder, folder}
