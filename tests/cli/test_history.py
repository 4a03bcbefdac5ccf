"""``schedlab history`` and ``schedlab site publish`` in this process, on a store with a planted change."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sqlalchemy import Engine, delete
from typer.testing import CliRunner, Result

from schedlab.cli import publish_run
from schedlab.cli.app import app
from schedlab.files.output_file import OutputError, write_whole
from schedlab.findings.history import SeriesKey
from schedlab.report.render.html.site import GUARD
from schedlab.store import schema
from tests import histories as stored
from tests.conftest import TWO_VARIANTS, edit_run

pytestmark = pytest.mark.slow

ATOM = "{http://www.w3.org/2005/Atom}"


def schedlab(*words: object, store: Engine) -> Result:
    return CliRunner().invoke(app, [*map(str, words), "--store", str(store.url.database)])


def data(path: Path) -> list[Any]:
    """Return the values with which a script of data calls its function."""
    first, values, last = path.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(re.escape(GUARD) + r" && schedlab\.\w+\(\.\.\.", first)
    assert last == ");"
    decoded: list[Any] = json.loads(values)
    return decoded


def test_the_list_has_a_line_for_each_row_with_its_newest_change(engine: Engine) -> None:
    stored.record(engine, 18)
    shown = schedlab("history", store=engine)
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[2].startswith("2 of 4 rows changed. hackbench groups=")
    assert "is worse since run 10, 2023-11-23" in " ".join(shown.stdout.split())
    lines = [line.split() for line in shown.stdout.splitlines() if line.startswith("  hackbench groups=1")]
    assert lines[0][2:] == ["base", "time", "[s]", "18", lines[0][-1]]
    assert lines[1][2:4] == ["changed", "time"]
    assert lines[1][-1] == "2023-11-23"
    assert re.search(r"\+(29|30)\.\d %", shown.stdout)


def test_one_row_is_shown_run_by_run_with_the_change_at_its_run(engine: Engine) -> None:
    stored.record(engine, 18)
    shown = schedlab("history", "changed", "groups=4", store=engine).stdout
    sentence, line = [line for line in shown.splitlines() if "worse" in line]
    assert sentence.startswith("worse since run 10, 2023-11-23 (kernel 6.9.0; the run before had 6.8.0):")
    assert line.split()[:4] == ["10", "2023-11-23", "22:13", "6.9.0"]
    assert len([line for line in shown.splitlines() if "22:13" in line]) == 18


def test_json_has_points_and_changes(engine: Engine) -> None:
    stored.record(engine, 18)
    output = json.loads(schedlab("history", "changed", "groups=4", "--format", "json", store=engine).stdout)
    (series,) = output["series"]
    assert (series["parameters"], series["variant"], len(series["points"])) == ({"groups": 4}, "changed", 18)
    (change,) = series["changes"]
    assert (change["run"], change["word"]) == (10, "worse")
    assert change["ratio"] == pytest.approx(1.3, rel=0.02)


def test_words_without_a_row_and_a_store_without_histories_say_so(engine: Engine) -> None:
    assert "no run of the store has a history" in str(schedlab("history", store=engine).exception)
    stored.record(engine, 1)
    assert "no row contains 'nowhere'" in str(schedlab("history", "nowhere", store=engine).exception)


def test_a_site_has_a_page_for_each_run_and_a_file_for_each_row(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 12)
    site = tmp_path / "site"
    done = schedlab("site", "publish", site, store=engine)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{site}/index.html: 12 runs (12 new or changed), 4 histories")
    assert sorted(path.name for path in (site / "run").iterdir()) == sorted(f"{n}.html" for n in range(1, 13))
    (runs,) = data(site / "data/runs.js")
    assert [run["run"] for run in runs] == [*range(12, 0, -1)]
    assert sum(runs[0]["verdicts"].values()) == 2
    (series,) = data(site / "data/series.js")
    assert {path.stem for path in (site / "data/series").iterdir()} == {each["id"] for each in series}
    for page in [site / "index.html", site / "history.html", site / "run/1.html"]:
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r'(?:src|href)="([^"#:]+)"', text):
            assert (page.parent / link).exists(), (page, link)
        assert "://" not in text


def test_a_second_call_writes_only_what_changed(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 4)
    site = tmp_path / "site"
    schedlab("site", "publish", site, store=engine)
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
    again = schedlab("site", "publish", site, store=engine)
    assert "4 runs (0 new or changed)" in again.stdout
    assert before == {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
    stored.record(engine, 1, first=4)
    assert "5 runs (1 new or changed)" in schedlab("site", "publish", site, store=engine).stdout
    after = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
    written = {str(path.relative_to(site)) for path in after if after[path] != before.get(path)}
    assert {name for name in written if name.startswith("run/")} == {"run/5.html"}
    assert len([name for name in written if name.startswith("data/series/")]) == 4


def test_an_update_reads_only_the_runs_that_are_new_or_not_complete(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[list[int]] = []
    chosen = publish_run.reader.chosen
    monkeypatch.setattr(publish_run.reader, "chosen", lambda engine, numbers: (
        read.append(list(numbers)), chosen(engine, numbers))[1])  # fmt: skip
    stored.record(engine, 4)
    edit_run(engine, 2, state="interrupted")
    schedlab("site", "publish", tmp_path / "site", store=engine)
    stored.record(engine, 1, first=4)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    assert read == [[4, 3, 2, 1], [5, 2], [2]]


def test_an_updated_site_equals_a_new_one(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 10)
    schedlab("site", "publish", tmp_path / "grown", store=engine)
    stored.record(engine, 4, first=10)
    edit_run(engine, 3, state="interrupted")
    with engine.begin() as connection:
        connection.execute(delete(schema.run).where(schema.run.c.id == 2))
    assert (
        "13 runs (5 new or changed, 1 removed)" in schedlab("site", "publish", tmp_path / "grown", store=engine).stdout
    )
    schedlab("site", "publish", tmp_path / "new", store=engine)

    def contents(folder: Path) -> dict[str, bytes]:
        files = (path for path in folder.rglob("*") if path.is_file() and path.name != "schedlab-site.json")
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    assert contents(tmp_path / "grown") == contents(tmp_path / "new")


def test_a_site_counts_an_unconfirmed_difference_as_neither_better_nor_worse(
    engine: Engine, tmp_path: Path, run_script: Callable[..., object]
) -> None:
    # The A/A control differs by more, so that the machine may have made the difference.
    times = {"base": 1.0, "control": 1.2, "changed": 0.95}
    run_script(lambda trial: times[trial.variant.name] * (1 + 0.001 * (trial.index % 7)))
    schedlab("site", "publish", tmp_path / "site", store=engine)
    ((run,),) = data(tmp_path / "site/data/runs.js")
    assert run["verdicts"] == {"unconfirmed": 2}


def test_a_killed_call_loses_nothing(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored.record(engine, 5)
    monkeypatch.setattr(publish_run, "SAVED_EVERY", 1)

    def stop(done: int, of: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish_run.publish(engine, tmp_path / "killed", advance=stop)
    assert (
        "5 runs (2 new or changed), 4 histories"
        in schedlab("site", "publish", tmp_path / "killed", store=engine).stdout
    )
    schedlab("site", "publish", tmp_path / "whole", store=engine)
    for path in (tmp_path / "whole/data").rglob("*.js"):
        assert (tmp_path / "killed" / path.relative_to(tmp_path / "whole")).read_bytes() == path.read_bytes()


def test_feeds_name_the_row_the_runs_and_the_kernels_of_a_change_for_the_worse(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 18)
    done = schedlab("site", "publish", tmp_path / "site", "--url", "https://perf.example/lab", store=engine)
    assert "2 changes for the worse" in done.stdout
    feed = json.loads((tmp_path / "site/feed.json").read_text())
    assert len(feed["items"]) == 2
    item = next(item for item in feed["items"] if "groups=4" in item["title"])
    assert "between runs 9 and 10 (kernel 6.8.0 → 6.9.0), on scripted, rack-1" in item["content_text"]
    assert item["url"].startswith("https://perf.example/lab/history.html#")
    entries = ElementTree.parse(tmp_path / "site/feed.xml").getroot().findall(f"{ATOM}entry")
    assert {entry.findtext(f"{ATOM}id") for entry in entries} == {item["id"] for item in feed["items"]}
    schedlab("site", "publish", tmp_path / "site", store=engine)
    assert "https://perf.example/lab/" in (tmp_path / "site/feed.xml").read_text()
    schedlab("site", "publish", tmp_path / "site", "--url", "https://new.example", store=engine)
    assert "https://new.example/history.html#" in (tmp_path / "site/feed.xml").read_text()


def test_pages_limits_the_pages_to_the_newest_runs(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 3)
    schedlab("site", "publish", tmp_path / "site", "--pages", 1, store=engine)
    assert [path.name for path in (tmp_path / "site/run").iterdir()] == ["3.html"]
    (series, *_) = (tmp_path / "site/data/series").iterdir()
    _, points, _ = data(series)
    assert [point["page"] for point in points] == [None, None, "run/3.html"]
    schedlab("site", "publish", tmp_path / "site", store=engine)
    assert len([*(tmp_path / "site/run").iterdir()]) == 3
    schedlab("site", "publish", tmp_path / "site", "--pages", 2, store=engine)
    assert sorted(path.name for path in (tmp_path / "site/run").iterdir()) == ["2.html", "3.html"]


def test_a_damaged_run_is_listed_with_its_reason(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 3)
    with engine.begin() as connection:
        connection.execute(schema.run.update().where(schema.run.c.id == 2).values(name="other"))
    assert schedlab("site", "publish", tmp_path / "site", store=engine).exit_code == 0
    (runs,) = data(tmp_path / "site/data/runs.js")
    assert [(run["state"], "run 2 is damaged" in run["reason"]) for run in runs] == [
        ("complete", False),
        ("damaged", True),
        ("complete", False),
    ]


def test_a_folder_with_other_files_and_the_site_of_another_store_are_refused(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 1)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.txt").write_text("mine")
    refused = schedlab("site", "publish", tmp_path / "home", store=engine)
    assert "is not a site of schedlab" in str(refused.exception)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.txt"]
    schedlab("site", "publish", tmp_path / "site", store=engine)
    state = tmp_path / "site/schedlab-site.json"
    assert str(tmp_path) not in state.read_text()
    state.write_text(json.dumps(json.loads(state.read_text()) | {"store": "0123456789abcdef"}))
    assert "of another store" in str(schedlab("site", "publish", tmp_path / "site", store=engine).exception)
    state.write_text('{"title": "my blog"}')
    (tmp_path / "site/index.html").write_text("mine")
    assert "is not the state of a site" in str(schedlab("site", "publish", tmp_path / "site", store=engine).exception)
    assert (tmp_path / "site/index.html").read_text() == "mine"


def test_the_remedy_of_a_page_that_cannot_be_written_names_no_option(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 1)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    (tmp_path / "site/feed.json").unlink()
    (tmp_path / "site/feed.json").mkdir()
    stored.record(engine, 2)
    error = str(schedlab("site", "publish", tmp_path / "site", store=engine).exception)
    assert "feed.json: is a folder" in error
    assert "name a folder that you can write" in error
    assert "--output" not in error


@pytest.mark.parametrize("writes", range(4))
def test_a_call_that_is_killed_while_it_makes_a_site_is_continued_by_the_next(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    def killed(path: Path, text: str, todo: str) -> None:
        done.append(path)
        if len(done) > writes:
            raise KeyboardInterrupt
        write_whole(path, text, todo)

    done: list[Path] = []
    stored.record(engine, 1)
    with monkeypatch.context() as patched:
        patched.setattr("schedlab.cli.site_folder.write_whole", killed)
        schedlab("site", "publish", tmp_path / "site", store=engine)
    (tmp_path / "site/.schedlab-site.json.0a1b").touch()  # on a file system without unnamed files
    assert schedlab("site", "publish", tmp_path / "site", store=engine).exit_code == 0
    schedlab("site", "publish", tmp_path / "new", store=engine)
    names = [
        sorted(str(p.relative_to(site)) for p in site.rglob("[!.]*")) for site in (tmp_path / "site", tmp_path / "new")
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("name", ["../../victim", "../victim", "0123456789abcdef", ""])
@pytest.mark.parametrize("place", ["series", "pending", "points"])
def test_a_site_file_cannot_name_files_outside_the_site(engine: Engine, tmp_path: Path, name: str, place: str) -> None:
    stored.record(engine, 1)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    state = tmp_path / "site/schedlab-site.json"
    content = json.loads(state.read_text())
    if place == "series":
        content["series"][name] = next(iter(content["series"].values()))
    elif place == "pending":
        content["pending"] = [name]
    else:
        content["runs"]["1"]["points"][0]["series"] = name
    state.write_text(json.dumps(content))
    victims = [tmp_path / "site/victim.js", tmp_path / "site/data/victim.js"]
    for victim in victims:
        victim.write_text("mine")
    refused = schedlab("site", "publish", tmp_path / "site", store=engine)
    assert "is not the state of a site" in str(refused.exception)
    assert all(victim.read_text() == "mine" for victim in victims)


@pytest.mark.parametrize("name", publish_run.FOLDERS)
def test_a_link_in_a_site_is_not_followed(engine: Engine, tmp_path: Path, name: str) -> None:
    stored.record(engine, 1)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "site" / name).rename(tmp_path / "moved")
    (tmp_path / "site" / name).symlink_to(tmp_path / "elsewhere")
    stored.record(engine, 1, first=1)
    assert f"site/{name}: is a symbolic link" in str(
        schedlab("site", "publish", tmp_path / "site", store=engine).exception
    )
    assert not [*(tmp_path / "elsewhere").iterdir()]


@pytest.mark.parametrize("name", ["run", "data", "data/series"])
def test_a_link_that_appears_while_a_site_is_written_is_not_followed(engine: Engine, tmp_path: Path, name: str) -> None:
    """Another user who can change the folder could choose the files that are overwritten and removed."""

    def plant(done: int, of: int) -> None:
        if done == 0:
            (tmp_path / "site" / name).rename(tmp_path / "moved")
            (tmp_path / "site" / name).symlink_to(tmp_path / "elsewhere")

    stored.record(engine, 2)
    (tmp_path / "elsewhere/series").mkdir(parents=True)
    for victim in ("1.html", "2.html", "runs.js", "series.js"):
        (tmp_path / "elsewhere" / victim).write_text("mine")
    with pytest.raises(OutputError, match="was replaced while the site was written"):
        publish_run.publish(engine, tmp_path / "site", advance=plant)
    files = [path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == ["1.html", "2.html", "runs.js", "series.js"]
    assert {path.read_text() for path in files} == {"mine"}
    (tmp_path / "site" / name).unlink()
    assert "2 runs (2 new or changed)" in schedlab("site", "publish", tmp_path / "site", store=engine).stdout


def test_a_page_that_cannot_be_written_ends_the_call_and_is_written_by_the_next(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 1)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    stored.record(engine, 1, first=1)
    (tmp_path / "site/run/2.html").mkdir()
    refused = schedlab("site", "publish", tmp_path / "site", store=engine)
    assert isinstance(refused.exception, OutputError)
    assert str(refused.exception).startswith(f"{tmp_path}/site/run/2.html: is a folder\n")
    (tmp_path / "site/run/2.html").rmdir()
    assert schedlab("site", "publish", tmp_path / "site", store=engine).exit_code == 0
    (runs,) = data(tmp_path / "site/data/runs.js")
    assert [(run["page"], run["reason"]) for run in runs] == [("run/2.html", ""), ("run/1.html", "")]


@pytest.mark.parametrize("kind", ["pipe", "link", "large", "folder"])
def test_a_state_that_is_no_regular_file_or_too_large_is_not_read(engine: Engine, tmp_path: Path, kind: str) -> None:
    stored.record(engine, 1)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    state = tmp_path / "site/schedlab-site.json"
    state.rename(tmp_path / "moved")
    if kind == "pipe":
        os.mkfifo(state)
    elif kind == "link":
        state.symlink_to(tmp_path / "moved")
    elif kind == "large":
        state.touch()
        os.truncate(state, publish_run.LARGEST_STATE + 1)
    else:
        state.mkdir()
    refused = schedlab("site", "publish", tmp_path / "site", store=engine)
    assert f"{state}: is not a regular file of at most 512 MiB" in str(refused.exception)


CHANGE = {"index": 1, "before": 1.0, "after": 2.0, "p": 0.01}
SHOWN = {"start": 0, "change": 1, "shown": 1, "digest": ""}
INCONSISTENT = {
    "behind the last point": {"changes": [CHANGE | {"index": 9999}], "shown": [SHOWN | {"change": 9999}]},
    "before the first point": {"changes": [CHANGE | {"index": 0}], "shown": [SHOWN | {"change": 0}]},
    "twice": {"changes": [CHANGE, CHANGE], "shown": [SHOWN]},
    "not shown": {"changes": [CHANGE]},
    "shown behind the last point": {"changes": [CHANGE], "shown": [SHOWN | {"shown": 9999}]},
}


@pytest.mark.parametrize("fault", [*INCONSISTENT, "date", "no date", "parameters"])
def test_a_site_whose_state_is_inconsistent_is_made_anew(engine: Engine, tmp_path: Path, fault: str) -> None:
    stored.record(engine, 2)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    state = tmp_path / "site/schedlab-site.json"
    content = json.loads(state.read_text())
    identity, series = next(iter(content["series"].items()))
    if fault in INCONSISTENT:
        content["series"][identity] |= INCONSISTENT[fault]
    elif fault == "parameters":
        key = SeriesKey(*series["key"])._replace(parameters="[")
        del content["series"][identity]
        content["series"][key.identity] = {"key": key}
        content = json.loads(json.dumps(content).replace(identity, key.identity))
    else:
        content["runs"]["1"]["started"] = {"date": 1e18, "no date": -1.0}[fault]
    state.write_text(json.dumps(content))
    stored.record(engine, 1, first=2)
    assert "3 runs (3 new or changed)" in schedlab("site", "publish", tmp_path / "site", store=engine).stdout
    assert "3 runs (0 new or changed)" in schedlab("site", "publish", tmp_path / "site", store=engine).stdout


def test_a_state_with_a_malformed_address_is_refused(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 1)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    state = tmp_path / "site/schedlab-site.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"address": "http://["}))
    assert "is not the state of a site" in str(schedlab("site", "publish", tmp_path / "site", store=engine).exception)


def test_the_site_of_another_store_is_refused_also_if_an_older_schedlab_made_it(engine: Engine, tmp_path: Path) -> None:
    stored.record(engine, 1)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    state = tmp_path / "site/schedlab-site.json"
    older = {"store": "0123456789abcdef", "version": "0.1"}
    state.write_text(json.dumps(json.loads(state.read_text()) | older))
    assert "of another store" in str(schedlab("site", "publish", tmp_path / "site", store=engine).exception)


def test_names_of_users_are_data_and_never_markup(engine: Engine, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    text = TWO_VARIANTS.replace('"changed"', f'"{hostile}"')
    stored.record(engine, 1, text=text)
    schedlab("site", "publish", tmp_path / "site", store=engine)
    for path in (tmp_path / "site").rglob("*"):
        if path.suffix in (".js", ".html", ".xml"):
            assert hostile not in path.read_text(encoding="utf-8"), path


def test_an_entry_of_the_feeds_is_dated_by_the_run_that_first_showed_the_change(engine: Engine, tmp_path: Path) -> None:
    def published(folder: Path) -> list[tuple[str, str]]:
        schedlab("site", "publish", folder, store=engine)
        items = json.loads((folder / "feed.json").read_text())["items"]
        entries = ElementTree.parse(folder / "feed.xml").getroot().findall(f"{ATOM}entry")
        dates = [(item["date_published"], item["content_text"]) for item in items if "groups=4" in item["title"]]
        assert {entry.findtext(f"{ATOM}published") for entry in entries} == {item["date_published"] for item in items}
        return dates

    stored.record(engine, 12)
    last = 12
    while not (first := published(tmp_path / "grown")):
        last += 1
        stored.record(engine, 1, first=last - 1)
    date = datetime.fromtimestamp(stored.FIRST + stored.DAY * (last - 1), UTC)
    assert 12 < last < 18
    assert first[0][0] == date.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert "Run 10 of 2023-11-23 22:13 is the first after the change" in first[0][1]
    assert f"the change was first shown by run {last} of {date:%Y-%m-%d %H:%M}" in first[0][1]
    stored.record(engine, 4, first=last)
    # The levels before and after change with further runs, but not what first showed the change.
    for folder in ("grown", "new"):
        (later,) = published(tmp_path / folder)
        assert later[0] == first[0][0]


def tree(folder: Path, name: str, kernel: str = "", seconds: float = 1.0, start: int = 1_700_000_000) -> Path:
    """Write a run of MMTests with five iterations of hackbench."""
    for iteration in range(5):
        place = folder / name / f"iter-{iteration}"
        logs = place / "hackbench" / "logs"
        logs.mkdir(parents=True)
        times = [seconds * (1 + 0.001 * ((7 * sample + iteration) % 5)) for sample in range(5)]
        (logs / "hackbench-1").write_text("".join(f"Running\nTime: {time:.4f}\n" for time in times))
        if kernel:
            uname = f"Linux rack-7 {kernel} #1 SMP Mon Nov  2 12:00:00 UTC 2025 x86_64 GNU/Linux\n"
            (place / "kernel.version").write_text(uname)
            (place / "tests-timestamp").write_text(f"start :: {start + 60 * iteration}\n")
    return folder / name


def compared(site: Path) -> dict[str, Any]:
    """Return the comparison of each run of a site by the run's name."""
    (runs,) = data(site / "data/runs.js")
    return {run["name"]: run["comparison"] for run in runs}


