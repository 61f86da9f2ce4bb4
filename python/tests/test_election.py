"""Roles over files and in memory; keys that stay secret; jobs that anybody may compute."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import stat
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shield_pate as sp
from conftest import SMALL


@pytest.fixture(scope="module")
def made(make_election):
    return make_election(6, 5)


@pytest.fixture(scope="module")
def job(made):
    return made.freeze()


def test_elections_are_values(made, tmp_path):
    election = made.election
    again = pickle.loads(pickle.dumps(election))
    assert again == election and hash(again) == hash(election)
    assert sp.Election.load(made.file) == election == sp.Election(election.text)
    assert election.teachers == tuple(f"t{i}" for i in range(6)) and election.quorum == 6
    assert "6 teachers" in repr(election)
    with pytest.raises(FileExistsError):
        election.save(made.file)
    with pytest.raises(sp.ShieldError, match="quorum"):
        sp.Election.create("x", teachers=["a"], samples=1, classes=2, quorum=3)


def test_secret_keys_stay_secret(made, tmp_path):
    secret, public, evaluation = made.election.keygen()
    path = tmp_path / "secret.key"
    secret.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        secret.save(path)
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            take(secret)
    assert path.read_bytes()[100:120].hex() not in repr(secret)
    assert not any("byte" in name for name in dir(secret) if not name.startswith("__"))
    assert sp.SecretKey.load(made.election, path).key_id == secret.key_id
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(sp.DamagedError):
        sp.SecretKey.load(made.election, path)
    with pytest.raises(sp.DamagedError):
        made.election.vote(evaluation, "t0", made.votes.array[:, 0])


def test_roles_in_memory_and_over_files_meet(made, job, program):
    job.run()
    results = made.folder / "results.bin"
    epsilon = job.finish(results)
    # The ledger composes elections; for one it is as good as the proof for one.
    proven = sp.bound(SMALL, teachers=6, classes=3, queries=5)
    assert proven.epsilon <= epsilon < 1.01 * proven.by_moments
    assert results.read_bytes() == made.expected(job, program)
    secret = sp.SecretKey.load(made.election, made.secret)
    labels = made.election.reveal(secret, results)
    shown = subprocess.run(
        [program, "reveal", "--election", made.file, "--secret-key", made.secret, "--results",
         results],
        capture_output=True, text=True, check=True,
    )
    assert shown.stdout.split() == [str(k) for k in labels]
    assert np.array_equal(made.election.reveal(secret, results.read_bytes()), labels)
    other = sp.Election.create("other", teachers=["a", "b"], samples=5, classes=3)
    with pytest.raises(sp.ShieldError, match="another election"):
        other.reveal(secret, results)
    with pytest.raises(sp.DamagedError):
        made.election.reveal(secret, results.read_bytes()[:-1])


def test_votes_that_are_none(made):
    public = made.public.read_bytes()
    with pytest.raises(sp.ShieldError, match="not a teacher"):
        made.election.vote(public, "nobody", np.zeros(5, int))
    with pytest.raises(sp.ShieldError, match="5 samples"):
        made.election.vote(public, "t0", np.zeros(4, int))
    with pytest.raises(sp.ShieldError):
        made.election.vote(public, "t0", np.full(5, 3))
    with pytest.raises(sp.ShieldError, match="fractions"):
        made.election.vote(public, "t0", [0, 1, 2, 0.5, 0])
    with pytest.raises(sp.ShieldError, match="2 dimensions"):
        made.election.vote(public, "t0", [[0, 1, 2, 0, 0]])
    with pytest.raises(sp.ShieldError, match="text"):
        made.election.vote(public, "t0", np.array(["0", 1, 2, 0, 0], object))
    assert made.election.vote(public, "t0", [0, 1, None, float("nan"), -1])


WARDS = """
name = "wards"
group = "city"
classes = 3
samples = 2
mechanism = "noisy-argmax"
noise = 0.02
voters_per_teacher = 40
quorum = 3
teachers = ["north", "south", "east"]
"""


def test_counts_of_the_voters_behind_a_teacher(made, tmp_path):
    election = sp.Election(WARDS)
    secret, public, evaluation = map(Path, election.keygen_files(tmp_path / "keys"))
    for counts, why in [
        ([[40, 0, 0], [1, 40, 0]], "sample 2: 41 voters"),
        ([[40, 0], [1, 0]], "sample 1: 2 counts for 3 classes"),
        ([[40, 0, 0]], "1 rows of counts"),
        ([[40, -1, 0], [1, 0, 0]], "-1 is not a number of voters"),
        ([40, 0, 0], "samples x classes"),
    ]:
        with pytest.raises(sp.ShieldError, match=why):
            election.vote_counts(public, "north", counts)
    with pytest.raises(sp.ShieldError, match="use vote_counts"):
        election.vote(public, "north", [0, 1])
    with pytest.raises(sp.ShieldError, match="use vote"):
        made.election.vote_counts(made.public, "t0", np.zeros((5, 3), int))
    (tmp_path / "ballots").mkdir()
    for name, counts in [
        ("north", np.array([[40, 0, 0], [0, 20, 20]], np.uint8)),
        ("south", [[0, 13, 0], [0, 0, 0]]),
        ("east", [[0, 26, 1], [0, 0, 1]]),
    ]:
        ballot = election.vote_counts(public, name, counts)
        (tmp_path / "ballots" / name).write_bytes(ballot)
    job = sp.Job.freeze(election, evaluation, tmp_path / "ballots", tmp_path / "job")
    job.run()
    job.finish(tmp_path / "results.bin")
    labels = election.reveal(sp.SecretKey.load(election, secret), tmp_path / "results.bin")
    assert labels.tolist() == [0, 2]


def test_a_forked_child_can_vote(made):
    # The parent has planned, made keys and voted; the child does all of it again.
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)  # A child that hangs ends, and the parent reads nothing.
        try:
            election = sp.Election.create("fork", teachers=["a", "b"], samples=2, classes=3)
            _, public, _ = election.keygen()
            os.write(writer, len(election.vote(public, "a", [0, 1])).to_bytes(8, "little"))
        finally:
            os._exit(0)
    os.close(writer)
    assert int.from_bytes(os.read(reader, 8), "little") > 0
    os.waitpid(child, 0)


def test_a_second_release_is_refused(made, job):
    with pytest.raises(sp.SecondDrawError, match="never be answered"):
        made.freeze("second")
    assert made.freeze().batches == job.batches


def test_tasks_carry_no_secret(made, job):
    task = job.task(0)
    pickled = pickle.dumps(task)
    seed = (job.path / "seed").read_bytes()
    for start in range(len(seed) - 16):
        assert seed[start : start + 16] not in pickled
    assert len(pickled) < 1000 and pickle.loads(pickled)() == task()
    assert stat.S_IMODE((job.path / "seed").stat().st_mode) == 0o600


def test_shards_of_teachers_add_up(job):
    whole = job.task(0)()
    shards = (range(0, 2), range(2, 5), range(5, 6))
    parts: list[Any] = [job.task(0, teachers)() for teachers in shards]
    task = job.task(0)
    assert task.release(task.merge(task.merge(parts[0], parts[1]), parts[2])) == whole
    # Clusters hand shards over as arrays, which may be read-only.
    arrays = [np.frombuffer(part, np.uint8) for part in parts]
    assert task.release(np.frombuffer(task.merge(*arrays), np.uint8)) == whole
    with pytest.raises(sp.ShieldError, match="contiguous"):
        task.merge(arrays[0][::2])
    with pytest.raises(RuntimeError, match="neighbours"):
        task.merge(parts[0], parts[2])
    with pytest.raises(RuntimeError, match="add the others"):
        task.release(parts[0])


def test_batches_are_checked_and_idempotent(job):
    release = job.task(0)()
    job.put(0, release)
    with pytest.raises(sp.DamagedError):
        job.put(0, release[:-1])
    with pytest.raises(sp.ShieldError, match="no batch"):
        job.put(9, release)


def test_any_executor_will_do(make_election, program):
    made = make_election(4, 3)
    job = made.freeze()
    told = []
    with ProcessPoolExecutor(1) as pool:
        job.run(pool, shards_of_teachers=2, progress=lambda *now: told.append(now))
    job.finish(made.folder / "results.bin")
    assert told == [(0, 1), (1, 1)] and job.missing == ()
    assert (made.folder / "results.bin").read_bytes() == made.expected(job, program)
