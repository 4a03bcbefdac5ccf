"""Building every prefix of a series, with a real make and compiler over a tiny tree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedlab.errors import CannotRunHere
from schedlab.kernels import images, make
from schedlab.kernels.build_cache import KernelGap, NotBuilt
from schedlab.kernels.series_build import Outcome, workshop
from schedlab.kernels.source import open_series
from schedlab.tunables import pending
from schedlab.workloads import launcher
from schedlab.workloads.base import Command
from tests.kernels.conftest import Builder, Series, contents
from tests.kernels.tiny_tree import FAIR, MAKEFILE, Repository, tiny_tree
from tests.waiting import eventually

pytestmark = pytest.mark.slow


def states(outcomes: list[Outcome]) -> dict[str, str]:
    return {outcome.prefix.name: outcome.state for outcome in outcomes}


def test_each_prefix_is_built_and_a_compile_error_makes_a_gap_with_its_first_error(series: Series) -> None:
    assert states(series.outcomes) == {"base": "built", "01": "built", "02": "gap", "03": "built"}
    gap = series.outcomes[2].record
    assert gap.reason.startswith("make bzImage failed: kernel/core.c:3:")
    assert "'nothing' undeclared" in gap.reason
    assert gap.title == "sched: return what is not there"
    assert "'nothing' undeclared" in series.builder.log(series.outcomes[2])


def test_a_prefix_contains_its_patches_and_its_release_names_it(series: Series) -> None:
    records = [outcome.record for outcome in series.outcomes]
    assert [record.release for record in records] == ["6.99.0-base", "6.99.0-01", "", "6.99.0-03"]
    assert len({record.sha256 for record in records}) == 4
    cost = (5000000).to_bytes(4, "little")
    has_cost = [cost in series.builder.cache.image(record.key).read_bytes() for record in records if not record.reason]
    assert has_cost == [False, True, True]


def test_only_files_that_a_patch_changes_are_compiled_again(series: Series) -> None:
    compiled = [
        [line.split()[1] for line in series.builder.log(outcome).splitlines() if line.startswith("  CC")]
        for outcome in series.outcomes
    ]
    assert sorted(compiled[0]) == ["kernel/core.o", "kernel/fair.o"]
    assert compiled[1:] == [["kernel/fair.o"], ["kernel/core.o"], ["kernel/core.o"]]


def test_a_second_run_builds_nothing(series: Series) -> None:
    before = contents(series.builder.cache.folder / "built")
    again = series.builder(series.repository.folder, commits=f"{series.repository.base}..HEAD")
    assert states(again) == {"base": "cached", "01": "cached", "02": "gap", "03": "cached"}
    assert contents(series.builder.cache.folder / "built") == before
    assert [outcome.record for outcome in again] == [outcome.record for outcome in series.outcomes]


def test_prefixes_in_any_order_equal_those_of_a_series(series: Series, tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    request = builder.request(series.repository.folder, commits=f"{series.repository.base}..HEAD")
    with workshop(request, builder.cache, lambda step: None) as works:
        made = {index: works.make(index) for index in (3, 0, 2, 1)}
    assert [made[index].record.sha256 for index in range(4)] == [each.record.sha256 for each in series.outcomes]
    assert [made[index].state for index in range(4)] == ["built", "built", "gap", "built"]


def test_a_kernel_that_a_search_has_not_built_is_a_gap_until_then(series: Series, tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    request = builder.request(series.repository.folder, commits=f"{series.repository.base}..HEAD")
    with workshop(request, builder.cache, lambda step: None) as works:
        works.make(0)
        works.record_all()
        assert builder.cache.find("built:linux").release == "6.99.0-base"
        with pytest.raises(KernelGap, match="not built yet"):
            builder.cache.find("built:linux+03")
        works.make(3)
        works.record_all()
        assert builder.cache.find("built:linux+03").release == "6.99.0-03"


def test_the_users_tree_and_its_git_are_only_read_and_no_copy_is_left(series: Series) -> None:
    assert contents(series.repository.folder) == series.before
    assert not list((series.builder.cache.folder / "work").glob("[!.]*"))


def test_the_journal_names_the_work_folder_of_a_build(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start removes the folder after a kill."""
    journals = builder.folder / "journals"
    monkeypatch.setattr("schedlab.files.folders.journals", lambda uid=None: journals)
    named: list[str] = []

    def fail(*_: object) -> None:
        (journal,) = pending(journals)
        named.extend(resource.name for resource in journal.made)
        raise KeyboardInterrupt

    monkeypatch.setattr("schedlab.kernels.make.Maker.clean", fail)
    with pytest.raises(KeyboardInterrupt):
        builder(tiny_tree(builder.folder / "linux"))
    assert [Path(name).parent for name in named] == [builder.cache.folder / "work"]
    assert pending(journals) == []