def test_a_site_has_imported_runs_and_a_page_for_the_comparison_of_an_import(engine: Engine, tmp_path: Path) -> None:
    logs, site = tmp_path / "log", tmp_path / "site"
    tree(logs, "6.12-vanilla", "6.12.0-vanilla")
    tree(logs, "6.12-patched", "6.12.0-patched", 1.25, 1_700_009_000)
    assert schedlab("import", logs, store=engine).exit_code == 0
    done = schedlab("site", "publish", site, "--url", "https://perf.example", store=engine)
    assert "2 runs (2 new or changed), 2 histories" in done.stdout
    assert f"1 change for the worse, see {site}/index.html" in done.stdout
    (runs,) = data(site / "data/runs.js")
    shown = [(run["name"], run["state"], run["machine"], run["kernel"], run["started"], run["dated"]) for run in runs]
    assert shown == [
        ("6.12-patched", "imported", "rack-7", "6.12.0-patched", 1_700_009_000_000, True),
        ("6.12-vanilla", "imported", "rack-7", "6.12.0-vanilla", 1_700_000_000_000, True),
    ]
    comparison = {"page": "compare/2.html", "against": "6.12-vanilla", "verdicts": {"worse": 1}}
    assert compared(site) == {"6.12-patched": comparison, "6.12-vanilla": None}
    page = (site / "compare/2.html").read_text(encoding="utf-8")
    assert "6.12-patched against 6.12-vanilla" in page
    assert "worse by 25.0" in page
    (worse,) = data(site / "data/regressions.js")
    assert [(each["what"], each["figure"], each["link"]) for each in worse] == [
        ("6.12-patched against 6.12-vanilla:", "worse by 25.0 % in hackbench time", "compare/2.html")
    ]
    (item,) = json.loads((site / "feed.json").read_text())["items"]
    assert item["url"] == "https://perf.example/compare/2.html"
    assert item["date_published"] == "2023-11-15T00:43:20Z"


