"""What labels cost, how good they are, and the labels themselves."""

from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypeVar, Union, cast, overload

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._numbers import check_counts
from ._progress import Progress, reporting
from ._labelling import Labelling
from ._results import (
    Analysis,
    Bound,
    Comparison,
    ComparisonRow,
    Decision,
    Front,
    LabelBound,
    Point,
    Recommendation,
)
from ._setting import Setting
from ._votes import Votes, as_labels, as_votes

__all__ = [
    "InsecureSeedWarning",
    "ThinRowsWarning",
    "analyze",
    "bound",
    "compare",
    "label",
    "queries_within",
    "recommend",
    "synthesize",
    "tune",
]

MechanismName = Literal[
    "shield", "exact", "lnmax", "gnmax", "noisy-argmax", "confident-gnmax", "exponential",
    "permute-and-flip", "exponential-operator",
]


class ThinRowsWarning(UserWarning):
    """Samples with so few voters that they make the labels of all cost much more."""


class InsecureSeedWarning(UserWarning):
    """Labels whose draws anybody can repeat have no privacy."""


Classes = Union[int, Sequence[Any], None]
"""How many classes there are, or their names in order."""

_Function = TypeVar("_Function", bound=Callable[..., Any])

_MEANT = {"eps": "epsilon", "budget": "epsilon", "labels": "truth", "y": "truth", "seed": "number"}


def _suggesting(function: _Function) -> _Function:
    """A call with an argument that there is not says which one is meant."""
    known = [name for name in inspect.signature(function).parameters]

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        for name in options:
            if name not in known:
                near = [_MEANT.get(name), *difflib.get_close_matches(name, known, 1)]
                meant = next((other for other in near if other in known), None)
                hint = "" if meant is None else f"; did you mean `{meant}`?"
                raise TypeError(f"{function.__name__}() has no argument `{name}`{hint}")
        return function(*args, **options)

    return cast(_Function, checked)


def _classes(classes: Classes, names: tuple[Any, ...] | None) -> int | None:
    if isinstance(classes, int) or (classes is not None and not isinstance(classes, Sequence)):
        check_counts(classes=classes)
        return classes
    return None if names is None else len(names)


def _chosen(setting: Setting | str | None) -> Setting:
    return Setting.parse(setting) if isinstance(setting, str) else setting or Setting()


def _setting(setting: Setting | str | None) -> tuple[str, int, str]:
    return _chosen(setting)._native


@overload
def bound(
    setting: Setting | str | None = None,
    *,
    teachers: int,
    classes: int,
    mechanism: Literal["shield"] = "shield",
    voters: int | str | None = None,
    queries: int = 100,
    delta: float = 1e-5,
    threads: int | None = None,
) -> Bound: ...


@overload
def bound(
    setting: None = None,
    *,
    teachers: int,
    classes: int,
    mechanism: Literal["noisy-argmax", "lnmax", "gnmax"],
    noise: float = 40.0,
    noise_law: Literal["laplace", "skellam", "bits"] = "skellam",
    weights: Sequence[int] | None = None,
    dropouts: int = 0,
    queries: int = 100,
    delta: float = 1e-5,
    threads: int | None = None,
) -> LabelBound: ...


