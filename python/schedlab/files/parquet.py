"""The table of a Parquet file as CSV, read by a child process whose memory is limited.

A Parquet file of a megabyte may contain a table of terabytes (run lengths, dictionaries, compression), and polars ends
the process when memory is short. This module is also the program of the child process.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader

from schedlab.files.packed import MOST

MAGIC = b"PAR1"
"""First bytes of a Parquet file."""

_ROWS = 10_000
"""Rows that are converted to CSV at a time."""

_DAMAGED = 2
"""Exit status for a file that polars cannot read; the reason is on standard error."""


class Unreadable(Exception):
    """A Parquet file that is damaged, has nested columns, or needs too much memory."""


@contextmanager
def as_csv(packed: BufferedReader) -> Iterator[BufferedReader]:
    """Yield the table of an open Parquet file as CSV with a line of names.

    Raises:
        Unreadable: at the end of the block, if the block has read the whole CSV and the file was not converted.
    """
    file = packed.fileno() if packed.seekable() else _copied(packed)
    os.lseek(file, 0, os.SEEK_SET)
    command = [sys.executable, "-P", "-m", __name__]
    environment = os.environ | {"POLARS_MAX_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as child:
        assert isinstance(child.stdout, BufferedReader)
        assert child.stderr is not None
        yield child.stdout
        is_complete = not child.stdout.read1(1)
        child.stdout.close()
        reason = child.stderr.read(400).decode(errors="replace").partition("\n")[0]
        if is_complete and child.wait() != 0:
            limit = f"needs more than {MOST >> 20} MiB of memory"
            raise Unreadable(f"cannot be read as a Parquet file: {reason}" if child.returncode == _DAMAGED else limit)


def _copied(packed: BufferedReader) -> int:
    """Return a file in memory with the content of a pipe, because the table's description is at the file's end."""
    file = os.memfd_create("parquet")
    size = 0
    while part := packed.read1(1 << 20):
        size += os.write(file, part)
        if size > MOST // 4:
            raise Unreadable(f"has more than {MOST >> 22} MiB")
    return file


def _convert() -> int:
    """Print the table on standard input as CSV; return the exit status."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST, MOST))
    import polars as pl

    try:
        table = pl.read_parquet("/proc/self/fd/0")
        sys.stdout.buffer.write(table.clear().write_csv().encode())
        for piece in table.iter_slices(_ROWS):
            sys.stdout.buffer.write(piece.write_csv(include_header=False).encode())
        sys.stdout.buffer.flush()
    except pl.exceptions.PolarsError as error:
        print(str(error).partition("\n")[0][:200], file=sys.stderr)
        return _DAMAGED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(_convert())
