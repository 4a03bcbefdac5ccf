"""git commands whose results do not depend on the user's configuration. The commands only read the user's
repository."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.workloads import launcher

_GIT = ("git", "-c", "core.autocrlf=false")
_FIXED = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}

_SHOWN = 400
"""Characters of git's error message that are quoted."""


class GitProblem(SchedlabError):
    """A git command that failed."""


def is_repository(folder: Path) -> bool:
    """Whether the folder is the top of a work tree, or a bare repository."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def commit(repository: Path, revision: str) -> str:
    """Return the hash of the commit that a revision names; GitProblem when the revision names no commit."""
    name = _text(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not name:
        todo = "name a commit that 'git log' lists"
        raise GitProblem(f"there is no commit {revision!r}", where=str(repository), todo=todo)
    return name


def tree(repository: Path, revision: str) -> str:
    """Return the hash of a commit's files."""
    return _text(repository, "rev-parse", f"{revision}^{{tree}}")


def title(repository: Path, revision: str) -> str:
    """Return a commit's first line."""
    return _text(repository, "show", "--no-patch", "--format=%s", revision)


def has_file(repository: Path, revision: str, path: str) -> bool:
    """Whether a commit contains a file at this path."""
    return _run(repository, ("cat-file", "-e", f"{revision}:{path}")).returncode == 0


def is_ancestor(repository: Path, earlier: str, later: str) -> bool:
    """Whether the later commit descends from the earlier commit."""
    return _run(repository, ("merge-base", "--is-ancestor", earlier, later)).returncode == 0


def commits(repository: Path, since: str, until: str) -> list[str]:
    """Return the commits after ``since`` up to ``until``, oldest first; a merge is one step with all its changes."""
    return _text(repository, "rev-list", "--reverse", "--first-parent", f"{since}..{until}").split()


def diff(repository: Path, old: str, new: str) -> bytes:
    """Return the changes from one commit to another as a patch, including binary files."""
    words = ("--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
    return _bytes(repository, "diff-tree", "-p", "-r", *words, old, new)


def is_changed(repository: Path) -> bool:
    """Whether tracked files of the work tree differ from the last commit."""
    if not (repository / ".git").exists():
        return False
    # Without locks, status does not refresh the user's index.
    return bool(_text(repository, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no"))


def check_out(repository: Path, revision: str, folder: Path) -> None:
    """Write a commit's files into an empty folder; the repository does not change.

    git's temporary index is next to the folder, so that both are removed with the folder's parent after a kill.
    """
    with tempfile.TemporaryDirectory(prefix="index-", dir=folder.parent) as scratch:
        unset = [f"--unset={name}" for name in os.environ if name.startswith("GIT_")]
        index = f"GIT_INDEX_FILE={scratch}/index"
        places = [f"--git-dir={_text(repository, 'rev-parse', '--absolute-git-dir')}", f"--work-tree={folder}"]
        for words in (("read-tree", revision), ("checkout-index", "--all", "--quiet")):
            if error := launcher.error_of(["env", *unset, index, *_GIT, *places, *words], _FIXED, folder):
                raise GitProblem(error, where=str(repository), todo="check the repository with 'git fsck'")


def apply_patch(folder: Path, patch: bytes, strip: int, *, reverse: bool = False) -> str:
    """Apply a patch to a folder outside any repository, or take it back, completely or not at all. Return the error, or
    empty."""
    # In a repository around the folder, git would take the patch's paths as relative to that repository's top.
    environment = {"GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(folder))}
    words = ("apply", "--whitespace=nowarn", *(["--reverse"] if reverse else []), f"-p{strip}", "-")
    done = _run(folder, words, data=patch, environment=environment)
    return "" if done.returncode == 0 else _error(done)


def _text(repository: Path, *words: str) -> str:
    return _bytes(repository, *words).decode(errors="replace").strip()


def _bytes(repository: Path, *words: str) -> bytes:
    done = _run(repository, words)
    if done.returncode != 0:
        if "--quiet" in words:
            return b""
        raise GitProblem(f"git {words[0]} failed: {_error(done)}", where=str(repository), todo="name a git repository")
    return done.stdout


def _run(
    folder: Path, words: Sequence[str], *, data: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    # GIT_ variables of a hook or a script that calls schedlab would select another repository.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.run(
            [*_GIT, *words],
            cwd=folder,
            input=data,
            capture_output=True,
            env=kept | _FIXED | (environment or {}),
            check=False,
        )
    except FileNotFoundError as error:
        raise CannotRunHere("git is not installed", where="patches", todo="apt-get install git") from error


def _error(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = [line for line in done.stderr.decode(errors="replace").strip().splitlines() if line]
    return "; ".join(line.removeprefix("error: ") for line in lines)[-_SHOWN:] or f"status {done.returncode}"
