"""Private labels from votes: SHIELD for Python.

    >>> import shield_pate
    >>> votes, truth = shield_pate.synthesize(teachers=50, classes=3, samples=20)
    >>> labels = shield_pate.label(votes, epsilon=8)

| what | functions and classes |
|---|---|
| what labels cost, how good they are | `bound`, `queries_within`, `analyze`, `tune`, `compare`, `recommend` |
| labels from votes in one process | `collect`, `label`, `synthesize` |
| a dataset with labels from teachers of any kind | `label_dataset`, `ChatTeacher` |
| an election between parties, over files | `Election`, `SecretKey` |
| the same over a network | `Client` |
| an aggregation on many machines | `Job`, `Task`, `python -m shield_pate.ray` |
"""

from __future__ import annotations

from . import (
    _chat,
    _client,
    _dataset,
    _functions,
    _job,
    _labelling,
    _results,
    _setting,
    _votes,
)
from ._chat import *
from ._client import *
from ._dataset import *
from ._functions import *
from ._job import *
from ._labelling import *
from ._native import (
    DamagedError,
    Election,
    SecondDrawError,
    SecretKey,
    ServerError,
    ShieldError,
    __version__,
)
from ._results import *
from ._setting import *
from ._votes import *

__all__ = [
    "DamagedError",
    "Election",
    "SecondDrawError",
    "SecretKey",
    "ServerError",
    "ShieldError",
    "__version__",
]
__all__ += _chat.__all__
__all__ += _client.__all__
__all__ += _dataset.__all__
__all__ += _functions.__all__
__all__ += _job.__all__
__all__ += _labelling.__all__
__all__ += _results.__all__
__all__ += _setting.__all__
__all__ += _votes.__all__
