"""Options of ``schedlab run`` that change the experiment: the changed text of the file."""

from __future__ import annotations

import tomllib

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.changes import Changes, apply
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment

FILE = """\
# The question of this file.
[experiment]
name = "test"

[design]
blocks = 8  # a power of two
iterations = 2

# Nothing set.
[[variant]]
name = "base"

# Larger time slices.
[[variant]]
name = "batch"
policy = "batch"

# The third variant.
[[variant]]
name = "intervals"
[variant.tunables]
"vm.stat_interval" = 5

# Messages.
[[workload]]
use = "hackbench"
groups = [1, 4]

# Round trips.
[[workload]]
use = "pipetest"
label = "pipe"
"""


def changed(changes: Changes, text: str = FILE) -> tuple[Experiment, str]:
    """Apply changes, and check that the new text alone gives the changed experiment."""
    experiment, new = apply(changes, parse(text, "test.toml"), text, "test.toml")
    assert parse(new, "test.toml") == experiment
    return experiment, new


def test_without_options_the_text_is_the_file() -> None:
    assert changed(Changes())[1] == FILE


def test_numbers_replace_the_numbers_of_the_file_and_keep_its_comments() -> None:
    experiment, text = changed(Changes(blocks=3, iterations=5, delta="2%"))
    assert (experiment.design.blocks, experiment.design.iterations, experiment.analysis.delta) == (3, 5, 0.02)
    assert "blocks = 3  # a power of two\n" in text
    assert text.startswith(FILE[: FILE.index("blocks")])


@pytest.mark.parametrize(
    "design", ["", "[design]\n", "[design]\n# none\nseed = 1\n", "design.blocks = 4\n", "design = { blocks = 4 }\n"]
)
def test_every_notation_of_a_table_can_be_changed(design: str) -> None:
    head, tail = FILE.index("[design]"), FILE.index("# Nothing set")
    text = (
        FILE[:head] + design + FILE[tail:]
        if design.startswith("[") or not design
        else design + FILE[:head] + FILE[tail:]
    )
    assert changed(Changes(blocks=3), text)[0].design.blocks == 3


def test_a_variant_keeps_the_baseline_and_leaves_out_other_variants_with_their_comments() -> None:
    experiment, text = changed(Changes(variants=("intervals",)))
    assert [variant.name for variant in experiment.variant] == ["base", "intervals"]
    assert "Larger time slices" not in text
    assert '# The third variant.\n[[variant]]\nname = "intervals"' in text
    assert '# Nothing set.\n[[variant]]\nname = "base"' in text


def test_the_last_variant_is_left_out_with_its_sub_tables() -> None:
    experiment, text = changed(Changes(variants=("batch",)))
    assert [variant.name for variant in experiment.variant] == ["base", "batch"]
    assert "stat_interval" not in text
    assert "# Messages.\n" in text


def test_only_keeps_the_workloads_of_these_labels() -> None:
    experiment, text = changed(Changes(only=("pipe",)))
    assert [table.label for table in experiment.workload] == ["pipe"]
    assert "# Round trips.\n" in text
    assert "# Messages.\n" not in text


def test_tables_in_one_line_lose_their_comments_but_not_their_data() -> None:
    text = FILE[: FILE.index("# Nothing")].replace("# The", 'variant = [{ name = "a" }, { name = "b", nice = 1 }, '
        '{ name = "c", nice = 2 }]\nworkload = [{ use = "command", run = "sh -c \'a\\n b\'" }]\n# The')  # fmt: skip
    experiment, new = changed(Changes(variants=("c",)), text)
    assert [variant.name for variant in experiment.variant] == ["a", "c"]
    assert tomllib.loads(new)["workload"] == tomllib.loads(text)["workload"]


def test_a_stack_without_one_of_its_variants_is_left_out() -> None:
    text = FILE + '\n[attribution]\nstack = ["base", "batch", "intervals"]\n'
    assert changed(Changes(variants=("batch",)), text)[0].attribution is None
    assert changed(Changes(variants=("batch", "intervals")), text)[0].attribution is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (Changes(blocks=0), "--blocks: should be greater than or equal to 1 (is 0)"),
        (Changes(iterations=-1), "--iterations: should be greater"),
        (Changes(delta="lots"), "--delta: 'lots'"),
        (Changes(only=("pipetest",)), "--only: the file has no workload 'pipetest'\n  → did you mean 'pipe'?"),
        (Changes(variants=("bach",)), "--variant: the file has no variant 'bach'\n  → did you mean 'batch'?"),
        (Changes(variants=("x",)), "→ the file has 'base', 'batch', 'intervals'"),
    ],
)
def test_a_wrong_option_is_named(changes: Changes, message: str) -> None:
    with pytest.raises(ExperimentError) as error:
        changed(changes)
    assert message in str(error.value)


def test_fewer_blocks_than_interim_analyses_name_the_option() -> None:
    text = FILE.replace("blocks = 8", 'stopping = "sequential"\nlooks = 4\nblocks = 8')
    with pytest.raises(ExperimentError, match="--blocks: looks = 4 needs at least 4 blocks"):
        changed(Changes(blocks=2), text)


def test_variants_of_a_factorial_cannot_be_selected() -> None:
    head, tail = FILE.index("# Larger"), FILE.index("# Messages")
    switches = '[factorial.switches]\na = { policy = "batch" }\nb = { slice = "100ms" }\n'
    with pytest.raises(ExperimentError, match="--variant: cannot select variants of \\[factorial\\]"):
        changed(Changes(variants=("a",)), FILE[:head] + switches + FILE[tail:])


def test_the_words_of_changes_are_options_of_the_command() -> None:
    changes = Changes(3, 2, "1%", ("a b",), ("c", "d"))
    words = ["--blocks", "3", "--iterations", "2", "--delta", "1%", "--only", "a b", "--variant", "c", "--variant", "d"]
    assert changes.words == words
