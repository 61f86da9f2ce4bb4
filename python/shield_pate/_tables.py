"""Datasets as people hold them: their samples out, two columns in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._native import ShieldError


class Table:
    """A dataset of any kind, with one value per sample for the teachers."""

    def __init__(self, dataset: Any, column: str | None) -> None:
        self._kind = _kind(dataset)
        # A stream is read once, and stays in memory: its rows come back with the labels.
        self._dataset: Any = list(dataset) if self._kind == "rows" else dataset
        self._check(column)
        self.samples: list[Any] = self._rows() if column is None else self._column(column)
        if not self.samples:
            raise ShieldError("the dataset is empty; give at least one sample")

    @property
    def columns(self) -> list[str]:
        """The names of its columns; none where samples are bare values."""
        if self._kind in ("arrow", "huggingface"):
            return [str(name) for name in self._dataset.column_names]
        if self._kind in ("pandas", "polars"):
            return [str(name) for name in self._dataset.columns]
        first = self._dataset[0] if self._dataset else None
        return [str(name) for name in first] if isinstance(first, Mapping) else []

    def _check(self, column: str | None) -> None:
        columns = self.columns
        if column is not None and column not in columns:
            has = f"it has {', '.join(columns)}" if columns else "its samples are bare values"
            raise ShieldError(f"the dataset has no column `{column}`: {has}")

    def _column(self, name: str) -> list[Any]:
        if self._kind == "rows":
            return [row[name] for row in self._dataset]
        if self._kind == "pandas":
            return list(self._dataset[name].tolist())
        if self._kind == "polars":
            return list(self._dataset[name].to_list())
        if self._kind == "arrow":
            return list(self._dataset.column(name).to_pylist())
        return list(self._dataset[name])

    def _rows(self) -> list[Any]:
        if self._kind == "pandas":
            return list(self._dataset.to_dict("records"))
        if self._kind == "polars":
            return list(self._dataset.to_dicts())
        if self._kind == "arrow":
            return list(self._dataset.to_pylist())
        return list(self._dataset)

    def digest(self) -> str:
        """The same for the same samples in the same order, and for no others."""
        state = hashlib.blake2b(digest_size=32)
        for sample in self.samples:
            text = json.dumps(sample, sort_keys=True, default=repr).encode()
            state.update(len(text).to_bytes(8, "little"))
            state.update(text)
        return state.hexdigest()

    def with_columns(self, added: Mapping[str, Sequence[Any]]) -> Any:
        """The dataset, of its own kind, with these columns behind its own."""
        for name in added:
            if name in self.columns:
                raise ShieldError(
                    f"the dataset has a column `{name}` already; give another name as"
                    " `label_column` or `answered_column`"
                )
        if self._kind == "pandas":
            import pandas

            series = {
                name: pandas.Series(list(cells), index=self._dataset.index, dtype=_dtype(cells))
                for name, cells in added.items()
            }
            return self._dataset.assign(**series)
        if self._kind == "polars":
            import polars

            return self._dataset.with_columns(
                [polars.Series(name, list(cells)) for name, cells in added.items()]
            )
        if self._kind == "arrow":
            import pyarrow

            table = self._dataset
            for name, cells in added.items():
                table = table.append_column(name, pyarrow.array(list(cells)))
            return table
        if self._kind == "huggingface":
            dataset = self._dataset
            for name, cells in added.items():
                dataset = dataset.add_column(name, list(cells))
            return dataset
        return [
            {
                **(dict(row) if isinstance(row, Mapping) else {"sample": row}),
                **{name: cells[number] for name, cells in added.items()},
            }
            for number, row in enumerate(self._dataset)
        ]


def _dtype(cells: Sequence[Any]) -> Any:
    """Numbers that may be missing stay whole numbers."""
    whole = all(cell is None or (type(cell) is int) for cell in cells)
    return "Int64" if whole and any(cell is not None for cell in cells) else None


def _kind(dataset: Any) -> str:
    module = type(dataset).__module__.split(".")[0]
    if module in ("pandas", "polars") and type(dataset).__name__ == "DataFrame":
        return module
    if module == "pyarrow" and type(dataset).__name__ == "Table":
        return "arrow"
    if module == "datasets":
        if isinstance(dataset, Mapping):
            raise ShieldError(
                f"this dataset has the splits {', '.join(map(str, dataset))}; give one of them,"
                " such as dataset['train']"
            )
        # A streaming dataset has no length, and is read as rows.
        return "huggingface" if hasattr(dataset, "add_column") and hasattr(
            dataset, "__len__"
        ) else "rows"
    if module == "numpy":
        raise ShieldError("an array has no columns to put labels in; use `collect` and `label`")
    if isinstance(dataset, Iterable) and not isinstance(dataset, (str, bytes, Mapping)):
        return "rows"
    raise ShieldError(
        f"{type(dataset).__name__} is no dataset; give a frame of pandas or polars, a table of"
        " Arrow, a dataset of HuggingFace, or rows"
    )