def test_a_single_import_is_compared_with_the_import_before_it_in_its_history(engine: Engine, tmp_path: Path) -> None:
    for number, name in enumerate(("before", "after", "6.1-new", "6.1-old", "6.2-new")):
        schedlab("import", tree(tmp_path, name, seconds=1 + number / 10), store=engine)
    site = tmp_path / "site"
    schedlab("site", "publish", site, store=engine)
    against = {name: each and each["against"] for name, each in compared(site).items()}
    # "before" and "after" have no common history, but a common row.
    assert against == {
        "before": None, "after": "before", "6.1-new": "after", "6.1-old": "6.1-new", "6.2-new": "6.1-new",
    }  # fmt: skip


def test_an_updated_site_of_imports_equals_a_new_one(engine: Engine, tmp_path: Path) -> None:
    grown, new = tmp_path / "grown", tmp_path / "new"
    for number in range(3):
        schedlab("import", tree(tmp_path, f"6.{number}", f"6.{number}.0", 1 + number / 10), store=engine)
        schedlab("site", "publish", grown, store=engine)
    assert "3 runs (0 new or changed)" in schedlab("site", "publish", grown, store=engine).stdout
    assert sorted(path.name for path in (grown / "compare").iterdir()) == ["2.html", "3.html"]
    with engine.begin() as connection:
        connection.execute(delete(schema.run).where(schema.run.c.id == 2))
    for site in (grown, new):
        schedlab("site", "publish", site, store=engine)
    assert sorted(path.name for path in (grown / "compare").iterdir()) == ["3.html"]
    assert compared(grown)["6.2"]["against"] == "6.0"

    def contents(folder: Path) -> dict[str, bytes]:
        files = (path for path in folder.rglob("*") if path.is_file() and path.name != "schedlab-site.json")
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    assert contents(grown) == contents(new)
    schedlab("site", "publish", grown, "--pages", "0", store=engine)
    assert list((grown / "compare").iterdir()) == []
    assert set(compared(grown).values()) == {None}
