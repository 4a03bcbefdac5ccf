"""Putting values back, last written first."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import Literal

from schedlab.tunables.codecs import codec
from schedlab.tunables.files import Files
from schedlab.tunables.outcomes import Failed, LeftAlone, Outcome, Restored

from .history import History, Verdict, judge

Release = Callable[[History, Literal["restored", "left"]], None]


def undo(histories: Sequence[History], files: Files, release: Release) -> list[Outcome]:
    """Put every value back that is still ours, in reverse order of first writes, and say what became of each.

    `release` is told of each value that needs nothing more. A value that the kernel calls invalid (one of a pair
    such as runtime and period, which bound each other) is tried again after the others.
    """
    outcomes: list[Outcome] = []
    waiting = list(reversed(histories))
    while waiting:
        again: list[tuple[History, Failed]] = []
        for history in waiting:
            outcome = _undo_one(history, files)
            if isinstance(outcome, Failed) and outcome.errno == errno.EINVAL:
                again.append((history, outcome))
                continue
            outcomes.append(outcome)
            if not isinstance(outcome, Failed):
                release(history, "left" if isinstance(outcome, LeftAlone) else "restored")
        if len(again) == len(waiting):
            outcomes.extend(failed for _, failed in again)
            break
        waiting = [history for history, _ in again]
    return outcomes


def _undo_one(history: History, files: Files) -> Outcome:
    name, path, original = history.name, history.path, history.original
    how = codec(history.codec)
    try:
        current = how.decode(files.read(path))
        match judge(history, current):
            case Verdict.THERE:
                return Restored(name, path, original, wrote=False)
            case Verdict.FOREIGN:
                return LeftAlone(name, path, original, current, f"somebody else changed it from {history.ours}")
            case Verdict.PUT_BACK:
                files.write(path, how.encode(original), how)
        current = how.decode(files.read(path))
    except (FileNotFoundError, NotADirectoryError):
        return LeftAlone(name, path, original, None, "as the file is gone, and its value with it")
    except OSError as error:
        return Failed(name, path, original, error.strerror or str(error), error.errno or 0)
    if how.steady and current != original:
        return Failed(name, path, original, f"it was written, but the file reads {current}")
    return Restored(name, path, original, wrote=True)
