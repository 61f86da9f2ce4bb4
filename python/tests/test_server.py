"""An election over a real server, from the operator's first step to the student's labels."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

import shield_pate as sp
from conftest import SMALL


@pytest.fixture
def server(tmp_path, program):
    """A server of this machine; gives its folder, in which the operator's invitation is."""
    started = subprocess.Popen(
        [program, "serve", "--plain", "--listen", "127.0.0.1:0", "--data", "data"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )
    assert started.stderr is not None
    for line in started.stderr:
        if line.startswith("shield serves at "):
            break
    yield tmp_path
    started.terminate()
    started.wait(timeout=20)


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


def test_labels_over_the_network(server):
    teachers = [f"t{i}" for i in range(4)]
    election = sp.Election.create("town", teachers=teachers, samples=3, classes=3, setting=SMALL)
    operator = sp.Client(server / "operator.toml", election="town")
    operator.create(election, server / "invitations")
    student = sp.Client(server / "invitations/student.toml")
    paths = election.keygen_files(server / "keys")
    for path in paths[1:]:
        student.submit_key(path)
    for name in teachers:
        sp.Client(server / f"invitations/teacher-{name}.toml").vote([0, 1, 2])
    operator.close()
    status = student.wait(timeout=60)
    assert status.stage == "released" and "released" in status._repr_html_()
    labels = student.reveal(sp.SecretKey.load(election, paths[0]))
    assert labels.shape == (3,) and set(labels.tolist()) <= {0, 1, 2}
    assert status.epsilon == pytest.approx(
        sp.bound(SMALL, teachers=4, classes=3, queries=3).by_moments, rel=0.5
    )


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
