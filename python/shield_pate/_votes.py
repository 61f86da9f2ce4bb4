"""Votes from whatever people have them in, and from fitted estimators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._native import ShieldError

__all__ = ["ShapeWarning", "Votes", "collect"]


@dataclass(frozen=True, eq=False, repr=False)
class Votes:
    """Votes of teachers on samples, with the classes that their numbers mean."""

    array: NDArray[np.integer[Any]]
    """Samples x teachers; -1 abstains."""
    classes: tuple[Any, ...]
    """What each number is: the labels that the teachers were fitted with."""

    @property
    def samples(self) -> int:
        return int(self.array.shape[0])

    @property
    def teachers(self) -> int:
        return int(self.array.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype) if copy else np.asarray(self.array, dtype=dtype)

    def __len__(self) -> int:
        return self.samples

    def __repr__(self) -> str:
        classes = ", ".join(str(name) for name in self.classes[:6])
        more = f" and {len(self.classes) - 6} more" if len(self.classes) > 6 else ""
        return (
            f"<Votes of {self.teachers} teachers on {self.samples} samples,"
            f" classes {classes}{more}>"
        )


Teacher = Union[Callable[[Any], ArrayLike], Any]
"""A fitted estimator with `predict`, or a function from samples to classes."""


def collect(
    teachers: Iterable[Teacher], X: Any, *, classes: Sequence[Any] | None = None
) -> Votes:
    """Asks every teacher about every sample.

    Teachers are fitted estimators with `predict` (scikit-learn's, or anything like them), or
    functions that give one class per sample. `classes` are all classes there are, in the order in
    which they are numbered; without it, all that some estimator was fitted with or predicts. Give
    it where classes could be missing: that a class is missing says something about the teachers.
    """
    predicted: list[NDArray[Any]] = []
    known: set[Any] = set()
    for teacher in teachers:
        predict = getattr(teacher, "predict", teacher)
        if not callable(predict):
            raise ShieldError(f"{teacher!r} is no teacher; it needs a method `predict`")
        votes = np.asarray(predict(X)).ravel()
        if predicted and len(votes) != len(predicted[0]):
            raise ShieldError(
                f"teacher {len(predicted) + 1} has {len(votes)} predictions, and the first has"
                f" {len(predicted[0])}; each needs one per sample"
            )
        predicted.append(votes)
        known.update(np.asarray(getattr(teacher, "classes_", votes)).tolist())
    if not predicted:
        raise ShieldError("there are no teachers; give at least one fitted estimator")
    names = list(classes) if classes is not None else sorted(known)
    if len(names) == 1:
        raise ShieldError("there is only one class; give all `classes` there could be")
    numbers = {name: number for number, name in enumerate(names)}
    table = np.empty((len(predicted[0]), len(predicted)), dtype=np.int32)
    for column, votes in enumerate(predicted):
        try:
            table[:, column] = [numbers[vote] for vote in votes.tolist()]
        except KeyError as missing:
            raise ShieldError(
                f"teacher {column + 1} predicts {missing}, which is none of the classes"
                f" {names}; give all of them as `classes`"
            ) from None
    return Votes(table, tuple(names))


class ShapeWarning(UserWarning):
    """Votes that look as if rows and columns were exchanged."""


def as_votes(
    votes: Any, classes: int | Sequence[Any] | None = None, truth: Any = None
) -> tuple[NDArray[Any], tuple[Any, ...] | None]:
    """An array of integers, and the names of the classes where they are known.

    Takes arrays of any integer type and strides, lists, frames of pandas and polars, tables of
    Arrow; missing values (NaN, None, null) abstain. Cells may be names of classes, as text or as
    categories: all `classes`, or those in the votes and the truth by the alphabet.
    """
    named = classes if isinstance(classes, Sequence) else None
    if isinstance(votes, Votes):
        return votes.array, votes.classes
    categories = _categories(votes)
    if hasattr(votes, "column_names") and hasattr(votes, "columns"):
        votes = np.column_stack([np.asarray(column.to_numpy()) for column in votes.columns])
    cells = _array(votes, "votes")
    _check_shape(cells, truth)
    if not _is_text(cells) and categories is None:
        return _integers(cells, "votes"), None if named is None else tuple(named)
    if cells.ndim != 2:
        raise ShieldError(
            f"votes are a table, samples x teachers; this array has {cells.ndim} dimensions"
        )
    flat = cells.ravel().tolist()
    known: Iterable[Any] = named or categories or _names(flat, truth)
    names = tuple(known)
    if isinstance(classes, int) and classes != len(names):
        raise ShieldError(
            f"the votes name {len(names)} classes and `classes` is {classes}; give all names as"
            " `classes`"
        )
    numbers = {name: number for number, name in enumerate(names)}
    found = [-1 if _is_empty(cell) else numbers.get(cell) for cell in flat]
    if None in found:
        unknown = flat[found.index(None)]
        raise ShieldError(
            f"vote {unknown!r} is none of the classes {list(names)}; give all of them"
        )
    return np.array(found, dtype=np.int32).reshape(cells.shape), names


def _categories(votes: Any) -> tuple[Any, ...] | None:
    """The categories of a frame whose columns are all categorical, in their order."""
    if not hasattr(votes, "dtypes") or not hasattr(votes, "columns"):
        return None
    each = [getattr(dtype, "categories", None) for dtype in votes.dtypes]
    lists = [list(categories) for categories in each if categories is not None]
    if not lists or len(lists) < len(each):
        return None
    return tuple(dict.fromkeys(name for names in lists for name in names))


def _is_text(cells: NDArray[Any]) -> bool:
    if cells.dtype.kind in "UT":
        return True
    return cells.dtype.kind == "O" and any(isinstance(cell, str) for cell in cells.ravel().tolist())


def _is_empty(cell: Any) -> bool:
    return is_missing(cell) or cell == ""


def _names(cells: Sequence[Any], truth: Any) -> list[Any]:
    """The names in some votes and the true labels, by the alphabet."""
    true = [] if truth is None else _array(truth, "labels").ravel().tolist()
    names = {cell for cell in (*cells, *true) if not _is_empty(cell)}
    strays = [name for name in names if not isinstance(name, str)]
    if strays:
        raise ShieldError(
            f"votes mix names of classes with {strays[0]!r}; use the same in all cells"
        )
    return sorted(names)


def _check_shape(cells: NDArray[Any], truth: Any) -> None:
    """Says it where samples and teachers seem to be exchanged: a search would take very long."""
    if cells.ndim != 2:
        return
    samples, teachers = cells.shape
    true = None if truth is None else _array(truth, "labels").size
    if true is not None and true != samples and true == teachers:
        raise ShieldError(
            f"votes are {samples} x {teachers} and there are {true} true labels: rows are samples"
            " and columns teachers, so give votes.T"
        )
    if 0 < samples < teachers / 8 and true is None:
        warnings.warn(
            f"votes are {samples} samples x {teachers} teachers; if it is the other way round, give"
            " votes.T",
            ShapeWarning,
            stacklevel=4,
        )


def _array(cells: Any, what: str) -> NDArray[Any]:
    """Whatever people have as an array; what is masked is missing."""
    if hasattr(cells, "to_numpy"):
        cells = cells.to_numpy()
    if isinstance(cells, np.ma.MaskedArray):
        objects: NDArray[Any] = np.array(np.ma.getdata(cells), dtype=object)
        objects[np.ma.getmaskarray(cells)] = None
        return objects
    try:
        return np.asarray(cells)
    except ValueError:
        raise ShieldError(
            f"{what} do not form a table; each row needs one entry per teacher, with None where a"
            " teacher abstains"
        ) from None


def as_labels(labels: Any, classes: tuple[Any, ...] | None) -> NDArray[Any] | None:
    """True labels as numbers; by name where the votes have names."""
    if labels is None:
        return None
    array = _array(labels, "labels")
    if array.ndim != 1 and array.shape[1:] != (1,):
        raise ShieldError(
            f"one number per sample is needed; this array has {array.ndim} dimensions"
        )
    array = array.ravel()
    if classes is not None and tuple(range(len(classes))) != classes:
        numbers = {name: number for number, name in enumerate(classes)}
        found = [-1 if _is_empty(name) else numbers.get(name) for name in array.tolist()]
        if None in found:
            unknown = array.tolist()[found.index(None)]
            raise ShieldError(
                f"label {unknown!r} is none of the classes {list(classes)}; give all of them as"
                " `classes`"
            )
        return np.array(found, dtype=np.int32)
    return _integers(array, "labels")


def as_counts(counts: Any) -> NDArray[Any]:
    """How many voters behind a teacher chose each class, samples x classes."""
    array = _array(counts, "counts")
    if array.ndim != 2:
        raise ShieldError(
            f"counts are a table, samples x classes; this has {array.ndim} dimensions"
        )
    return _integers(array, "counts")


_NAMES = (
    "{} are class numbers from 0; -1, NaN or None abstains. These are {}: make numbers of them"
    " first, or use `collect`"
)


def is_missing(cell: Any) -> bool:
    """None, NaN, or pandas' NA, which refuses to be compared."""
    return cell is None or type(cell).__name__ == "NAType" or cell != cell


def _integers(array: NDArray[Any], what: str) -> NDArray[Any]:
    kind = array.dtype.kind
    if kind == "O":
        cells = array.ravel().tolist()
        if any(isinstance(cell, (str, bytes)) for cell in cells):
            raise ShieldError(_NAMES.format(what, "text"))
        try:
            numbers = [np.nan if is_missing(cell) else float(cell) for cell in cells]
        except (TypeError, ValueError, OverflowError):
            raise ShieldError(_NAMES.format(what, "objects of other kinds")) from None
        array = np.array(numbers).reshape(array.shape)
        kind = "f"
    if kind == "f":
        whole = np.where(np.isnan(array), -1, array)
        if not np.array_equal(whole, np.round(whole)):
            raise ShieldError(f"{what} are whole numbers; these have fractions")
        # Beyond this, and at infinity, numbers would turn into others.
        worst = np.argmax(np.abs(whole)) if whole.size else None
        if worst is not None and abs(whole.flat[worst]) > 2**53:
            number = f"{whole.flat[worst]:g}"
            raise ShieldError(f"{what} are class numbers from 0; {number} is not a class")
        array = whole.astype(np.int64)
    elif kind == "b":
        array = array.astype(np.uint8)
    elif kind not in "iu":
        raise ShieldError(_NAMES.format(what, f"of type {array.dtype}"))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array
