"""An election over a real server, from the operator's first step to the student's labels."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest

import shield_pate as sp
from conftest import SMALL


@pytest.fixture
def server(tmp_path, server_program, request):
    """A server of this machine; gives its folder, in which the operator's invitation is."""
    more = getattr(request, "param", [])
    started = subprocess.Popen(
        [server_program, "serve", "--plain", "--listen", "127.0.0.1:0", "--data", "data", *more],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )
    assert started.stderr is not None
    for line in started.stderr:
        if "shield serves at " in line:
            break
    yield tmp_path
    started.terminate()
    started.wait(timeout=120)


def test_an_election_over_the_network(server):
    teachers = ["amber", "birch", "cedar"]
    election = sp.Election.create("ward", teachers=teachers, samples=4, classes=3, setting=SMALL)
    operator = sp.Client(server / "operator.toml", election="ward")
    operator.create(election, server / "invitations")
    student = sp.Client(server / "invitations/student.toml")
    assert student.election() == election and "student of ward" in repr(student)

    secret, public, evaluation = election.keygen_files(server / "keys")
    with pytest.raises(sp.ShieldError, match="secret key"):
        student.submit_key(secret)
    assert (student.submit_key(public), student.submit_key(evaluation)) == ("public", "evaluation")

    with pytest.raises(sp.ServerError, match="keys work"):
        sp.Client(server / "invitations/teacher-amber.toml").vote([0, 1, 2, 1])
    assert student.rehearse(secret) > 0

    votes = np.array([[0, 1, 2, 1], [0, 1, 2, -1], [0, 1, 0, 1]])
    for name, own in zip(teachers, votes):
        sp.Client(server / f"invitations/teacher-{name}.toml").vote(own)
        if name == "birch":
            assert operator.status().voted == 2
    with pytest.raises(sp.ShieldError, match="teacher's invitation"):
        student.vote(votes[0])
    with pytest.raises((sp.ServerError, sp.ShieldError)):
        operator.close()  # The last sample has two voters, and the quorum is three.

    sp.Client(server / "invitations/teacher-cedar.toml")
    assert operator.status().stage == "open"


def close_an_election(server):
    """Four teachers vote on three samples, and the operator closes the election."""
    teachers = [f"t{i}" for i in range(4)]
    election = sp.Election.create("town", teachers=teachers, samples=3, classes=3, setting=SMALL)
    operator = sp.Client(server / "operator.toml", election="town")
    operator.create(election, server / "invitations")
    student = sp.Client(server / "invitations/student.toml")
    election.keygen_files(server / "keys")
    student.submit_keys(server / "keys")
    for name in teachers:
        sp.Client(server / f"invitations/teacher-{name}.toml").vote([0, 1, 2])
    operator.close()
    return election, student


def test_labels_over_the_network(server):
    election, student = close_an_election(server)
    status = student.wait(timeout=300)
    assert status.stage == "released" and "released" in status._repr_html_()
    labels = student.reveal(sp.SecretKey.load(election, server / "keys/secret.key"))
    assert labels.shape == (3,) and set(labels.tolist()) <= {0, 1, 2}
    # The ledger composes elections at one order that is fixed beforehand, which costs more.
    proven = sp.bound(SMALL, teachers=4, classes=3, queries=3).epsilon
    assert status.epsilon is not None and proven <= status.epsilon < 10 * proven


@pytest.mark.parametrize("server", [["--jobs"]], indirect=True)
@pytest.mark.parametrize("worker", ["the program", "this package"])
def test_a_server_leaves_its_aggregation_to_others(server, program, worker):
    election, student = close_an_election(server)
    job = server / "data/elections/town"
    for _ in range(600):
        if (job / "job.toml").exists():
            break
        time.sleep(0.1)
    else:
        pytest.fail("the election is not frozen as a job")
    assert student.status().stage == "closing"
    if worker == "the program":
        subprocess.run([program, "job", "work", "data/elections", "--once"], check=True, cwd=server)
    else:
        sp.Job.resume(job).run()
    assert student.wait(timeout=300).stage == "released"
    labels = student.reveal(sp.SecretKey.load(election, server / "keys/secret.key"))
    assert set(labels.tolist()) <= {0, 1, 2}


def test_a_server_that_is_not_there(tmp_path):
    token = "shield_" + "0" * 64
    invitation = tmp_path / "student.toml"
    invitation.write_text(
        f'server = "http://127.0.0.1:9"\nrole = "student"\nelection = "x"\ntoken = "{token}"\n'
    )
    try:
        client = sp.Client(invitation, patience=0.1)
    except sp.ShieldError:
        pytest.skip("tokens look different now")
    with pytest.raises(sp.ServerError, match="does not answer"):
        client.status()
