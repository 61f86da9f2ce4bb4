"""Teachers asked in batches: tried again when they fail, and never asked twice for a vote."""

from __future__ import annotations

import importlib
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._native import DamagedError, ShieldError
from ._votes import is_missing

Predict = Callable[[list[Any]], Any]
LONGEST_PAUSE = 30.0


class Journal:
    """A folder with the votes that were given so far, so that a run can go on where it ended.

    It holds votes in the clear, one file per teacher: it is readable by its owner alone.
    """

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._replace("about.json", about, same=True)

    def _replace(self, name: str, content: dict[str, Any], *, same: bool = False) -> None:
        path = self.folder / name
        if same and path.exists():
            found = self.read(name)
            for key, value in content.items():
                if found is None or found.get(key) != value:
                    raise ShieldError(
                        f"{path} belongs to another run (its {key} differs); give another folder"
                        " as `journal`"
                    )
            return
        unfinished = path.with_suffix(".new")
        with open(unfinished, "w", opener=_private) as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)

    def read(self, name: str) -> dict[str, Any] | None:
        """A document of the journal, if it is there."""
        path = self.folder / name
        if not path.exists():
            return None
        try:
            found = json.loads(path.read_text())
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise DamagedError(
                f"{path} is no document of a journal; delete the folder to start anew"
            )
        return found

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Puts a document there, whole or not at all."""
        self._replace(name, content)

    def votes(self, teacher: int, classes: int, samples: int) -> list[int]:
        """What a teacher has said so far, from the first sample on."""
        path = self._path(teacher)
        said: list[int] = []
        if not path.exists():
            return said
        lines = path.read_bytes().split(b"\n")
        # What an interruption cut off is asked for again.
        whole, rest = lines[:-1], lines[-1]
        for line in whole:
            try:
                batch = json.loads(line)
            except ValueError:
                batch = None
            if not isinstance(batch, list) or not all(
                type(vote) is int and -1 <= vote < classes for vote in batch
            ):
                raise DamagedError(f"{path} has a line that is no batch of votes; delete this file")
            said.extend(batch)
        if len(said) > samples:
            raise DamagedError(f"{path} has votes on more samples than there are; delete this file")
        if rest:
            with open(path, "r+b") as file:
                file.truncate(sum(len(line) + 1 for line in whole))
        return said

    def append(self, teacher: int, batch: list[int]) -> None:
        """Keeps what a teacher said of the next samples."""
        with open(self._path(teacher), "a", opener=_private) as file:
            file.write(json.dumps(batch) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _path(self, teacher: int) -> Path:
        return self.folder / f"teacher-{teacher:04}.jsonl"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def predict_of(teacher: Any, number: int) -> Predict:
    """The function that asks a teacher: an estimator, an actor of Ray, or a function itself."""
    predict = getattr(teacher, "predict", teacher)
    remote = getattr(predict, "remote", None)
    if remote is not None:

        def ask(samples: list[Any]) -> Any:
            return importlib.import_module("ray").get(remote(samples))

        return ask
    if not callable(predict):
        raise ShieldError(
            f"teacher {number + 1} ({teacher!r}) is neither a function nor has it `predict`"
        )
    return predict  # type: ignore[no-any-return]


def name_of(teacher: Any, number: int) -> str:
    """What errors call a teacher."""
    name = getattr(teacher, "name", None)
    return name if isinstance(name, str) and name else f"teacher {number + 1}"


def ask_all(
    teachers: Sequence[Any],
    samples: list[Any],
    classes: Sequence[Any],
    *,
    journal: Journal | None,
    batch: int,
    workers: int,
    retries: int,
    tell: Callable[[int, int], object] | None,
    pause: Callable[[float], object] = time.sleep,
) -> NDArray[np.int32]:
    """Votes of all teachers on all samples, samples x teachers; -1 abstains."""
    table = np.full((len(samples), len(teachers)), -1, dtype=np.int32)
    numbers = {name: number for number, name in enumerate(classes)}
    lock = threading.Lock()
    stop = threading.Event()
    done = 0

    def report(votes: int) -> None:
        nonlocal done
        with lock:
            done += votes
            if tell is not None:
                tell(done, len(samples) * len(teachers))

    def tried(predict: Predict, part: list[Any], where: str) -> Any:
        attempt = 0
        while not stop.is_set():
            try:
                return predict(list(part))
            except Exception as error:
                if attempt == retries:
                    kept = (
                        "" if journal is None
                        else f"; all votes before are in {journal.folder}: call again to go on"
                    )
                    raise ShieldError(
                        f"{where}: {type(error).__name__}: {error}, after {retries + 1}"
                        f" tries{kept}"
                    ) from error
                pause(min(LONGEST_PAUSE, 0.5 * 2**attempt))
                attempt += 1
        return None

    def ask(number: int) -> None:
        teacher = teachers[number]
        name, predict = name_of(teacher, number), predict_of(teacher, number)
        said = journal.votes(number, len(classes), len(samples)) if journal else []
        table[: len(said), number] = said
        report(len(said))
        for start in range(len(said), len(samples), batch):
            part = samples[start : start + batch]
            where = f"{name}, samples {start} to {start + len(part) - 1}"
            answers = tried(predict, part, where)
            if stop.is_set():
                return
            votes = _numbers(answers, len(part), numbers, where)
            if journal is not None:
                journal.append(number, votes)
            table[start : start + len(part), number] = votes
            report(len(part))

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        asked = [pool.submit(ask, number) for number in range(len(teachers))]
        try:
            wait(asked, return_when=FIRST_EXCEPTION)
        finally:
            # A failure or Ctrl-C: the others end with the batch that they are at.
            stop.set()
            for one in asked:
                one.cancel()
    failures = [one.exception() for one in asked if not one.cancelled()]
    for failure in failures:
        if failure is not None:
            raise failure
    return table


def _numbers(
    answers: Any, expected: int, numbers: dict[Any, int], where: str
) -> list[int]:
    """Class numbers of a teacher's answers; nothing, None and NaN abstain."""
    answers = answers.tolist() if hasattr(answers, "tolist") else list(answers)
    if len(answers) != expected:
        raise ShieldError(f"{where}: {len(answers)} answers; one per sample is needed")
    votes = []
    for answer in answers:
        try:
            vote = -1 if is_missing(answer) or answer == "" else numbers[answer]
        except (KeyError, TypeError, ValueError):
            raise ShieldError(
                f"{where}: {answer!r} is none of the classes; answer with a class, or with None"
                " to abstain"
            ) from None
        votes.append(vote)
    return votes
