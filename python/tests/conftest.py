"""What the tests share: the program to compare with, and small elections."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shield_pate as sp

SMALL = sp.Setting("2X^2+X", 5)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Ends what a test waits for in vain."""

    def give_up(*_: Any) -> None:
        raise TimeoutError(f"after fifteen minutes, {item.name} still waits here")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(15 * 60)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def built(name: str) -> str:
    """A program of the project: in the folder that the tests are given, or on the path."""
    folder = os.environ.get("SHIELD_PROGRAMS")
    return str(Path(folder) / name) if folder else name


@pytest.fixture(scope="session")
def program() -> str:
    """The `shield` program."""
    return built("shield")


@pytest.fixture(scope="session")
def server_program() -> str:
    """The `shield-server` program."""
    return built("shield-server")


@pytest.fixture(scope="session")
def shield(program: str) -> Any:
    """Runs the program, and gives the document that it prints."""

    def run(*arguments: Any) -> Any:
        command = [program, *map(str, arguments), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def votes() -> np.ndarray:
    """Votes of 30 teachers on 12 samples, three classes, some abstentions."""
    made, _ = sp.synthesize(teachers=30, classes=3, samples=12, seed=4)
    table = np.array(made.array)
    table[3, 4] = table[5, 6] = -1
    return table


@pytest.fixture(scope="session")
def truth() -> np.ndarray:
    return sp.synthesize(teachers=30, classes=3, samples=12, seed=4)[1]


class Made:
    """An election with keys and ballots in a folder."""

    def __init__(self, folder: Path, teachers: int, samples: int, setting: sp.Setting = SMALL):
        names = [f"t{i}" for i in range(teachers)]
        self.folder = folder
        self.election = sp.Election.create(
            "small", teachers=names, samples=samples, classes=3, setting=setting
        )
        self.file = folder / "election.toml"
        self.election.save(self.file)
        keys = self.election.keygen_files(folder / "keys")
        self.secret, self.public, self.evaluation = (Path(key) for key in keys)
        self.ballots = folder / "ballots"
        self.ballots.mkdir()
        self.votes, _ = sp.synthesize(teachers=teachers, classes=3, samples=samples, seed=7)
        public = self.public.read_bytes()
        for number, name in enumerate(names):
            ballot = self.election.vote(public, name, self.votes.array[:, number])
            (self.ballots / f"{name}.ballot").write_bytes(ballot)

    def freeze(self, name: str = "job") -> sp.Job:
        return sp.Job.freeze(self.election, self.evaluation, self.ballots, self.folder / name)

    def expected(self, job: sp.Job, program: str) -> bytes:
        """The results that the program makes of a copy of the job."""
        import shutil

        copy, out = self.folder / "copy", self.folder / "program.bin"
        shutil.copytree(job.path, copy)
        for release in (copy / "parts").iterdir():
            release.unlink()
        for step in (["run", copy], ["finish", copy, "--out", out]):
            done = subprocess.run([program, "job", *map(str, step)], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return out.read_bytes()


@pytest.fixture(scope="session")
def make_election(tmp_path_factory: pytest.TempPathFactory) -> Any:
    def make(teachers: int, samples: int, setting: sp.Setting = SMALL) -> Made:
        return Made(tmp_path_factory.mktemp("election"), teachers, samples, setting)

    return make
