"""What labels cost, how good they are, and the labels themselves."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._numbers import check_counts
from ._progress import Progress, reporting
from ._results import (
    Analysis,
    Bound,
    Comparison,
    ComparisonRow,
    Front,
    LabelBound,
    Labelling,
    Point,
    Recommendation,
    Setting,
)
from ._votes import Votes, as_labels, as_votes

__all__ = [
    "InsecureSeedWarning",
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


class InsecureSeedWarning(UserWarning):
    """Labels whose draws anybody can repeat have no privacy."""


def _classes(classes: int | None, names: tuple[Any, ...] | None) -> int | None:
    return classes if classes is not None or names is None else len(names)


def _setting(setting: Setting | None) -> tuple[str, int, str]:
    return (setting or Setting())._native


@overload
def bound(
    setting: Setting | None = None,
    *,
    teachers: int,
    classes: int,
    mechanism: Literal["shield"] = "shield",
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


def bound(
    setting: Setting | None = None,
    *,
    teachers: int,
    classes: int,
    mechanism: Literal["shield", "noisy-argmax", "lnmax", "gnmax"] = "shield",
    noise: float = 40.0,
    noise_law: Literal["laplace", "skellam", "bits"] = "skellam",
    weights: Sequence[int] | None = None,
    dropouts: int = 0,
    queries: int = 100,
    delta: float = 1e-5,
    threads: int | None = None,
) -> Bound | LabelBound:
    """Proves what labels cost, for all votes there could be: needs none.

    With `mechanism="noisy-argmax"`, "lnmax" or "gnmax" what the labels of an argmax of noisy counts
    cost. Its `noise_law="bits"` takes the `weights` of the fair bits in a teacher's share.
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
    chosen = setting or Setting()
    found = _native.bound(chosen._native, teachers, classes, queries, delta, threads)
    by_moments, exact = float(found["epsilon"]), float(found["exact"]["epsilon"])
    return Bound(
        epsilon=min(by_moments, exact),
        by_moments=by_moments,
        exact=exact,
        worst_found=float(found["exact"]["worst_found"]),
        delta=delta,
        queries=queries,
        teachers=teachers,
        classes=classes,
        setting=chosen,
    )


def queries_within(
    epsilon: float,
    setting: Setting | None = None,
    *,
    teachers: int,
    classes: int,
    delta: float = 1e-5,
) -> int:
    """How many labels cost at most this epsilon, by moments."""
    check_counts(teachers=teachers, classes=classes)
    return _native.queries_within(_setting(setting), epsilon, teachers, classes, delta)


def analyze(
    votes: Any,
    setting: Setting | None = None,
    *,
    classes: int | None = None,
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
    check_counts(classes=classes, queries=queries, threads=threads, dropouts=dropouts)
    array, names = as_votes(votes)
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
    )


def tune(
    votes: Any,
    *,
    classes: int | None = None,
    truth: Any = None,
    max_degree: int = 4,
    max_terms: int = 20,
    offsets: Iterable[int] = (2, 5, 10),
    sampling: str = "with-replacement",
    queries: int | None = None,
    delta: float = 1e-5,
    threads: int | None = None,
    progress: Progress = False,
) -> Front:
    """The Pareto front of privacy and accuracy over polynomials and offsets.

    The choice depends on the votes: take votes whose privacy does not matter, or `recommend`.
    """
    offsets = list(offsets)
    counts = {"classes": classes, "queries": queries, "threads": threads}
    check_counts(max_degree=max_degree, max_terms=max_terms, **counts)
    for offset in offsets:
        check_counts(offset=offset)
    array, names = as_votes(votes)
    true = as_labels(truth, names)
    with reporting(progress, "tune", " settings") as tell:
        found = _native.tune(
            array, true, _classes(classes, names), max_degree, max_terms, offsets, sampling,
            queries, delta, threads, tell,
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


def compare(
    votes: Any,
    *,
    classes: int | None = None,
    truth: Any = None,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0, 4.0),
    queries: int | None = None,
    delta: float = 1e-5,
    threads: int | None = None,
    progress: Progress = False,
) -> Comparison:
    """Every mechanism at its best setting for each epsilon, on given votes."""
    check_counts(classes=classes, queries=queries, threads=threads)
    array, names = as_votes(votes)
    true = as_labels(truth, names)
    with reporting(progress, "compare", " steps") as tell:
        found = _native.compare(
            array, true, _classes(classes, names), [float(e) for e in epsilons], queries, delta,
            threads, tell,
        )
    rows = tuple(
        ComparisonRow(**{**row, "epsilon": float(row["epsilon"])}) for row in found["rows"]
    )
    return Comparison(rows, found["queries"], found["delta"])


