"""What the functions of this package return: frozen, readable, and ready for frames and plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._display import duration, html_table, percent, text_table
from ._setting import Rounded, Setting, frame

__all__ = [
    "Analysis",
    "Bound",
    "Comparison",
    "ComparisonRow",
    "Decision",
    "Front",
    "LabelBound",
    "Point",
    "Recommendation",
]


@dataclass(frozen=True, repr=False)
class Bound(Rounded):
    """What labels cost for all votes there could be. May be published."""

    epsilon: float
    """The smaller of the two proven figures: it counts."""
    by_moments: float
    exact: float
    """By tight composition."""
    worst_found: float | None
    """What the worst pair of votes that a search found costs: the true cost is no less. None where
    `voters` were given."""
    delta: float
    queries: int
    teachers: int
    classes: int
    setting: Setting
    holds_for: str = "all votes there could be"
    """What the epsilon is proven for."""

    def _rows(self) -> list[tuple[str, str]]:
        found = [] if self.worst_found is None else [("worst found", f"{self.worst_found:.4f}")]
        return [
            ("epsilon", f"{self.epsilon:.4f}, proven for {self.holds_for}"),
            ("by moments", f"{self.by_moments:.4f}"),
            ("by tight composition", f"{self.exact:.4f}"),
            *found,
            ("for", f"{self.queries} labels at delta {self.delta:g}"),
            ("election", f"{self.teachers} teachers, {self.classes} classes"),
            ("setting", f"{self.setting.polynomial}, offset {self.setting.offset}"),
        ]

    def _repr_html_(self) -> str:
        return html_table(("", ""), self._rows(), "What the labels cost")


@dataclass(frozen=True, repr=False)
class LabelBound(Rounded):
    """What the labels of a noisy argmax cost for all votes there could be. May be published."""

    epsilon: float
    """Proven, where nothing but the labels is seen."""
    strategy: float | None
    """What an adversary achieves who chooses votes query by query: no proof can say less."""
    vector_epsilon: float
    """Proven, where all noisy counts are seen."""
    delta: float
    queries: int
    teachers: int
    classes: int
    mechanism: str
    noise: float
    """Its scale if it is Laplace noise, else its deviation, in votes."""

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("epsilon", f"{self.epsilon:.4f}, proven for all votes there could be")]
        if self.strategy is not None:
            rows.append(("worst strategy found", f"{self.strategy:.4f}"))
        rows += [
            ("were all noisy counts seen", f"{self.vector_epsilon:.4f}"),
            ("for", f"{self.queries} labels at delta {self.delta:g}"),
            ("election", f"{self.teachers} teachers, {self.classes} classes"),
            ("mechanism", f"{self.mechanism}, noise {self.noise:g}"),
        ]
        return rows

    def _repr_html_(self) -> str:
        return html_table(("", ""), self._rows(), "What the labels cost")


@dataclass(frozen=True, repr=False)
class Analysis:
    """How good a mechanism's labels are on given votes, and what they cost."""

    mechanism: str
    ground_truth_accuracy: float
    """How likely a random voter agrees with the label."""
    argmax: float
    """The share of labels that equal the majority's."""
    failure: float
    """The share of samples without a label."""
    correct: float | None
    """The share of right labels, where the truth is known."""
    epsilon: float
    """Proven for all votes there could be: may be published."""
    queries: int
    delta: float
    holds_against_server: bool
    private: Mapping[str, float] = field(hash=False)
    """Costs that are computed from the votes and so say something about them: never publish."""
    holds_for: str = "all votes there could be"
    """What the epsilon is proven for."""
    turnout: str = ""
    """Samples x voters, as `bound(voters=...)` takes it."""

    def to_frame(self) -> Any:
        """One row per cost, as a pandas frame; `may_be_published` tells them apart."""
        rows = [{"figure": "epsilon", "value": self.epsilon, "may_be_published": True}]
        rows += [
            {"figure": name, "value": value, "may_be_published": False}
            for name, value in self.private.items()
        ]
        return frame(rows)

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("mechanism", self.mechanism)]
        if self.correct is not None:
            rows.append(("right labels", percent(self.correct)))
        rows += [
            ("labels as the majority's", percent(self.argmax)),
            ("ground-truth accuracy", percent(self.ground_truth_accuracy)),
            ("no label", percent(self.failure)),
            ("epsilon", f"{self.epsilon:.4f} for {self.queries} labels at delta {self.delta:g}"),
            ("proven for", self.holds_for),
            ("holds against the server", "yes" if self.holds_against_server else "no"),
        ]
        rows += [
            (f"{name} (DO NOT PUBLISH)", f"{value:.4f}") for name, value in self.private.items()
        ]
        return rows

    def __repr__(self) -> str:
        lines = "\n".join(f"  {name + ':':<36}{value}" for name, value in self._rows())
        return f"Analysis\n{lines}"

    def _repr_html_(self) -> str:
        note = "What is marked DO NOT PUBLISH is computed from the votes, and tells of them."
        return html_table(("", ""), self._rows(), "Accuracy and cost", note)


