"""Every sample of the documentation runs, or states the reason why the sample does not run. See ``samples.py`` for
the marks."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from schedlab.experiment.load import parse
from tests.docs.samples import LANGUAGES, PAGES, ROOT, RUN, Sample, assert_printed, of_text, run, samples

SAMPLES = samples()
COMMAND = re.compile(r"^(\$ |schedlab |schedload |make |pip |python3? )", re.MULTILINE)


def named(chosen: list[Sample]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("sample", chosen, ids=lambda sample: sample.name)


@pytest.mark.slow
@named([sample for sample in SAMPLES if sample.language in RUN and "not run" not in sample.marks])
def test_the_sample_runs(sample: Sample, tmp_path: Path) -> None:
    run(sample, tmp_path)


@named([sample for sample in SAMPLES if sample.language in {"toml", "json"}])
def test_the_file_parses(sample: Sample) -> None:
    if sample.language == "json":
        json.loads(sample.text)
    elif {"variant", "workload"} <= set(tomllib.loads(sample.text)):
        parse(sample.text, sample.name)


def test_every_block_states_its_kind() -> None:
    """Neither a block without a known language nor a command in a block of text escapes the tests above."""
    wrong = [sample.name for sample in SAMPLES if sample.language not in LANGUAGES]
    wrong += [sample.name for sample in SAMPLES if sample.language == "text" and COMMAND.search(sample.text)]
    wrong += [sample.name for sample in SAMPLES if sample.marks.get("not run", "a reason") == ""]
    assert wrong == []
    fences = sum(len(re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.MULTILINE)) for page in PAGES)
    assert fences == 2 * len(SAMPLES)


def test_blocks_are_found_with_their_marks() -> None:
    marked = "<!-- setup: a\nb -->\n<!-- not run: needs root -->\n```sh\ncd /\n```\n"
    text = f"# Page\n{marked}- item\n\n  ```text\n  x\n  ```\n"
    first, second = of_text(ROOT / "page.md", text)
    assert (first.name, first.language, first.text) == ("page.md:5", "sh", "cd /\n")
    assert first.marks == {"setup": "a\nb", "not run": "needs root"}
    assert (second.line, second.language, second.text, second.marks) == (10, "text", "x\n", {})


def test_a_sample_whose_command_fails_or_prints_something_else_fails(tmp_path: Path) -> None:
    def console(text: str) -> Sample:
        return Sample(ROOT / "page.md", 1, "console", text, {"setup": "echo 1 > file"})

    run(console("$ cat file\n1\n$ echo a; \\\n  echo b\na\nb\n"), tmp_path)
    for text in ("$ cat file\n2\n", "$ cat < nosuch\n…\n", "$ cat file\n", "$ schedlab nothing\n…\n"):
        with pytest.raises(AssertionError):
            run(console(text), tmp_path)
    assert_printed("a\nb\nc\n", "a\n…\nc\n")
    with pytest.raises(AssertionError):
        assert_printed("a\nb\nc\n", "a\n…\nd\n")
