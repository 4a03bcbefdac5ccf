"""Install a wheel into a new virtual environment, and use schedlab from there as its users do.

    .venv/bin/python install/check_wheel.py dist/schedlab-*.whl [--keep FOLDER]

The commands run in an empty folder, with a path that does not contain the checkout. The first failure ends the check.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

COMMANDS = (
    "schedlab --version",
    "schedload --version",
    "schedlab doctor",
    "schedlab sim run hackbench --machine laptop-4 groups=1 loops=50",
    "schedlab try hackbench --variant batch:policy=batch --blocks 2",
    "schedlab run {examples}/first.toml --quick --only pipetest",
    "schedlab store list",
    "schedlab report --format html --output report.html",
)
"""First steps of a user. ``{examples}`` is the folder of the examples in the installed package."""


def main() -> None:
    """Install, run the commands, and print their times and the size of the installation."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("wheel", type=Path)
    options.add_argument("--keep", type=Path, metavar="FOLDER", help="install in this folder, and keep the folder")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="schedlab-wheel-") as folder:
        check(chosen.wheel.resolve(), Path(chosen.keep or folder).resolve())


def check(wheel: Path, folder: Path) -> None:
    """Install the wheel below this folder and run the commands there."""
    venv, work = folder / "venv", folder / "work"
    work.mkdir(parents=True)
    run([sys.executable, "-m", "venv", str(venv)], work, dict(os.environ))
    python = str(venv / "bin" / "python")
    environment = {
        "PATH": f"{venv / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(work),
        "SCHEDLAB_STATE": str(folder / "state"),
    }
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    constraint = ["--constraint", str(ROOT / "requirements.lock")]
    run([*pip, "install", *constraint, str(wheel)], work, dict(os.environ))
    packages = next((venv / "lib").glob("python3*/site-packages"))
    print(f"installed packages: {size(packages) / 1e6:.0f} MB", flush=True)
    examples = run([python, "-c", "from schedlab.files.shipped import examples as e; print(e())"], work, environment)
    if not examples.startswith(str(venv)):
        sys.exit(f"the examples are not in the wheel: {examples}")
    if not (packages / "schedlab" / "_tcg.so").is_file():
        sys.exit("the plug-in for QEMU is not in the wheel")
    for command in COMMANDS:
        run(command.format(examples=examples.strip()).split(), work, environment)
    if (work / "report.html").stat().st_size < 100_000:
        sys.exit("report.html lacks its plots")


def run(argv: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a command and print its time; return its output. A command that fails ends the check with its output."""
    began = time.monotonic()
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    print(f"{time.monotonic() - began:6.2f} s  {' '.join(argv)}", flush=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}\nexit status {done.returncode}: {' '.join(argv)}")
    return done.stdout


def size(folder: Path) -> int:
    """Return the bytes of all files of a folder, without the compiled Python modules and pip's own packages."""
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.relative_to(folder).parts[0].startswith(("pip", "setuptools"))
    )


if __name__ == "__main__":
    main()