@dataclass(frozen=True, repr=False)
class Point(Rounded):
    """A setting, what it costs and how accurate it is."""

    setting: Setting
    epsilon: float
    accuracy: float
    """The share of right labels where the truth was given, else ground-truth accuracy."""


@dataclass(frozen=True, repr=False)
class Front(Sequence[Point]):
    """The Pareto front: nothing else found is both cheaper and more accurate."""

    points: tuple[Point, ...]
    queries: int
    delta: float
    exhaustive: bool
    """Whether every polynomial of the search was looked at."""
    measure: str
    """What `accuracy` is: "right labels" or "ground-truth accuracy"."""

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | Sequence[Point]:
        return self.points[index]

    def __len__(self) -> int:
        return len(self.points)

    def best(self, *, epsilon: float) -> Setting:
        """The most accurate setting that costs at most this epsilon."""
        fitting = [point for point in self.points if point.epsilon <= epsilon]
        if not fitting:
            cheapest = f"; the cheapest costs {self.points[0].epsilon:.3f}" if self.points else ""
            raise _native.ShieldError(
                f"no setting of this front costs at most {epsilon}{cheapest}: allow more, or"
                " search larger offsets"
            )
        return fitting[-1].setting

    def to_frame(self) -> Any:
        """One row per setting, as a pandas frame."""
        return frame(
            [
                {
                    "polynomial": point.setting.polynomial,
                    "offset": point.setting.offset,
                    "epsilon": point.epsilon,
                    "accuracy": point.accuracy,
                    "rounds": point.setting.rounds,
                }
                for point in self.points
            ]
        )

    def plot(self, ax: Any = None) -> Any:
        """Draws the front with matplotlib; gives the axes."""
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots()
        ax.plot([p.epsilon for p in self.points], [p.accuracy for p in self.points], marker="o")
        ax.set_xlabel(f"epsilon of {self.queries} labels, delta {self.delta:g}")
        ax.set_ylabel(self.measure)
        ax.grid(alpha=0.3)
        return ax

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        rows: list[tuple[str, ...]] = [
            (p.setting.polynomial, str(p.setting.offset), f"{p.epsilon:.3f}", percent(p.accuracy))
            for p in self.points
        ]
        return ("polynomial", "offset", "epsilon", self.measure), rows

    def __repr__(self) -> str:
        return f"Front of {len(self)} settings\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        note = f"For {self.queries} labels at delta {self.delta:g}, proven for all votes."
        return html_table(*self._table(), "Pareto front", note)


@dataclass(frozen=True, repr=False)
class ComparisonRow(Rounded):
    """One mechanism at its best setting for a budget."""

    mechanism: str
    #: Which samples it labels: "all", or those "where-sure".
    answers: str
    setting: str
    budget: float
    epsilon: float
    right: float
    #: The share of samples that get a label, and of right ones among those labels.
    answered: float
    precision: float
    holds_against_server: bool
    seconds_per_sample: float | None
    #: The setting in a few words.
    brief: str = ""
    #: Whether it is the best of its kind at its budget.
    best: bool = False

    @property
    def name(self) -> str:
        """The mechanism, with what tells it from others of that name."""
        law = next((law for law in ("Laplace", "Skellam") if law in self.setting), None)
        shares = f", {law}" if law and self.mechanism == "noisy-argmax" else ""
        return f"{self.mechanism}{shares}{'' if self.answers == 'all' else ', where sure'}"


