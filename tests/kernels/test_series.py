"""Patch series in all supported forms: folders, quilt's list, mailboxes from a mail archive, commit ranges."""

from __future__ import annotations

import base64
import gzip
import quopri
import tempfile
from pathlib import Path

import pytest

from schedlab.errors import SchedlabError
from schedlab.kernels import series
from schedlab.kernels.config import BadFragment, recipe
from schedlab.kernels.source import open_series
from tests.kernels.tiny_tree import CORE, FAIR, Repository, repository_with_series, tiny_tree

COST = """\
--- a/kernel/fair.c
+++ b/kernel/fair.c
@@ -1,4 +1,4 @@
-static int cost = 500000;
+static int cost = 7; /* µs */
\x20
 int fair(void)
 {
"""
RETURN = """\
diff --git a/kernel/core.c b/kernel/core.c
--- a/kernel/core.c
+++ b/kernel/core.c
@@ -1,4 +1,4 @@
 int core(void)
 {
-\treturn 1;
+\treturn 2;
 }
"""


def mail(subject: str, body: str, encoding: str = "8bit") -> bytes:
    """Return a message of a mailbox, as git and mail archives write messages."""
    raw = body.encode()
    encoded = {
        "8bit": raw,
        "quoted-printable": quopri.encodestring(raw),
        "base64": base64.encodebytes(raw),
    }[encoding]
    head = f"From somebody@example.org Thu Jan  1 00:00:00 1970\nFrom: A B <a@example.org>\nSubject: {subject}\n"
    kind = f'Content-Type: text/plain; charset="utf-8"\nContent-Transfer-Encoding: {encoding}\n\n'
    return (head + kind).encode() + encoded + b"\n"


def applied(folder: Path, changes: list[series.Change]) -> str:
    """Apply all changes, which must succeed, and return the contents of the two files."""
    tree = tiny_tree(folder)
    for change in changes:
        assert change.apply(tree) == ""
    return (tree / "kernel/fair.c").read_text() + (tree / "kernel/core.c").read_text()


BOTH = FAIR.replace("500000;", "7; /* µs */") + CORE.replace("1;", "2;")


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "0002-return.patch").write_text(RETURN)
    (tmp_path / "0001-cost.diff").write_text(COST)
    (tmp_path / "0000-cover-letter.patch").write_text("From: a\nSubject: [PATCH 0/2] Two\n\nAbout.\n")
    (tmp_path / "notes.txt").write_text("no patch")
    changes = series.read(tmp_path)
    assert [(change.name, change.title) for change in changes] == [("01", "0001-cost"), ("02", "0002-return")]
    assert applied(tmp_path / "linux", changes) == BOTH


