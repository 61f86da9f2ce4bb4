"""Whole numbers that the native part can take."""

from __future__ import annotations

import operator
from typing import Any

from ._native import ShieldError


def check_counts(**named: Any) -> None:
    """Refuses what is no count, by its name; None stands for a default."""
    for name, value in named.items():
        if value is None:
            continue
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} is a whole number, not {value!r}") from None
        most = 2**64 - 1 if "seed" in name else 2**32 - 1
        if not 0 <= number <= most:
            raise ShieldError(f"{name} is {number}; it must be from 0 to {most}")
