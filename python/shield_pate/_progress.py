"""Progress: a bar in the terminal or the notebook, or the caller's own function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

Progress = Union[bool, Callable[[int, int], object]]
"""True for a bar, or a function that is told what is done and how much there is."""


@contextmanager
def reporting(
    progress: Progress, what: str, unit: str
) -> Iterator[Callable[[int, int], object] | None]:
    """The function to call, if progress is wanted; a bar is closed at the end."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    from tqdm.auto import tqdm

    bar: Any = tqdm(total=0, desc=what, unit=unit)

    def tell(done: int, of: int) -> None:
        if bar.total != of:
            bar.total = of
            bar.refresh()
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        bar.close()
