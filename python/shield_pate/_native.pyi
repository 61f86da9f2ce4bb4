"""The native part: see the package's own modules for what is public."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__version__: str

_Path: TypeAlias = str | PathLike[str]
_Setting: TypeAlias = tuple[str | None, int, str]
_Progress: TypeAlias = Callable[[int, int], object] | None
_Labels: TypeAlias = NDArray[np.int32]

class ShieldError(ValueError):
    """Input that SHIELD refuses; the message says what to do."""

class SecondDrawError(ShieldError):
    """A second release of the same ballots: their privacy would be paid twice."""

class DamagedError(ShieldError):
    """A file or a key that is cut off, foreign or changed."""

class ServerError(RuntimeError):
    """A server that does not answer, or says no."""

@final
class Election:
    """What all parties agree on before anyone makes a key. Equal ones hash and pickle alike."""

    def __init__(self, text: str) -> None: ...
    @classmethod
    def load(cls, path: _Path) -> Election:
        """Reads an election file."""
    @classmethod
    def create(
        cls,
        name: str,
        *,
        teachers: Sequence[str],
        samples: int,
        classes: int,
        quorum: int | None = None,
        group: str | None = None,
        setting: Any = None,
        deadline: str | None = None,
    ) -> Election:
        """Makes an election. Without a quorum every teacher must vote on every sample."""
    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def teachers(self) -> tuple[str, ...]: ...
    @property
    def samples(self) -> int: ...
    @property
    def classes(self) -> int: ...
    @property
    def batches(self) -> int: ...
    @property
    def quorum(self) -> int: ...
    @property
    def deadline(self) -> str | None: ...
    @property
    def digest(self) -> str:
        """The digest that keys, ballots and results carry."""
    @property
    def text(self) -> str:
        """The election file as the program writes it."""
    @property
    def _setting(self) -> tuple[str, int, str] | None: ...
    def save(self, path: _Path) -> None:
        """Writes the election file; never over another file."""
    def keygen(self) -> tuple[SecretKey, bytes, bytes]:
        """The student's keys: secret, public, evaluation."""
    def keygen_files(self, folder: _Path) -> tuple[Any, Any, Any]:
        """Makes the keys as files in a folder; gives the paths of secret, public, evaluation."""
    def vote(self, public_key: bytes | _Path, teacher: str, votes: Any) -> bytes:
        """A teacher's ballot: one vote per sample, -1 where it abstains."""
    def vote_counts(self, public_key: bytes | _Path, teacher: str, counts: Any) -> bytes:
        """A teacher's ballot where the election has voters_per_teacher: samples x classes, how
        many of the voters behind it chose each class; a row of zeros abstains."""
    def reveal(self, secret: SecretKey, results: bytes | _Path) -> _Labels:
        """The labels; -1 where a sample has none."""
    def _cost(self, voters: list[tuple[int, int]], delta: float) -> float: ...

@final
class SecretKey:
    """The student's secret key: opaque, not pickled, wiped from memory when it is gone."""

    @classmethod
    def load(cls, election: Election, path: _Path) -> SecretKey:
        """Reads the key of an election from a file."""
    def save(self, path: _Path) -> None:
        """Writes it to a new file with mode 0600; never over another file."""
    @property
    def key_id(self) -> str:
        """The name of the set of keys: public."""