@dataclass(frozen=True, repr=False)
class Comparison(Sequence[ComparisonRow]):
    """Every mechanism at its best setting for each epsilon, on the same votes."""

    rows: tuple[ComparisonRow, ...]
    queries: int
    delta: float
    verdicts: tuple[str, ...] = ()
    """What to take at each budget, in a sentence."""

    @overload
    def __getitem__(self, index: int) -> ComparisonRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ComparisonRow]: ...
    def __getitem__(self, index: int | slice) -> ComparisonRow | Sequence[ComparisonRow]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> Any:
        """One row per mechanism and budget, as a pandas frame."""
        return frame([vars(row) for row in self.rows])

    def plot(self, ax: Any = None) -> Any:
        """Draws right labels over epsilon with matplotlib, a line per mechanism that labels every
        sample; those that answer where they are sure are in the table."""
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots()
        rows = [row for row in self.rows if row.answers == "all"]
        for name in dict.fromkeys(row.name for row in rows):
            right = {row.budget: row.right for row in rows if row.name == name}
            ax.plot(list(right), list(right.values()), marker="o", label=name)
        ax.set_xlabel(f"epsilon of {self.queries} labels, delta {self.delta:g}")
        ax.set_ylabel("right labels")
        ax.legend()
        ax.grid(alpha=0.3)
        return ax

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        header = (
            "mechanism", "setting", "epsilon", "right", "answered", "of those", "server",
            "a sample",
        )
        rows: list[tuple[str, ...]] = [
            (
                f"{'* ' if row.best else '  '}{row.mechanism}"
                f"{'' if row.answers == 'all' else ' if sure'}",
                row.brief,
                f"{row.epsilon:.2f}",
                f"{100 * row.right:.1f}%",
                f"{100 * row.answered:.1f}%",
                f"{100 * row.precision:.1f}%",
                "yes" if row.holds_against_server else "no",
                duration(row.seconds_per_sample),
            )
            for row in self.rows
        ]
        return header, rows

    def __repr__(self) -> str:
        return "\n".join([f"Comparison\n{text_table(*self._table())}", *self.verdicts])

    def _repr_html_(self) -> str:
        note = f"Costs of {self.queries} labels at delta {self.delta:g}, proven for all votes."
        note = " ".join([note, *self.verdicts])
        return html_table(*self._table(), "Mechanisms", note)


@dataclass(frozen=True, repr=False)
class Decision(Rounded):
    """The mechanism to take, and why."""

    mechanism: str
    setting: str
    """In a few words."""
    epsilon: float
    right: float
    """The share of right labels among all made-up samples."""
    answered: float
    """The share of them that get a label."""
    precision: float
    """The share of right labels among those."""
    holds_against_server: bool
    why: str
    options: str
    """The options that say so to the program."""


@dataclass(frozen=True, repr=False)
class Recommendation(Rounded):
    """What to take for a planned election, found without any votes; the other figures are those of
    SHIELD's best setting, if it has one."""

    decision: Decision
    setting: Setting | None
    epsilon: float | None
    expected_right: float | None
    """The share of right labels on made-up votes."""
    profile: str | None
    ballot_bytes: int | None
    """Of one teacher, per batch."""
    seconds: float | None
    """Of one core, for the aggregation of all samples, estimated."""

    def _repr_html_(self) -> str:
        taken = self.decision
        server = "the server included" if taken.holds_against_server else "but not the server"
        rows = [
            ("take", f"{taken.mechanism}, {taken.setting}"),
            ("because", taken.why),
            ("right labels", f"{percent(taken.right)}, on made-up votes"),
            ("epsilon", f"{taken.epsilon:.3f}, against all who see the labels, {server}"),
        ]
        if self.setting is not None:
            rows += self._shield()
        return html_table(("", ""), rows, "Recommendation")

    def _shield(self) -> list[tuple[str, str]]:
        if self.setting is None:
            return []
        return [
            ("SHIELD's polynomial", self.setting.polynomial),
            ("its offset", str(self.setting.offset)),
            ("its epsilon", f"{self.epsilon:.3f}, proven for all votes there could be"),
            ("its right labels", f"{percent(self.expected_right)}, on made-up votes"),
            ("its engine", self.profile or ""),
            ("its ballot", f"{self.ballot_bytes:,} bytes per teacher and batch"),
            ("its aggregation", f"about {duration(self.seconds)} of one core"),
        ]
