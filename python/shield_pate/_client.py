"""Elections over a network: what each party does with its invitation."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._display import html_table
from ._job import PathLike
from ._native import SecretKey
from ._progress import Progress, reporting
from ._votes import as_counts, as_labels

__all__ = ["Client", "Status"]


@dataclass(frozen=True)
class Status:
    """Where an election is."""

    name: str
    stage: str
    """awaiting-keys, open, closing, released, failed or withdrawn."""
    teachers: int
    voted: int
    quorum: int
    samples: int
    batches: int
    released_batches: int
    epsilon: float | None
    """Set aside until the election is closed, spent from then on; none if it is infinite."""
    delta: float
    problem: str | None

    @classmethod
    def _read(cls, found: dict[str, Any]) -> Status:
        return cls(**{key: found[key] for key in cls.__dataclass_fields__})

    def _repr_html_(self) -> str:
        rows = [
            ("stage", self.stage),
            ("voted", f"{self.voted} of {self.teachers} teachers, quorum {self.quorum}"),
            ("aggregated", f"{self.released_batches} of {self.batches} batches"),
        ]
        if self.epsilon is not None:
            rows.append(("epsilon", f"{self.epsilon:.3f} at delta {self.delta:g}"))
        if self.problem:
            rows.append(("problem", self.problem))
        return html_table(("", ""), rows, self.name)


class Client(_native.Client):
    """A server, with somebody's invitation: operator, student or teacher.

    Requests are tried again for `patience` seconds; every one of them may safely arrive twice.
    """

    def status(self) -> Status:
        """Where the election is."""
        return Status._read(self._status())

    def close(self) -> Status:
        """Operator: freezes the ballots and starts the aggregation."""
        return Status._read(self._close())

    def submit_keys(self, folder: PathLike) -> None:
        """Student: uploads the keys that `keygen_files` wrote, and holds the rehearsal."""
        for name in ("public.key", "evaluation.key"):
            self.submit_key(Path(folder) / name)
        self.rehearse(Path(folder) / "secret.key")

    def wait(self, *, timeout: float = 600.0, every: float = 0.5) -> Status:
        """Waits until the results are out, or the aggregation has failed."""
        end = time.monotonic() + timeout
        while True:
            status = self.status()
            if status.stage in ("released", "failed", "withdrawn"):
                return status
            if time.monotonic() > end:
                raise TimeoutError(f"{status.name} is still {status.stage} after {timeout:g} s")
            time.sleep(every)

    def vote(self, votes: Any, *, progress: Progress = False) -> None:
        """Teacher: fetches election and key, encrypts these votes here, and submits the ballot."""
        self._cast("vote", as_labels(votes, None), progress)

    def vote_counts(self, counts: Any, *, progress: Progress = False) -> None:
        """Teacher: the same with counts, samples x classes, where the election has
        voters_per_teacher."""
        self._cast("vote_counts", as_counts(counts), progress)

    def _cast(self, method: str, cells: Any, progress: Progress) -> None:
        if self.teacher is None:
            raise _native.ShieldError("only a teacher's invitation can vote")
        election = self.election()
        with tempfile.TemporaryDirectory() as folder:
            key, ballot = Path(folder) / "public.key", Path(folder) / "ballot"
            self.fetch_public_key(key)
            ballot.write_bytes(getattr(election, method)(key, self.teacher, cells))
            with reporting(progress, "submit", " batches") as tell:
                self.submit_ballot(ballot, tell)

    def reveal(
        self, secret: SecretKey, out: PathLike | None = None, *, progress: Progress = False
    ) -> NDArray[np.int32]:
        """Student: fetches the results, into `out` if it is given, and reads the labels."""
        with tempfile.TemporaryDirectory() as folder:
            results = Path(out) if out is not None else Path(folder) / "results.bin"
            with reporting(progress, "fetch", " batches") as tell:
                self.fetch_results(results, tell)
            return self.election().reveal(secret, results)
