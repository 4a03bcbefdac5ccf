"""``schedlab plan``: the size of an experiment, its minimum detectable effects, and the size that it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.echo import echo
from schedlab.cli.options import GivenFormat, OutputFormat, Store, store_path
from schedlab.store.location import Location

if TYPE_CHECKING:
    from schedlab.execution.estimate import Estimate
    from schedlab.experiment.plan import Plan


def plan(
    file: Annotated[Path, typer.Argument(help="The experiment file (TOML).")],
    source: Annotated[
        int | None,
        typer.Option(
            "--from",
            metavar="RUN",
            autocompletion=complete.runs,
            help="Plan with the noise and the times of this stored run.",
        ),
    ] = None,
    store: Store = None,
    effect: Annotated[
        str | None, typer.Option(metavar="SHARE", help="The change to find, such as 1%; default the file's delta.")
    ] = None,
    power: Annotated[float, typer.Option(min=0.5, max=0.99, help="The probability of finding such a change.")] = 0.8,
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Print the size of an experiment; with --from RUN, its minimum detectable effects, and the size that it needs.

    Nothing is run. 'schedlab run FILE --dry-run' prints every trial in its order.
    """
    from schedlab.cli import plan_json, plan_text
    from schedlab.cli.console import make
    from schedlab.execution.sample_size import sizing
    from schedlab.store.file import open_store

    trial_plan = _plan(file)
    downloads = _downloads(trial_plan)
    wanted = _share(effect)
    sized = None
    if source is not None:
        sized = sizing(trial_plan, open_store(store_path(store), create=False), source, wanted, power)
    elif wanted is not None:
        from schedlab.errors import SchedlabError

        raise SchedlabError("the noise is not known without a run", where="--effect", todo="name a run with --from RUN")
    if form is OutputFormat.JSON:
        echo(plan_json.render(trial_plan, sized, _estimate(trial_plan, store), downloads))
    else:
        plan_text.show(make(), trial_plan, sized, _estimate(trial_plan, store), downloads)


def _plan(file: Path) -> Plan:
    from schedlab.experiment import plan as planning
    from schedlab.experiment.load import load

    experiment, _ = load(file)
    # Sizes do not depend on the order, so any seed gives the same sizes.
    return planning.plan(experiment, experiment.design.seed or 0)


def _downloads(trial_plan: Plan) -> list[str]:
    """The files that a run on the target of the experiment file would download first."""
    from schedlab.targets.selection import choose

    if trial_plan.experiment.target.kind != "vm":
        return []
    return [each.what for each in choose(None, trial_plan.experiment).downloads()]


def _share(text: str | None) -> float | None:
    from schedlab.errors import SchedlabError
    from schedlab.notation.units import parse_share

    if text is None:
        return None
    try:
        share = parse_share(text)
    except ValueError as error:
        raise SchedlabError(str(error), where="--effect", todo="give a share such as 2%") from error
    if not 0 < share < 1:
        raise SchedlabError(
            f"{text!r} is not an effect to look for", where="--effect", todo="give a share above 0 and below 100 %"
        )
    return share


def _estimate(trial_plan: Plan, store: Location | None) -> Estimate:
    from schedlab.execution.estimate import estimate
    from schedlab.store import backends
    from schedlab.store.file import open_store
    from schedlab.targets.selection import boots_of, name_of

    where = store_path(store)
    target, virtual = name_of(None, trial_plan.experiment)
    engine = open_store(where, create=False) if backends.exists(where) else None
    booted = boots_of(trial_plan, trial_plan.experiment.target)
    return estimate(trial_plan, engine, target, virtual=virtual, boots=booted)
