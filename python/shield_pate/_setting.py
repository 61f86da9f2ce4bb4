"""SHIELD's parameters, and how results show their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _native
from ._numbers import check_counts

__all__ = ["Setting"]

DEFAULT_POLYNOMIAL = "8X^4+6X^3+4X^2+X"
WITH_REPLACEMENT = "with-replacement"


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a pandas frame."""
    import pandas

    return pandas.DataFrame(list(rows))


class Rounded:
    """Shows numbers with the digits that matter."""

    def __repr__(self) -> str:
        shown = (
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in vars(self).items()
        )
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True)
class Setting:
    """SHIELD's parameters: the rounds, the dummies of each class, and how a round draws."""

    polynomial: str = DEFAULT_POLYNOMIAL
    offset: int = 5
    sampling: str = WITH_REPLACEMENT

    def __post_init__(self) -> None:
        check_counts(offset=self.offset)
        polynomial, _, _ = _native.setting((self.polynomial, self.offset, self.sampling))
        object.__setattr__(self, "polynomial", polynomial)

    @property
    def rounds(self) -> int:
        """How many rounds the polynomial has."""
        return _native.setting(self._native)[1]

    @property
    def degree(self) -> int:
        """How many votes the largest round draws."""
        return _native.setting(self._native)[2]

    @classmethod
    def parse(cls, text: str) -> Setting:
        """From text: "8X^4+X", "8X^4+X, offset 3" or "8X^4+X, offset 3, with-replacement"."""
        polynomial, *rest = (part.strip() for part in text.split(","))
        options: dict[str, Any] = {}
        for part in rest:
            if part.startswith("offset ") and part[7:].strip().isdigit():
                options["offset"] = int(part[7:])
            elif part in (WITH_REPLACEMENT, "without-replacement"):
                options["sampling"] = part
            else:
                raise _native.ShieldError(
                    f"`{part}` says nothing of a setting; write it as"
                    f" '{DEFAULT_POLYNOMIAL}, offset 5'"
                )
        return cls(polynomial, **options)

    @property
    def _native(self) -> tuple[str, int, str]:
        return (self.polynomial, self.offset, self.sampling)