@final
class Job:
    @classmethod
    def freeze(
        cls, election: Election, evaluation_key: _Path, ballots: _Path, out: _Path,
        store: Any, progress: _Progress,
    ) -> Job: ...
    @classmethod
    def open(cls, path: _Path, store: Any) -> Job: ...
    @staticmethod
    def ballots_of(path: _Path) -> str: ...
    @property
    def election(self) -> Election: ...
    @property
    def batches(self) -> int: ...
    @property
    def missing(self) -> tuple[int, ...]: ...
    @property
    def voted(self) -> int: ...
    @property
    def absent(self) -> tuple[str, ...]: ...
    @property
    def voters(self) -> list[tuple[int, int]]: ...
    def run_batch(self, batch: int, threads: int | None = None) -> bytes: ...
    def run_shard(
        self, batch: int, first: int, end: int, threads: int | None = None
    ) -> NDArray[np.uint8]: ...
    def merge_shards(
        self, batch: int, shards: list[bytes | NDArray[np.uint8]], threads: int | None = None
    ) -> NDArray[np.uint8]: ...
    def release_shards(
        self, batch: int, whole: bytes | NDArray[np.uint8], threads: int | None = None
    ) -> bytes: ...
    def put(self, batch: int, release: bytes) -> None: ...
    def finish(self, out: _Path) -> None: ...

class Client:
    def __new__(
        cls, invitation: _Path, *, election: str | None = None, patience: float = 90.0
    ) -> Client: ...
    @property
    def server(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def teacher(self) -> str | None: ...
    def create(self, election: Election, invitations: _Path) -> list[Any]:
        """Operator: creates an election, and writes everybody's invitation into a folder."""
    def election(self) -> Election:
        """The election, from the server."""
    def submit_key(self, path: _Path) -> str:
        """Student: uploads a key; says which one it was. A secret key is refused."""
    def rehearse(self, secret_key: _Path) -> int:
        """Student: proves that the keys work, so that teachers can vote; gives how many labels
        were right."""
    def submit_ballot(self, path: _Path, progress: _Progress = None) -> str:
        """Teacher: uploads a ballot."""
    def fetch_public_key(self, out: _Path) -> None:
        """Teacher: fetches the public key into a file."""
    def fetch_results(self, out: _Path, progress: _Progress = None) -> None:
        """Student: fetches the results into a file."""
    def _status(self) -> dict[str, Any]: ...
    def _close(self) -> dict[str, Any]: ...

def nothing() -> None: ...
def setting(setting: _Setting) -> tuple[str, int, int]: ...
def bound(
    setting: _Setting, teachers: int, classes: int, voters: str | None, queries: int, delta: float,
    threads: int | None,
) -> dict[str, Any]: ...
def label_bound(
    name: str, noise: tuple[float, str | None, int], weights: list[int] | None, teachers: int,
    classes: int, queries: int, delta: float, threads: int | None,
) -> dict[str, Any]: ...
def queries_within(
    setting: _Setting, epsilon: float, teachers: int, classes: int, delta: float
) -> int: ...
def analyze(
    votes: NDArray[Any], truth: NDArray[Any] | None, classes: int | None, name: str,
    setting: _Setting,
    options: tuple[float, str | None, int, float, str, float | None, float | None],
    queries: int | None, delta: float, threads: int | None,
) -> dict[str, Any]: ...
def tune(
    votes: NDArray[Any], truth: NDArray[Any] | None, classes: int | None, max_degree: int,
    max_terms: int, offsets: list[int], sampling: str, aim: tuple[float | None, float | None],
    queries: int | None, delta: float, threads: int | None, progress: _Progress,
) -> dict[str, Any]: ...
def compare(
    votes: NDArray[Any], truth: NDArray[Any] | None, classes: int | None, epsilons: list[float],
    queries: int | None, delta: float, threads: int | None, progress: _Progress,
) -> dict[str, Any]: ...
def recommend(
    teachers: int, classes: int, queries: int, epsilon: float, wishes: tuple[bool, float | None],
    delta: float, threads: int | None,
) -> dict[str, Any]: ...
def label(
    votes: NDArray[Any], classes: int | None, name: str | None, setting: _Setting,
    options: tuple[float, str | None, int, float, str, float | None, float | None],
    budget: tuple[float, bool, float | None] | None, engine: str, insecure_seed: int | None,
    queries: int | None, delta: float, threads: int | None, progress: _Progress,
) -> tuple[_Labels, dict[str, Any]]: ...
def synthesize(
    teachers: int, classes: int, samples: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