@_suggesting
def bound(
    setting: Setting | str | None = None,
    *,
    teachers: int,
    classes: int,
    mechanism: Literal["shield", "noisy-argmax", "lnmax", "gnmax"] = "shield",
    voters: int | str | None = None,
    noise: float = 40.0,
    noise_law: Literal["laplace", "skellam", "bits"] = "skellam",
    weights: Sequence[int] | None = None,
    dropouts: int = 0,
    queries: int = 100,
    delta: float = 1e-5,
    threads: int | None = None,
) -> Bound | LabelBound:
    """Proves what labels cost, for all votes there could be: needs none.

    `voters` is for teachers who abstain: the fewest that vote on a sample, or samples x voters as
    in "391x30,8x29,1x4". With `mechanism="noisy-argmax"`, "lnmax" or "gnmax" what the labels of an
    argmax of noisy counts cost. Its `noise_law="bits"` takes the `weights` of the fair bits in a
    teacher's share.
    """
    check_counts(teachers=teachers, classes=classes, queries=queries, threads=threads)
    if mechanism != "shield":
        if setting is not None:
            raise _native.ShieldError("a setting is SHIELD's; give `noise` for another mechanism")
        check_counts(dropouts=dropouts)
        if (noise_law == "bits") != (weights is not None):
            raise _native.ShieldError('`weights` and noise_law="bits" go together')
        if weights is not None and mechanism != "noisy-argmax":
            raise _native.ShieldError('noise_law="bits" is for mechanism="noisy-argmax"')
        proven = _native.label_bound(
            mechanism, (float(noise), None if weights else noise_law, dropouts),
            None if weights is None else list(weights), teachers, classes, queries, delta, threads,
        )
        strategy = proven["strategy"]
        return LabelBound(
            epsilon=float(proven["epsilon"]),
            strategy=None if strategy is None else float(strategy),
            vector_epsilon=float(proven["vector_epsilon"]),
            delta=delta,
            queries=queries,
            teachers=teachers,
            classes=classes,
            mechanism=mechanism,
            noise=float(proven["mechanism"]["noise"]),
        )
    chosen = _chosen(setting)
    turnout = None if voters is None else str(voters)
    found = _native.bound(chosen._native, teachers, classes, turnout, queries, delta, threads)
    worst = found["exact"].get("worst_found")
    by_moments, exact = float(found["epsilon"]), float(found["exact"]["epsilon"])
    return Bound(
        epsilon=min(by_moments, exact),
        by_moments=by_moments,
        exact=exact,
        worst_found=None if worst is None else float(worst),
        delta=delta,
        queries=found["queries"],
        teachers=teachers,
        classes=classes,
        setting=chosen,
        holds_for=found.get("holds_for", f"all votes of {teachers} teachers on every sample"),
    )


@_suggesting
def queries_within(
    epsilon: float,
    setting: Setting | str | None = None,
    *,
    teachers: int,
    classes: int,
    delta: float = 1e-5,
) -> int:
    """How many labels cost at most this epsilon, by moments."""
    check_counts(teachers=teachers, classes=classes)
    return _native.queries_within(_setting(setting), epsilon, teachers, classes, delta)


@_suggesting
def analyze(
    votes: Any,
    setting: Setting | str | None = None,
    *,
    classes: Classes = None,
    truth: Any = None,
    mechanism: MechanismName = "shield",
    noise: float = 40.0,
    noise_law: Literal["laplace", "skellam"] | None = None,
    dropouts: int = 0,
    rate: float = 0.05,
    schedule: str = "16x0.05,16x0.03,32x0.02",
    threshold: float | None = None,
    check_noise: float | None = None,
    queries: int | None = None,
    delta: float = 1e-5,
    threads: int | None = None,
) -> Analysis:
    """Accuracy and cost of a mechanism on given votes.

    `setting` is SHIELD's, and its offset that of exponential-operator, whose rounds and rates are
    the `schedule`. `noise` is what lnmax, gnmax, confident-gnmax and noisy-argmax add, in votes;
    noisy-argmax takes `noise_law` (laplace by default) and `dropouts`, too. `rate` is what a vote
    weighs in the exponent of exponential and permute-and-flip. confident-gnmax answers where the
    leader seems to have `threshold` votes (by default half of them), with noise `check_noise` in
    that question. Costs are stated for as many queries as there are samples, unless `queries` says
    otherwise.
    """
    check_counts(queries=queries, threads=threads, dropouts=dropouts)
    array, names = as_votes(votes, classes, truth)
    true = as_labels(truth, names)
    found = _native.analyze(
        array, true, _classes(classes, names), mechanism, _setting(setting),
        (noise, noise_law, dropouts, rate, schedule, threshold, check_noise), queries, delta,
        threads,
    )
    costs, accuracy = found["epsilon"], found["accuracy"]
    exact = costs.get("exact") or {}
    proven = min(
        float(costs["data_independent"]), float(exact.get("data_independent", float("inf")))
    )
    private = {key: float(costs[key]) for key in ("published", "renyi", "teacher_wise")}
    if "teacher_wise" in exact:
        private["teacher_wise_exact"] = float(exact["teacher_wise"])
    right = accuracy.get("correct_labels")
    _tell_thin(found["thin"])
    return Analysis(
        mechanism=found["mechanism"]["name"],
        ground_truth_accuracy=accuracy["ground_truth"],
        argmax=accuracy["argmax"],
        failure=accuracy["failure"],
        correct=None if right is None else right / found["votes"]["samples"],
        epsilon=proven,
        queries=found["queries"],
        delta=found["delta"],
        holds_against_server=found["holds_against_server"],
        private=MappingProxyType(private),
        holds_for=found["price"]["holds_for"],
        turnout=found["price"]["turnout"],
    )