def recommend(
    *,
    teachers: int,
    classes: int,
    queries: int,
    epsilon: float,
    delta: float = 1e-5,
    threads: int | None = None,
) -> Recommendation:
    """The best setting known for a planned election. It depends on no votes."""
    check_counts(teachers=teachers, classes=classes, queries=queries, threads=threads)
    found = _native.recommend(teachers, classes, queries, epsilon, delta, threads)
    return Recommendation(
        setting=Setting(found["polynomial"], found["offset"]),
        epsilon=float(found["epsilon"]),
        expected_right=found["expected_right"],
        profile=found["profile"],
        ballot_bytes=found["ballot_bytes"],
        seconds=found["seconds"],
    )


def label(
    votes: Any,
    setting: Setting | None = None,
    *,
    epsilon: float | None = None,
    classes: int | None = None,
    engine: Literal["clear", "bfv"] = "clear",
    mechanism: Literal["shield", "noisy-argmax"] = "shield",
    noise: float = 40.0,
    noise_law: Literal["skellam", "laplace"] | None = None,
    dropouts: int = 0,
    insecure_seed: int | None = None,
    queries: int | None = None,
    delta: float = 1e-5,
    threads: int | None = None,
    progress: Progress = False,
) -> Labelling:
    """Labels samples from votes: teachers, server and student in one process.

    With `epsilon` the setting is the one that `recommend` gives for the shape of the votes, so
    that the choice gives nothing away. Whoever runs this sees the votes, and private are the
    labels; the engine "bfv" does the same work encrypted and gives the same labels, more slowly.

    The mechanism "noisy-argmax" is SPEED's: the class with the most votes after the teachers have
    added `noise` in shares, of the law "skellam" (the default of "bfv") or "laplace" (of "clear");
    `dropouts` teachers may be missing. Its epsilon holds against the server, too.

    `insecure_seed` makes a run repeatable, for tests: whoever knows it knows every draw.
    """
    check_counts(
        classes=classes, queries=queries, threads=threads, dropouts=dropouts,
        insecure_seed=insecure_seed,
    )
    array, names = as_votes(votes)
    count = _classes(classes, names)
    if mechanism == "noisy-argmax":
        if setting is not None or epsilon is not None:
            raise _native.ShieldError(
                "a setting and an epsilon choose SHIELD's rounds; give `noise` for a noisy argmax"
            )
    elif mechanism != "shield":
        raise _native.ShieldError(
            f"`{mechanism}` labels nothing here; take shield or noisy-argmax, and `analyze` for"
            " others"
        )
    if epsilon is not None:
        if setting is not None:
            raise _native.ShieldError("give a setting or an epsilon, not both")
        if count is None:
            raise _native.ShieldError(
                "give `classes` with `epsilon`: a number that is read off the votes says something"
                " about them"
            )
        if array.ndim != 2:
            raise _native.ShieldError("votes are a table, samples x teachers")
        samples, teachers = array.shape
        setting = recommend(
            teachers=teachers,
            classes=count,
            queries=samples if queries is None else queries,
            epsilon=epsilon,
            delta=delta,
            threads=threads,
        ).setting
    chosen = setting or Setting()
    added = (float(noise), noise_law, dropouts) if mechanism == "noisy-argmax" else None
    if insecure_seed is not None:
        warnings.warn(
            "insecure_seed makes every draw predictable, so the labels have no privacy; use it for"
            " tests only",
            InsecureSeedWarning,
            stacklevel=2,
        )
    with reporting(progress, "label", " samples") as tell:
        labels, found = _native.label(
            array, count, chosen._native, added, engine, insecure_seed, queries, delta, threads,
            tell,
        )
    return Labelling(
        labels=labels,
        epsilon=float(found["epsilon"]),
        delta=found["delta"],
        queries=found["queries"],
        setting=chosen if added is None else None,
        seconds=found["seconds"],
        classes=names,
        mechanism=found["mechanism"],
        holds_against_server=found["holds_against_server"],
    )


def synthesize(
    *, teachers: int, classes: int, samples: int, seed: int = 1
) -> tuple[Votes, NDArray[np.int32]]:
    """Made-up votes with the profile of the paper's, and their true labels."""
    check_counts(teachers=teachers, classes=classes, samples=samples, seed=seed)
    cells, truth = _native.synthesize(teachers, classes, samples, seed)
    return Votes(cells.reshape(samples, teachers), tuple(range(classes))), truth
