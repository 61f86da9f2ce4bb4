"""Private labels from votes: SHIELD for Python.

    >>> import shield_pate
    >>> votes, truth = shield_pate.synthesize(teachers=50, classes=3, samples=20)
    >>> labels = shield_pate.label(votes, epsilon=8)

| what | functions and classes |
|---|---|
| what labels cost, how good they are | `bound`, `queries_within`, `analyze`, `tune`, `compare`, `recommend` |
| labels from votes in one process | `collect`, `label`, `synthesize` |
| an election between parties, over files | `Election`, `SecretKey` |
| the same over a network | `Client` |
| an aggregation on many machines | `Job`, `Task`, `python -m shield_pate.ray` |
"""

from __future__ import annotations

from ._client import Client, Status
from ._functions import (
    InsecureSeedWarning,
    analyze,
    bound,
    compare,
    label,
    queries_within,
    recommend,
    synthesize,
    tune,
)
from ._job import Job, Task
from ._native import (
    DamagedError,
    Election,
    SecondDrawError,
    SecretKey,
    ServerError,
    ShieldError,
    __version__,
)
from ._results import (
    Analysis,
    Bound,
    Comparison,
    ComparisonRow,
    Front,
    Labelling,
    Point,
    Recommendation,
    Setting,
)
from ._votes import Votes, collect

__all__ = [
    "Analysis",
    "Bound",
    "Client",
    "Comparison",
    "ComparisonRow",
    "DamagedError",
    "Election",
    "Front",
    "InsecureSeedWarning",
    "Job",
    "Labelling",
    "Point",
    "Recommendation",
    "SecondDrawError",
    "SecretKey",
    "ServerError",
    "Setting",
    "ShieldError",
    "Status",
    "Task",
    "Votes",
    "__version__",
    "analyze",
    "bound",
    "collect",
    "compare",
    "label",
    "queries_within",
    "recommend",
    "synthesize",
    "tune",
]