@_suggesting
def tune(
    votes: Any,
    *,
    classes: Classes = None,
    truth: Any = None,
    max_degree: int = 4,
    max_terms: int = 20,
    offsets: Iterable[int] | None = None,
    sampling: str = "with-replacement",
    target_epsilon: float | None = None,
    time_limit: float | None = 20.0,
    queries: int | None = None,
    delta: float = 1e-5,
    threads: int | None = None,
    progress: Progress = False,
) -> Front:
    """The Pareto front of privacy and accuracy over polynomials and offsets.

    Without `offsets` those that fit the votes and the target. With `target_epsilon` and too many
    polynomials to look at all, a climb to the most accurate one that costs at most that. The search
    ends after `time_limit` seconds, with what was found by then.

    The choice depends on the votes: take votes whose privacy does not matter, or `recommend`.
    """
    offsets = list(offsets or ())
    counts = {"queries": queries, "threads": threads}
    check_counts(max_degree=max_degree, max_terms=max_terms, **counts)
    for offset in offsets:
        check_counts(offset=offset)
    array, names = as_votes(votes, classes, truth)
    true = as_labels(truth, names)
    with reporting(progress, "tune", " settings") as tell:
        found = _native.tune(
            array, true, _classes(classes, names), max_degree, max_terms, offsets, sampling,
            (target_epsilon, time_limit), queries, delta, threads, tell,
        )
    points = tuple(
        Point(
            Setting(point["polynomial"], point["offset"], sampling),
            float(point["epsilon"]),
            point["right"] if true is not None else point["ground_truth"],
        )
        for point in found["front"]
    )
    measure = "ground-truth accuracy" if true is None else "right labels"
    return Front(points, found["queries"], found["delta"], found["exhaustive"], measure)


@_suggesting
def compare(
    votes: Any,
    *,
    classes: Classes = None,
    truth: Any = None,
    epsilons: float | Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    queries: int | None = None,
    delta: float = 1e-5,
    threads: int | None = None,
    progress: Progress = False,
) -> Comparison:
    """Every mechanism at its best setting for each epsilon, on given votes."""
    check_counts(queries=queries, threads=threads)
    array, names = as_votes(votes, classes, truth)
    budgets = [epsilons] if isinstance(epsilons, (int, float)) else epsilons
    true = as_labels(truth, names)
    with reporting(progress, "compare", " steps") as tell:
        found = _native.compare(
            array, true, _classes(classes, names), [float(e) for e in budgets], queries, delta,
            threads, tell,
        )
    rows = tuple(
        ComparisonRow(**{**row, "epsilon": float(row["epsilon"])}) for row in found["rows"]
    )
    return Comparison(rows, found["queries"], found["delta"], tuple(found["verdicts"]))


@_suggesting
def recommend(
    *,
    teachers: int,
    classes: int,
    queries: int,
    epsilon: float,
    against: Literal["readers", "server"] = "readers",
    answered: float | None = None,
    delta: float = 1e-5,
    threads: int | None = None,
) -> Recommendation:
    """What to take for a planned election, and why. It depends on no votes.

    `against="server"` asks for an epsilon that holds against the server, too; `answered` for labels
    of that share of the samples alone, those with the clearest votes.
    """
    check_counts(teachers=teachers, classes=classes, queries=queries, threads=threads)
    wishes = (_server(against), answered)
    found = _native.recommend(teachers, classes, queries, epsilon, wishes, delta, threads)
    taken = found["decision"]
    fits = "polynomial" in found
    return Recommendation(
        decision=Decision(**{**taken, "epsilon": float(taken["epsilon"])}),
        setting=Setting(found["polynomial"], found["offset"]) if fits else None,
        epsilon=float(found["epsilon"]) if fits else None,
        expected_right=found.get("expected_right"),
        profile=found.get("profile"),
        ballot_bytes=found.get("ballot_bytes"),
        seconds=found.get("seconds"),
    )


def _server(against: str) -> bool:
    if against not in ("readers", "server"):
        raise _native.ShieldError(f"against is {against!r}; it must be 'readers' or 'server'")
    return against == "server"


