"""Asking git, in words that no configuration of the user's changes; the user's repository is only read."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from schedlab.errors import CannotRunHere, SchedlabError

_LAST_WORDS = 400


class GitProblem(SchedlabError):
    """Something that git refuses."""


def is_repository(folder: Path) -> bool:
    """Whether the folder is the top of a work tree, or a bare repository."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def commit(repository: Path, revision: str) -> str:
    """The commit that a revision names; GitProblem when there is none."""
    return _text(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}") or _no(
        repository, revision
    )


def tree(repository: Path, revision: str) -> str:
    """The hash of a commit's files."""
    return _text(repository, "rev-parse", f"{revision}^{{tree}}")


def title(repository: Path, revision: str) -> str:
    """A commit's first line."""
    return _text(repository, "show", "--no-patch", "--format=%s", revision)


def has_file(repository: Path, revision: str, path: str) -> bool:
    """Whether a commit holds a file at this path."""
    return _run(repository, ("cat-file", "-e", f"{revision}:{path}")).returncode == 0


def is_ancestor(repository: Path, one: str, other: str) -> bool:
    """Whether the other commit comes after this one."""
    return _run(repository, ("merge-base", "--is-ancestor", one, other)).returncode == 0


def commits(repository: Path, since: str, until: str) -> list[str]:
    """The commits after ``since`` up to ``until``, oldest first; a merge is one step with all that it brings."""
    return _text(repository, "rev-list", "--reverse", "--first-parent", f"{since}..{until}").split()


def diff(repository: Path, one: str, other: str) -> bytes:
    """From one commit to another, as a patch that holds binary files too."""
    words = ("--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
    return _bytes(repository, "diff-tree", "-p", "-r", *words, one, other)


def is_changed(repository: Path) -> bool:
    """Whether files of the work tree differ from the last commit; those that git does not know do not count."""
    if not (repository / ".git").exists():
        return False
    # Without the lock, status does not write the user's index to remember what it has looked at.
    return bool(_text(repository, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no"))


def check_out(repository: Path, revision: str, folder: Path) -> None:
    """Write a commit's files into an empty folder, by an index of its own: the repository does not notice."""
    with tempfile.TemporaryDirectory(prefix="schedlab-index-") as scratch:
        own = {"GIT_INDEX_FILE": str(Path(scratch) / "index"), "GIT_WORK_TREE": str(folder)}
        for words in (("read-tree", revision), ("checkout-index", "--all", "--quiet")):
            done = _run(
                folder, words, environment=own | {"GIT_DIR": _text(repository, "rev-parse", "--absolute-git-dir")}
            )
            if done.returncode != 0:
                raise GitProblem(_words(done), where=str(repository), todo="'git fsck' tells whether it is whole")


def apply_patch(folder: Path, patch: bytes, strip: int) -> str:
    """Apply a patch to a folder that is no repository, wholly or not at all; empty, or why it does not apply."""
    # A repository around the folder would have git look at paths from its top.
    own = {"GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)}
    done = _run(folder, ("apply", "--whitespace=nowarn", f"-p{strip}", "-"), data=patch, environment=own)
    return "" if done.returncode == 0 else _words(done)


def _no(repository: Path, revision: str) -> str:
    raise GitProblem(f"no commit is called {revision!r}", where=str(repository), todo="'git log' names those there are")


def _text(repository: Path, *words: str) -> str:
    return _bytes(repository, *words).decode(errors="replace").strip()


def _bytes(repository: Path, *words: str) -> bytes:
    done = _run(repository, words)
    if done.returncode != 0:
        if "--quiet" in words:
            return b""
        raise GitProblem(f"git {words[0]} failed: {_words(done)}", where=str(repository), todo="name a git repository")
    return done.stdout


def _run(
    folder: Path, words: Sequence[str], *, data: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    # Variables of a hook or a script around this would point at another repository.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.run(
            ["git", "-c", "core.autocrlf=false", *words],
            cwd=folder,
            input=data,
            capture_output=True,
            env=kept | fixed | (environment or {}),
            check=False,
        )
    except FileNotFoundError as error:
        raise CannotRunHere("git is not installed", where="patches", todo="apt-get install git") from error


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = [line for line in done.stderr.decode(errors="replace").strip().splitlines() if line]
    return "; ".join(line.removeprefix("error: ") for line in lines)[-_LAST_WORDS:] or f"status {done.returncode}"
