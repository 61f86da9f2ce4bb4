"""Labels, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._display import html_table, percent
from ._setting import Setting

__all__ = ["Labelling"]


@dataclass(frozen=True, eq=False, repr=False)
class Labelling:
    """Labels, and what they cost."""

    labels: NDArray[np.int32]
    """One per sample; -1 where there is none."""
    epsilon: float
    """Proven for all votes there could be: may be published."""
    delta: float
    queries: int
    setting: Setting | None
    """SHIELD's; none for another mechanism."""
    seconds: Mapping[str, float]
    """How long each role took."""
    classes: tuple[Any, ...] | None = None
    """What the numbers mean, where `collect` made the votes."""
    mechanism: str = "shield"
    holds_against_server: bool = False
    """Whether the epsilon holds against a server that sees the labels, too."""
    brief: str = ""
    """The mechanism's setting, in a few words."""
    why: str = ""
    """Why it was chosen, where an epsilon chose it."""
    holds_for: str = "all votes there could be"
    """What the epsilon is proven for."""

    def __post_init__(self) -> None:
        self.labels.setflags(write=False)
        object.__setattr__(self, "seconds", MappingProxyType(dict(self.seconds)))

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            type(self),
            (
                np.array(self.labels),
                self.epsilon,
                self.delta,
                self.queries,
                self.setting,
                dict(self.seconds),
                self.classes,
                self.mechanism,
                self.holds_against_server,
                self.brief,
                self.why,
                self.holds_for,
            ),
        )

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which samples have a label."""
        return np.asarray(self.labels >= 0)

    def training_set(self, X: Any) -> tuple[Any, NDArray[Any]]:
        """The samples that have a label, and their labels: what a student is fitted with."""
        kept = np.flatnonzero(self.labelled)
        rows = X.iloc[kept] if hasattr(X, "iloc") else np.asarray(X)[kept]
        labels = self.labels[kept]
        return rows, labels if self.classes is None else np.asarray(self.classes)[labels]

    def to_frame(self) -> Any:
        """One row per sample, as a pandas frame; a sample without a label is missing."""
        names: list[Any] = [
            None if label < 0 else int(label) if self.classes is None else self.classes[label]
            for label in self.labels.tolist()
        ]
        import pandas

        dtype = "Int32" if self.classes is None else None
        return pandas.DataFrame({"label": pandas.array(names, dtype=dtype)})

    def _counts(self) -> list[tuple[str, int]]:
        """How many samples have each label."""
        names: Sequence[Any] = self.classes or range(int(self.labels.max(initial=-1)) + 1)
        counts = np.bincount(self.labels[self.labelled], minlength=len(names)).tolist()
        return [(str(name), count) for name, count in zip(names, counts)]

    def plot(self, ax: Any = None) -> Any:
        """Draws how many samples have each label with matplotlib; gives the axes."""
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots()
        counts = [*self._counts(), ("no label", int((~self.labelled).sum()))]
        ax.barh([name for name, _ in counts], [count for _, count in counts])
        ax.invert_yaxis()
        ax.set_xlabel("samples")
        ax.set_title(f"{len(self)} labels for epsilon {self.epsilon:.3g} at delta {self.delta:g}")
        return ax

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.labels, dtype=dtype) if copy else np.asarray(self.labels, dtype=dtype)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[int]:
        return iter(self.labels.tolist())

    def __getitem__(self, index: Any) -> Any:
        return self.labels[index]

    def __repr__(self) -> str:
        shown = np.array2string(self.labels, threshold=12, edgeitems=5)
        return (
            f"Labelling({len(self)} labels, {int((~self.labelled).sum())} samples without,"
            f" epsilon={self.epsilon:.4f} at delta={self.delta:g},\n  labels={shown})"
        )

    def _repr_html_(self) -> str:
        rows = [(name, str(count)) for name, count in self._counts()]
        rows.append(("no label", str(int((~self.labelled).sum()))))
        caption = f"{len(self)} labels for epsilon {self.epsilon:.3f} at delta {self.delta:g}"
        why = f" Chosen because {self.why}." if self.why else ""
        note = f"{self.mechanism}, {self.brief}; proven for {self.holds_for}.{why}"
        return html_table(("class", "samples"), rows, caption, note)