def test_the_quilt_series_file_gives_order_omissions_and_strip_levels(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("# later first\nreturn.patch\n\n cost.patch -p0 # without a/ and b/\n#bad.patch\n")
    (tmp_path / "return.patch").write_text(RETURN)
    (tmp_path / "cost.patch").write_text(COST.replace(" a/", " ").replace(" b/", " "))
    (tmp_path / "bad.patch").write_text("not in the list")
    changes = series.read(tmp_path)
    assert [change.title for change in changes] == ["return", "cost"]
    assert applied(tmp_path / "linux", changes) == BOTH


@pytest.mark.parametrize("encoding", ["8bit", "quoted-printable", "base64"])
def test_a_mailbox_in_any_order_or_encoding_and_with_replies_is_a_series(tmp_path: Path, encoding: str) -> None:
    mails = [
        mail("[PATCH v2 0/2] Two changes", "About.\n"),
        mail("[PATCH v2 2/2] sched: return two", f"Because.\n\nFrom here on.\n---\n{RETURN}-- \n2.39.5\n", encoding),
        mail("Re: [PATCH v2 1/2] sched/fair: cost", f"> {COST}\n---  no\n--- no\n"),
        mail("[PATCH v2 1/2] sched/fair: cost", f"Because.\n---\n{COST}-- \n2.39.5\n", encoding),
    ]
    box = tmp_path / "t.mbox.gz"
    box.write_bytes(gzip.compress(b"\n".join(mails)))
    changes = series.read(box)
    assert [change.title for change in changes] == ["sched/fair: cost", "sched: return two"]
    assert applied(tmp_path / "linux", changes) == BOTH


def test_a_single_patch_is_a_series_of_one_patch(tmp_path: Path) -> None:
    path = tmp_path / "cost.patch"
    path.write_text(COST)
    assert [change.title for change in series.read(path)] == ["cost"]


@pytest.mark.slow
def test_the_output_of_format_patch_is_read_with_its_subjects(tmp_path: Path) -> None:
    repository = repository_with_series(tmp_path / "linux")
    changes = series.read(repository.patches(tmp_path / "patches"))
    titles = ["sched/fair: cost more", "sched: return what is not there", "sched: return two"]
    assert [change.title for change in changes] == titles
    together = open_series(str(repository.folder), None, f"{repository.base}..HEAD", tmp_path)
    assert [change.title for change in together.changes] == titles
    assert (
        together.source.identity
        == open_series(str(repository.folder), None, f"{repository.base}..", tmp_path).source.identity
    )


def test_a_merge_is_one_step_with_all_its_changes(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "linux")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side one", core=CORE.replace("1;", "3;"))
    repository.commit("side two", core=CORE.replace("1;", "2;"))
    repository.git("checkout", "-q", "-")
    repository.commit("cost", fair=FAIR.replace("500000;", "7; /* µs */"))
    repository.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    changes = open_series(str(repository.folder), None, f"{repository.base}..", tmp_path).changes
    assert [change.title for change in changes] == ["cost", "Merge side"]
    assert applied(tmp_path / "copy", changes) == BOTH


def test_a_linked_work_tree_and_a_bare_repository_are_sources(tmp_path: Path) -> None:
    repository = repository_with_series(tmp_path / "linux")
    repository.git("worktree", "add", "-q", str(tmp_path / "linked"), "HEAD~3")
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    for tree, commits in ((tmp_path / "linked", None), (tmp_path / "bare.git", f"{repository.base}..")):
        result = open_series(str(tree), None, commits, tmp_path)
        (copy := tmp_path / f"{tree.name}-copy").mkdir()
        result.source.put(copy)
        assert (copy / "kernel/fair.c").read_text() == FAIR
        assert not (copy / ".git").exists()
        assert result.name == tree.stem


def test_the_index_of_a_check_out_is_beside_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start removes the folder around the files after a kill, and nothing elsewhere."""
    repository = repository_with_series(tmp_path / "linux")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setenv("GIT_DIR", "/of/another/repository")
    (copy := tmp_path / "work" / "source").mkdir(parents=True)
    open_series(str(repository.folder), None, None, tmp_path).source.put(copy)
    assert (copy / "kernel/fair.c").exists()
    assert list(copy.parent.iterdir()) == [copy]


def test_a_patch_is_applied_completely_or_not_at_all(tmp_path: Path) -> None:
    tree = tiny_tree(tmp_path / "linux")
    (tree / "kernel/core.c").write_text("int core;\n")
    (change,) = series.numbered([("both", (COST + RETURN).encode(), 1)])
    assert "kernel/core.c" in change.apply(tree)
    assert (tree / "kernel/fair.c").read_text() == FAIR


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty", b"", "contains no patch"),
        ("text", b"hello\n", "contains no patch"),
        ("damaged.gz", gzip.compress(b"x" * 1000, mtime=0)[:20], "is damaged"),
        ("changed.gz", gzip.compress(b"x" * 1000, mtime=0)[:10] + b"\xff" * 20, "is damaged"),
        ("folder/", b"", "contains no patch"),
        ("folder/a.patch", b"nothing", "contains no diff"),
        ("folder/series", b"a.patch\n", "No such file"),
        ("folder/series", b"a.patch --fuzz\n", "the option '--fuzz' is unknown"),
    ],
)
def test_files_without_a_series_are_refused_with_their_path(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    path = tmp_path / name
    folder = "/" in name
    (path.parent if folder and not name.endswith("/") else path if folder else tmp_path).mkdir(exist_ok=True)
    if not name.endswith("/"):
        path.write_bytes(content)
    with pytest.raises(SchedlabError, match=expected):
        series.read(tmp_path / "folder" if folder else path)


def test_a_range_without_a_series_is_refused(tmp_path: Path) -> None:
    repository = repository_with_series(tmp_path / "linux")
    tree, base = str(repository.folder), repository.base
    for commits, messages in [
        ("HEAD", "is not a range"),
        ("..HEAD", "is not a range"),
        (f"{base}...HEAD", "is not a range"),
        ("HEAD..HEAD", "contains no commit"),
        (f"HEAD..{base}", "does not come after"),
        ("nowhere..HEAD", "there is no commit 'nowhere'"),
        ("--output=x..HEAD", "there is no commit"),
    ]:
        with pytest.raises(SchedlabError, match=messages):
            open_series(tree, None, commits, tmp_path)
    with pytest.raises(SchedlabError, match="two series"):
        open_series(tree, tmp_path, f"{base}..HEAD", tmp_path)
    with pytest.raises(SchedlabError, match="not a git repository"):
        open_series(str(tiny_tree(tmp_path / "unpacked")), None, "a..b", tmp_path)


def test_a_folder_without_a_kernel_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match=r"no Kconfig and Makefile(.|\n)*linux-source"):
        open_series(str(tmp_path), None, None, tmp_path)
    repository = Repository(tmp_path / "linux")
    repository.git("mv", "Kconfig", "Kconfig.old")
    repository.git("commit", "-qm", "no kernel any more")
    with pytest.raises(SchedlabError, match="no Kconfig and Makefile"):
        open_series(str(repository.folder), None, None, tmp_path)
    with pytest.raises(SchedlabError, match="no such folder"):
        open_series(str(tmp_path / "nothing"), None, None, tmp_path)


def test_a_fragment_with_a_wrong_line_is_refused_with_the_line(tmp_path: Path) -> None:
    fragment = tmp_path / "mine.config"
    fragment.write_text("# mine\nCONFIG_SMP=y\nSMP=y\n")
    with pytest.raises(BadFragment, match=r"mine\.config:3: 'SMP=y' is not an option"):
        recipe("tinyconfig", [fragment])
    with pytest.raises(BadFragment, match="cannot be read"):
        recipe("./no-such-file", [])


def test_fragments_override_a_whole_configuration(tmp_path: Path) -> None:
    base, fragment = tmp_path / "config", tmp_path / "fragment"
    base.write_text("CONFIG_SMP=y\nCONFIG_HZ=250\n")
    fragment.write_text("# CONFIG_SMP is not set\nCONFIG_NUMA=n\n")
    configuration = recipe(str(base), [fragment])
    assert (
        configuration.merged(configuration.base) == "CONFIG_HZ=250\n# CONFIG_SMP is not set\n# CONFIG_NUMA is not set\n"
    )
    assert configuration.unmet("CONFIG_HZ=250\n", tmp_path) == []


def test_a_packed_mailbox_takes_a_bounded_amount_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "_MOST", 1 << 20)
    box = tmp_path / "t.mbox.gz"
    box.write_bytes(gzip.compress(mail("[PATCH] sched: cost", COST)) + gzip.compress(b"\n" * 1_000_000))
    assert [change.title for change in series.read(box)] == ["sched: cost"]
    box.write_bytes(box.read_bytes() + gzip.compress(b"\n" * 1_000_000))
    with pytest.raises(series.SeriesProblem, match="more than 1 MiB of text"):
        series.read(box)