def test_a_longer_series_builds_only_its_new_patches(series: Series, tmp_path: Path) -> None:
    first = series.repository.git("rev-parse", "HEAD~2")
    builder = Builder(tmp_path)
    assert states(builder(series.repository.folder, commits=f"{series.repository.base}..{first}")) == {
        "base": "built",
        "01": "built",
    }
    longer = builder(series.repository.folder, commits=f"{series.repository.base}..")
    assert states(longer) == {"base": "cached", "01": "cached", "02": "gap", "03": "built"}
    # The image contains the complete prefix, and equals the image of an uninterrupted build.
    assert longer[3].record.sha256 == series.outcomes[3].record.sha256


def test_patches_over_an_unpacked_source_make_the_same_kernels_as_the_commits(series: Series, builder: Builder) -> None:
    patches = series.repository.patches(builder.folder / "patches")
    tree = tiny_tree(builder.folder / "unpacked")
    outcomes = builder(tree, patches)
    assert [outcome.record.sha256 for outcome in outcomes] == [outcome.record.sha256 for outcome in series.outcomes]
    assert [outcome.record.title for outcome in outcomes[1:]] == [o.record.title for o in series.outcomes[1:]]
    assert states(builder(tree, patches))["03"] == "cached"
    (tree / "kernel/fair.c").write_text(FAIR + "\n")
    assert states(builder(tree))["base"] == "built"


def test_after_a_patch_that_does_not_apply_all_prefixes_are_gaps(series: Series, builder: Builder) -> None:
    patches = series.repository.patches(builder.folder / "patches")
    tree = tiny_tree(builder.folder / "unpacked")
    (tree / "kernel/core.c").write_text("int core(void)\n{\n\treturn 7;\n}\n")
    outcomes = builder(tree, patches)
    assert states(outcomes) == {"base": "built", "01": "built", "02": "gap", "03": "gap"}
    assert outcomes[2].record.reason.startswith("patch 02 does not apply: patch failed: kernel/core.c:1")
    assert outcomes[3].record.reason.startswith("the prefix needs an earlier patch: patch 02 does not apply")


def test_unmet_options_of_a_fragment_are_reported(series: Series) -> None:
    unmet = set(series.outcomes[0].record.unmet)
    assert "CONFIG_SCHED_NOT_THERE=y was requested, which this kernel does not have; the value is n" in unmet
    assert not [option for option in unmet if option.startswith(("CONFIG_NUMA=", "CONFIG_HZ="))]
    config = (series.builder.cache.place(series.outcomes[0].record.key) / "config").read_text().splitlines()
    assert {"CONFIG_NUMA=y", "CONFIG_HZ=250", "CONFIG_TINY=y"} <= set(config)
    assert "CONFIG_HZ=100" not in config


def test_a_different_fragment_gives_a_different_kernel(series: Series, builder: Builder) -> None:
    first, second = (
        builder(series.repository.folder, fragment=text) for text in ("CONFIG_HZ=250\n", "CONFIG_HZ=300\n")
    )
    assert first[0].record.key != second[0].record.key
    assert second[0].state == "built"


