"""Studies of Optuna, which choose the points of searches. A study is in the database of the store, in Optuna's tables.

The store's own tables have the measurements, and can replace a study: in a copied or merged store, where Optuna's
tables are missing, a study is made again from the points of the store.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from schedlab.errors import CannotRunHere, StoreError
from schedlab.execution.workers import SCALE
from schedlab.experiment.seeds import study_seed
from schedlab.experiment.sweep_table import Factor
from schedlab.store import backends

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import Trial

Sampler = Literal["tpe", "gp", "nsga2", "random"]

BEFORE_PRUNING = 5
"""Points that are measured completely before a point may end after its first blocks."""

POPULATION = 10
"""Points of a generation of NSGA-II. Optuna's 50 would make the whole of a short search random."""


def require_optuna(sampler: Sampler) -> None:
    """Raise CannotRunHere without the libraries of a sampler."""
    if find_spec("optuna") is None:
        raise CannotRunHere("the library Optuna is not installed", where="tune", todo=SCALE)
    if sampler == "gp" and find_spec("torch") is None:
        todo = "pip install torch, or use another sampler"
        raise CannotRunHere("the library PyTorch is not installed", where="--sampler gp", todo=todo)


def study_of(engine: Engine, run_id: int, objectives: int) -> Study:
    """Return the study of a run in the store's database, new or with its points; StoreError if it cannot be used."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        return optuna.create_study(
            storage=_storage(engine),
            study_name=f"schedlab-run-{run_id}",
            directions=["maximize"] * objectives,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=BEFORE_PRUNING),
            load_if_exists=True,
        )
    except (DBAPIError, RuntimeError) as error:
        # Optuna's own errors: tables of another version, or the error of the database as its cause.
        cause = next((each.orig for each in (error, error.__cause__) if isinstance(each, DBAPIError)), None)
        where = str(engine.url.database)
        explained = backends.explain(cause, where) if isinstance(cause, Exception) else None
        todo = "Optuna's tables are 'studies', 'trials' and others; their owner makes or upgrades them"
        raise explained or StoreError(f"Optuna cannot use the store: {error}", where=where, todo=todo) from error


def prepare(engine: Engine) -> None:
    """Make Optuna's tables in a store, if the library is installed."""
    if find_spec("optuna") is not None:
        _storage(engine)


def _storage(engine: Engine) -> Any:
    """Return Optuna's storage in the store; make Optuna's tables if they are missing."""
    from optuna.storages import RDBStorage

    # Connections are the store's: a URL as text could not name every file, nor every option of a server.
    connected = {"creator": backends.of(engine).connector(engine), "poolclass": NullPool}
    return RDBStorage(f"{engine.dialect.name}+{engine.dialect.driver}://", engine_kwargs=connected)


def ask(study: Study, sampler: Sampler, seed: int, ranges: dict[str, BaseDistribution]) -> Trial:
    """Return the next point. Its draws depend on the run's seed and the number of the point alone, so that a resumed
    search draws as an uninterrupted search."""
    study.sampler = _sampler(sampler, study_seed(seed, len(study.get_trials(deepcopy=False))))
    return study.ask(ranges)


def _sampler(sampler: Sampler, seed: int) -> BaseSampler:
    import optuna

    samplers = optuna.samplers
    match sampler:
        case "tpe":
            return samplers.TPESampler(seed=seed)
        case "gp":
            return samplers.GPSampler(seed=seed)
        case "nsga2":
            return samplers.NSGAIISampler(seed=seed, population_size=POPULATION)
        case "random":
            return samplers.RandomSampler(seed=seed)


def distribution(factor: Factor) -> BaseDistribution:
    """Return the range of a factor for Optuna."""
    from optuna import distributions

    if factor.low is None or factor.high is None:
        return distributions.CategoricalDistribution(factor.levels)
    if isinstance(factor.low, int) and isinstance(factor.high, int):
        return distributions.IntDistribution(factor.low, factor.high, log=factor.log)
    return distributions.FloatDistribution(factor.low, factor.high, log=factor.log)
