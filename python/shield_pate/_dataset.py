"""From a dataset to a labelled dataset in one call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ._asking import Journal, ask_all, name_of, predict_of
from ._display import percent
from ._functions import label
from ._labelling import Labelling
from ._native import SecondDrawError, ShieldError, __version__
from ._progress import Progress, reporting
from ._setting import Setting
from ._tables import Table
from ._votes import Votes

__all__ = ["LabelledDataset", "label_dataset"]


@dataclass(frozen=True, eq=False, repr=False)
class LabelledDataset:
    """A dataset with private labels, and what they cost."""

    dataset: Any
    """What was given, with a column of labels and one that says which samples have one."""
    labelling: Labelling
    """The labels as numbers, their mechanism and their price."""
    teachers: int
    label_column: str
    """The name of the column of labels."""

    @property
    def epsilon(self) -> float:
        """Proven for all votes there could be: may be published."""
        return self.labelling.epsilon

    @property
    def answered(self) -> float:
        """The share of samples that have a label."""
        return float(np.mean(self.labelling.labelled))

    def card(self) -> str:
        """A page about the labels, in Markdown, to publish with them. It says nothing about the
        votes but the labels themselves."""
        made = self.labelling
        names = ", ".join(map(str, made.classes or ()))
        how = made.mechanism if made.setting is None else (
            f"{made.mechanism}, polynomial {made.setting.polynomial}, offset {made.setting.offset}"
        )
        against = (
            "everybody who sees the labels, the server that aggregates included"
            if made.holds_against_server
            else "everybody who sees the labels but whoever aggregated the votes"
        )
        return f"""# Private labels

The column `{self.label_column}` holds labels that {self.teachers} teachers voted on. Each sample's
label is drawn so that it says little about the vote of any one teacher.

| | |
|---|---|
| samples | {len(made)}, of which {percent(self.answered)} have a label |
| teachers | {self.teachers} |
| classes | {names} |
| mechanism | {how} |
| epsilon | {made.epsilon:.4f} for all {made.queries} labels together |
| delta | {made.delta:g} |
| neighbours | replacing all votes of one teacher |
| proven for | all votes there could be |
| protects against | {against} |
| made with | shield-pate {__version__} |

Further labels from the same teachers cost more on top of this: add the figures up. What is done
with these labels, training included, costs nothing more. The samples themselves are not protected.
"""

    def __repr__(self) -> str:
        return (
            f"<LabelledDataset of {len(self.labelling)} samples, {percent(self.answered)} answered,"
            f" epsilon {self.epsilon:.4f} at delta {self.labelling.delta:g}>"
        )


def label_dataset(
    dataset: Any,
    teachers: Iterable[Any],
    *,
    classes: Sequence[Any],
    epsilon: float | None = None,
    column: str | None = None,
    label_column: str = "label",
    answered_column: str = "answered",
    journal: str | PathLike[str] | None = None,
    batch: int = 64,
    workers: int = 1,
    retries: int = 3,
    progress: Progress = False,
    **options: Any,
) -> LabelledDataset:
    """Asks all teachers about a dataset, and labels it with what they say, privately.

    `dataset` is a frame of pandas or polars, a table of Arrow, a dataset of HuggingFace (streaming
    or not), or rows; it comes back with two more columns. Teachers are functions from a list of
    samples to a class for each (None abstains), fitted estimators with `predict`, actors of Ray
    with a method `predict`, or a `ChatTeacher`. They are asked about the values of `column`, or
    about whole rows; `workers` of them at a time, `batch` samples at a time, with `retries` more
    tries when one fails.

    `journal` is a folder: votes are kept there as they come, so that a call that was interrupted
    goes on where it ended, and labels that were drawn are drawn once. It holds votes in the clear:
    keep it as private as they are.

    `epsilon` and all other options are those of `label`.
    """
    asked = list(teachers)
    if not asked:
        raise ShieldError("there are no teachers; give at least one function or estimator")
    for number, teacher in enumerate(asked):
        predict_of(teacher, number)
    if len(set(classes)) != len(classes) or len(classes) < 2:
        raise ShieldError("give two `classes` or more, each once: all there could be")
    if batch < 1 or workers < 1 or retries < 0:
        raise ShieldError("`batch` and `workers` are at least 1, `retries` at least 0")
    table = Table(dataset, column)
    for name in (label_column, answered_column):
        if name in table.columns:
            raise ShieldError(
                f"the dataset has a column `{name}` already; give another `label_column` or"
                " `answered_column`"
            )
    kept = None
    if journal is not None:
        kept = Journal(
            Path(journal),
            {
                "format": 1,
                "samples": table.digest(),
                "classes": [str(name) for name in classes],
                "teachers": [name_of(teacher, number) for number, teacher in enumerate(asked)],
            },
        )
    with reporting(progress, "ask", " votes") as tell:
        array = ask_all(
            asked, table.samples, classes, journal=kept, batch=batch, workers=workers,
            retries=retries, tell=tell,
        )
    votes = Votes(array, tuple(classes))
    labelling = _label_once(kept, votes, {"epsilon": epsilon, **options}, progress)
    answers = [None if number < 0 else classes[number] for number in labelling.labels.tolist()]
    labelled = table.with_columns(
        {label_column: answers, answered_column: labelling.labelled.tolist()}
    )
    return LabelledDataset(labelled, labelling, len(asked), label_column)


def _label_once(
    journal: Journal | None, votes: Votes, options: dict[str, Any], progress: Progress
) -> Labelling:
    """Labels of these votes; those of the journal, if they were drawn before.

    A second draw would be a second release of the same votes, and cost as much again.
    """
    settings = hashlib.blake2b(
        json.dumps(options, sort_keys=True, default=repr).encode(), digest_size=16
    ).hexdigest()
    found = journal.read("labels.json") if journal is not None else None
    if journal is not None and found is not None:
        if found.get("settings") != settings:
            raise SecondDrawError(
                f"{journal.folder} has labels of these votes already, at epsilon"
                f" {found.get('epsilon')}; labels of another setting are paid for on top: delete"
                f" {journal.folder / 'labels.json'} if that is meant, and count both"
            )
        return _from_document(found["labelling"], votes.classes)
    made = label(votes, progress=progress, **options)
    if journal is not None:
        journal.write(
            "labels.json",
            {"settings": settings, "epsilon": made.epsilon, "labelling": _document(made)},
        )
    return made


def _document(made: Labelling) -> dict[str, Any]:
    """A labelling as JSON, without the names of its classes."""
    found = {field.name: getattr(made, field.name) for field in fields(made)}
    del found["classes"]
    setting = found["setting"]
    found["setting"] = None if setting is None else asdict(setting)
    return {**found, "labels": made.labels.tolist(), "seconds": dict(made.seconds)}


def _from_document(found: dict[str, Any], classes: tuple[Any, ...] | None) -> Labelling:
    setting = found["setting"]
    found = {
        **found,
        "labels": np.array(found["labels"], dtype=np.int32),
        "setting": None if setting is None else Setting(**setting),
    }
    return Labelling(**found, classes=classes)