def test_a_build_that_hangs_is_a_gap_with_its_last_line_and_is_retried(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tiny_tree(builder.folder / "linux")
    (tree / "Makefile").write_text(MAKEFILE.replace("@echo 'Kernel:", "@echo linking; sleep 600; echo 'Kernel:"))
    run = launcher.run

    def run_to_the_hang(command: Command, timeout: float, *options: Any) -> launcher.Launched:
        """Run again with a longer limit where the machine was too slow to reach the hang."""
        launched = run(command, timeout, *options)
        hung = launched.report is not None and launched.report.timed_out
        is_early = hung and "linking" not in Path(command.argv[3]).read_text()
        return run_to_the_hang(command, 2 * timeout, *options) if is_early else launched

    with monkeypatch.context() as patch:
        patch.setattr(launcher, "run", run_to_the_hang)
        outcomes = builder(tree, timeout=2.0)
    assert states(outcomes) == {"base": "gap"}
    assert outcomes[0].record.reason == "make bzImage hung or is slow: ended after 2 s, at 'linking'"
    assert not left_over(tree)
    with pytest.raises(KernelGap, match="hung or is slow"):
        images.resolve("built:linux", cache_folder=builder.folder / "cache")
    (tree / "Makefile").write_text(MAKEFILE)
    assert states(builder(tree)) == {"base": "built"}


def test_a_gap_is_built_again_only_on_request(series: Series, builder: Builder) -> None:
    commits = f"{series.repository.base}..HEAD"
    builder(series.repository.folder, commits=commits)
    first = builder.log(series.outcomes[2])
    builder.cache.place(series.outcomes[2].record.key).joinpath("log").write_text("an old log")
    builder(series.repository.folder, commits=commits)
    assert builder.log(series.outcomes[2]) == "an old log"
    builder(series.repository.folder, commits=commits, again=True)
    assert "'nothing' undeclared" in first
    assert "'nothing' undeclared" in builder.log(series.outcomes[2])


def test_a_source_that_was_built_in_place_is_cleaned_in_the_copy_only(builder: Builder) -> None:
    tree = tiny_tree(builder.folder / "linux")
    (tree / ".config").write_text("CONFIG_MINE=y\n")
    assert states(builder(tree)) == {"base": "built"}
    assert (tree / ".config").read_text() == "CONFIG_MINE=y\n"


def test_a_work_folder_that_a_killed_run_left_is_removed(builder: Builder) -> None:
    left = builder.cache.folder / "work" / "0123456789abcdef"
    left.mkdir(parents=True)
    (left / "source").touch()
    builder(tiny_tree(builder.folder / "linux"))
    assert not left.exists()


def test_built_names_resolve_to_images_or_to_the_reason_of_a_gap(series: Series) -> None:
    cache_folder = series.builder.folder / "cache"
    image = images.resolve("built:linux+03", cache_folder=cache_folder)
    assert image.release == "6.99.0-03"
    assert image.sha256 == series.outcomes[3].record.sha256
    assert (images.config_of(image) or {})["CONFIG_NUMA"] == "y"
    assert images.resolve("built:linux", cache_folder=cache_folder).release == "6.99.0-base"
    built = r"built:linux\+02: make bzImage failed: kernel/core\.c:3(.|\n)*log of the build: /"
    with pytest.raises(KernelGap, match=built):
        images.resolve("built:linux+02", cache_folder=cache_folder)
    with pytest.raises(NotBuilt, match=r"only built:linux, built:linux\+01, built:linux\+02, built:linux\+03"):
        images.resolve("built:linux+04", cache_folder=cache_folder)
    with pytest.raises(NotBuilt, match="built series: linux"):
        images.resolve("built:windows", cache_folder=cache_folder)


def test_a_series_stands_for_all_of_its_kernels(series: Series) -> None:
    cache = series.builder.cache
    names = ["built:linux", "built:linux+01", "built:linux+02", "built:linux+03"]
    assert cache.expanded(["debian-6.12", "series:linux"]) == ["debian-6.12", *names]
    assert cache.titles(["debian-6.12", *names])["built:linux+02"] == "sched: return what is not there"
    with pytest.raises(NotBuilt, match="no built kernel has this name"):
        cache.expanded(["series:absent"])


def test_uncommitted_changes_are_noted_and_not_built(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "linux")
    assert open_series(str(repository.folder), None, None, tmp_path).source.notes == []
    (repository.folder / "kernel/fair.c").write_text("int fair;\n")
    notes = open_series(str(repository.folder), None, None, tmp_path).source.notes
    assert notes == [f"{repository.folder} has uncommitted changes; these changes are not built"]


def test_without_a_compiler_the_error_names_the_packages_to_install(
    monkeypatch: pytest.MonkeyPatch, builder: Builder
) -> None:
    tree = tiny_tree(builder.folder / "linux")
    monkeypatch.setenv("PATH", str(builder.folder))
    with pytest.raises(CannotRunHere, match=r"no make, gcc, flex, bison, bc\n.*apt-get install bc bison"):
        builder(tree)


def left_over(tree: Path) -> list[str]:
    """Return processes that still run for a build in this tree's cache."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if f"{tree.parent}/cache" in line]


@pytest.mark.parametrize("ending", ["INT", "TERM", "KILL"])
def test_an_interrupted_build_leaves_no_process_and_keeps_finished_kernels(tmp_path: Path, ending: str) -> None:
    repository = Repository(tmp_path / "linux")
    slow = MAKEFILE.replace("@echo 'Kernel:", "@touch $(O)/linking; sleep 600; echo 'Kernel:")
    (repository.folder / "Makefile").write_text(slow)
    repository.git("commit", "-qam", "hang")
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    argv = ["kernels", "build", str(repository.folder), "--range", f"{repository.base}..HEAD", "-j1"]
    run = subprocess.Popen(
        [*command(), *argv], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    work = tmp_path / "cache/schedlab/kernels/work"
    eventually(lambda: list(work.glob("*/build/linking")), seconds=300)
    run.send_signal(getattr(signal, f"SIG{ending}"))
    output = run.communicate(timeout=300)[0]
    eventually(lambda: not left_over(repository.folder), seconds=300)
    if ending != "KILL":
        assert run.returncode == {"INT": 130, "TERM": 143}[ending]
        assert "finished kernels are kept" in output
        assert not list(work.glob("[!.]*"))
    assert images.resolve("built:linux", cache_folder=tmp_path / "cache/schedlab").release == "6.99.0-base"


def command() -> list[str]:
    return [sys.executable, "-m", "schedlab"]


def test_the_goal_and_the_last_line_of_make_are_the_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(make, "need", str)

    def run(command: Command, timeout: float, options: object, every_second: Callable[[], object]) -> launcher.Launched:
        every_second()
        with Path(command.argv[3]).open("a") as log:
            log.write("  CC      kernel/sched/fair.o\n  CC      kernel/sched/core.o\n")
        every_second()
        return launcher.Launched(command.argv, None, 0, "", "no such program")

    monkeypatch.setattr(launcher, "run", run)
    maker = make.Maker(tmp_path, tmp_path, tmp_path / "log", 1, 60.0, None, watch=seen.append)
    with pytest.raises(make.MakeFailed, match="could not be started"):
        maker.make("bzImage")
    assert seen == ["make bzImage: ", "make bzImage: CC kernel/sched/core.o"]