def _tell_thin(sentence: str | None) -> None:
    """Warns of samples with few voters."""
    if sentence:
        warnings.warn(sentence, ThinRowsWarning, stacklevel=4)


@_suggesting
def label(
    votes: Any,
    setting: Setting | str | None = None,
    *,
    epsilon: float | None = None,
    classes: Classes = None,
    engine: Literal["clear", "bfv"] = "clear",
    mechanism: MechanismName | None = None,
    noise: float = 40.0,
    noise_law: Literal["skellam", "laplace"] | None = None,
    dropouts: int = 0,
    rate: float = 0.05,
    schedule: str = "16x0.05,16x0.03,32x0.02",
    threshold: float | None = None,
    check_noise: float | None = None,
    against: Literal["readers", "server"] = "readers",
    answered: float | None = None,
    insecure_seed: int | None = None,
    queries: int | None = None,
    delta: float = 1e-5,
    threads: int | None = None,
    progress: Progress = False,
) -> Labelling:
    """Labels samples from votes: teachers, server and student in one process.

    With `epsilon` the mechanism and its setting are those that `recommend` gives for the shape of
    the votes, so that the choice gives nothing away; with `mechanism` that one at its best.
    `against="server"` takes one whose epsilon holds against the server, too, and `answered` labels
    that share of the samples, those with the clearest votes.

    Without it, mechanisms have options as in `analyze`; SHIELD is taken if none is named. The
    mechanism "noisy-argmax" is SPEED's: the class with the most votes after the teachers have added
    `noise` in shares, of the law "skellam" (the default of "bfv") or "laplace" (of "clear").
    Whoever runs this sees the votes, and private are the labels; the engine "bfv" does the same
    work encrypted and gives the same labels, more slowly, for SHIELD and the noisy argmax.

    `insecure_seed` makes a run repeatable, for tests: whoever knows it knows every draw.
    """
    check_counts(queries=queries, threads=threads, dropouts=dropouts, insecure_seed=insecure_seed)
    array, names = as_votes(votes, classes)
    count = _classes(classes, names)
    if mechanism not in (None, "shield", "exponential-operator") and setting is not None:
        raise _native.ShieldError(
            "a setting is SHIELD's rounds; give `noise` or another option for this mechanism"
        )
    budget = None
    if epsilon is not None:
        if setting is not None:
            raise _native.ShieldError("give a setting or an epsilon, not both")
        if count is None:
            raise _native.ShieldError(
                "give `classes` with `epsilon`: a number that is read off the votes says something"
                " about them"
            )
        budget = (float(epsilon), _server(against), answered)
    elif answered is not None or _server(against):
        raise _native.ShieldError("`answered` and `against` choose with an `epsilon`; give one")
    if insecure_seed is not None:
        warnings.warn(
            "insecure_seed makes every draw predictable, so the labels have no privacy; use it for"
            " tests only",
            InsecureSeedWarning,
            stacklevel=3,
        )
    options = (
        float(noise), noise_law, dropouts, rate, schedule,
        None if threshold is None else float(threshold), check_noise,
    )
    with reporting(progress, "label", " samples") as tell:
        labels, found = _native.label(
            array, count, mechanism, _setting(setting), options, budget, engine, insecure_seed,
            queries, delta, threads, tell,
        )
    _tell_thin(found["thin"])
    taken = found["description"]
    is_shield = taken["name"] == "shield"
    return Labelling(
        labels=labels,
        epsilon=float(found["epsilon"]),
        delta=found["delta"],
        queries=found["queries"],
        setting=Setting(taken["polynomial"], taken["offset"], taken["sampling"])
        if is_shield
        else None,
        seconds=found["seconds"],
        classes=names,
        mechanism=found["mechanism"],
        holds_against_server=found["holds_against_server"],
        brief=found["brief"],
        why=found["why"],
        holds_for=found["holds_for"],
    )


@_suggesting
def synthesize(
    *, teachers: int, classes: int, samples: int, seed: int = 1
) -> tuple[Votes, NDArray[np.int32]]:
    """Made-up votes with the profile of the paper's, and their true labels."""
    check_counts(teachers=teachers, classes=classes, samples=samples, seed=seed)
    cells, truth = _native.synthesize(teachers, classes, samples, seed)
    return Votes(cells.reshape(samples, teachers), tuple(range(classes))), truth
