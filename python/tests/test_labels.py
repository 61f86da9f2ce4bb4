"""Labels and epsilons are the program's, whatever holds the votes."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import shield_pate as sp
from conftest import SMALL


def label(votes, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.InsecureSeedWarning)
        return sp.label(votes, **{"setting": SMALL, "insecure_seed": 5, **options})


@pytest.mark.parametrize("engine", ["clear", "bfv"])
def test_labels_and_epsilon_are_the_programs(tmp_path, shield, votes, engine):
    np.save(tmp_path / "votes.npy", votes)
    theirs = shield(
        "label", "--votes", tmp_path / "votes.npy", "--classes", 3, "--backend", engine,
        "--polynomial", SMALL.polynomial, "--offset", SMALL.offset, "--seed", 5,
    )
    ours = label(votes, classes=3, engine=engine)
    assert [None if k < 0 else k for k in ours] == theirs["labels"]
    assert ours.epsilon == theirs["epsilon"]
    assert (ours.queries, ours.delta) == (theirs["queries"], theirs["delta"])


@pytest.mark.parametrize("engine", ["clear", "bfv"])
def test_the_noisy_argmax_is_the_programs(tmp_path, shield, votes, engine):
    np.save(tmp_path / "votes.npy", votes)
    theirs = shield(
        "label", "--votes", tmp_path / "votes.npy", "--classes", 3, "--backend", engine,
        "--mechanism", "noisy-argmax", "--noise", 6, "--dropouts", 2, "--seed", 5,
    )
    options = {"classes": 3, "engine": engine, "mechanism": "noisy-argmax", "setting": None}
    ours = label(votes, noise=6, dropouts=2, **options)
    assert [None if k < 0 else k for k in ours] == theirs["labels"]
    assert ours.epsilon == theirs["epsilon"] and ours.mechanism == theirs["mechanism"]
    assert ours.holds_against_server and ours.setting is None
    assert "noisy-argmax" in ours._repr_html_()
    with pytest.raises(sp.ShieldError, match="give `noise`"):
        sp.label(votes, SMALL, classes=3, mechanism="noisy-argmax")
    with pytest.raises(sp.ShieldError, match="law of noise"):
        label(votes, noise_law="gauss", **options)


def test_any_integer_type_and_strides(votes):
    expected = label(votes, classes=3).labels
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        assert np.array_equal(label(votes.astype(dtype), classes=3).labels, expected)
    everybody = np.where(votes < 0, 0, votes)
    expected_all = label(everybody, classes=3).labels
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64, ">i4", "<i2", float):
        assert np.array_equal(label(everybody.astype(dtype), classes=3).labels, expected_all)
    wide = np.zeros((24, 60), np.int64)
    wide[::2, ::-2] = votes
    for view in (np.asfortranarray(votes), wide[::2, ::-2], votes.tolist()):
        assert np.array_equal(label(view, classes=3).labels, expected)


def test_frames_and_missing_values_abstain(votes):
    expected = label(votes, classes=3).labels
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(votes).replace(-1, np.nan)
    names = [f"t{i}" for i in range(votes.shape[1])]
    rows = [[None if vote < 0 else int(vote) for vote in row] for row in votes.tolist()]
    frames = [
        frame,
        pandas.DataFrame(rows, columns=names).convert_dtypes(),
        polars.DataFrame(rows, schema=names, orient="row"),
        arrow.table({name: [row[i] for row in rows] for i, name in enumerate(names)}),
    ]
    for one in frames:
        assert np.array_equal(label(one, classes=3).labels, expected), type(one)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (np.zeros((2, 2, 2), int), "samples x teachers"),
        (np.array([0, 1]), "samples x teachers"),
        (np.array([[0, 9]]), "not a class"),
        (np.array([[0, -2]]), "not a class"),
        (np.array([[0.5, 1]]), "whole numbers"),
        (np.array([["cat", "dog"]]), "give all names"),
        (np.zeros((0, 3), int), "no votes"),
        (np.zeros((3, 0), int), "no votes"),
        (np.array(1), "samples x teachers"),
        (np.array([[0, np.inf]]), "not a class"),
        (np.array([[0, -np.inf]]), "-inf is not a class"),
        (np.array([[0, 1e300]]), "not a class"),
        (np.array([[0, 2**63]], np.uint64), "not a class"),
        (np.array([["0", "1"]], object), "give all names"),
        (np.array([[0, {}]], object), "other kinds"),
        (np.array([[0, 10**400]], object), "other kinds"),
        (np.array([[0, 1j]]), "complex"),
        (np.array([["2020-01-01"]], "datetime64[D]"), "datetime"),
        ([[0, 1], [2]], "do not form a table"),
        (None, "samples x teachers"),
        ("votes.npy", "samples x teachers"),
    ],
)
def test_what_is_refused_says_why(bad, word):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sp.ShieldError, match=word):
            sp.label(bad, classes=3)


def test_masked_and_read_only_votes(votes):
    expected = label(votes, classes=3).labels
    # What is under the mask does not count: the votes of another class are there.
    masked = np.ma.masked_array(np.where(votes < 0, 2, votes), mask=votes < 0)
    assert np.array_equal(label(masked, classes=3).labels, expected)
    fixed = votes.copy()
    fixed.setflags(write=False)
    assert np.array_equal(label(fixed, classes=3).labels, expected)
    objects = np.where(votes < 0, None, votes.astype(object))
    assert np.array_equal(label(objects, classes=3).labels, expected)


def test_truth_has_the_names_of_the_votes():
    votes = sp.Votes(np.zeros((2, 30), int), ("cat", "dog"))
    assert sp.analyze(votes, SMALL, truth=["cat", "dog"]).correct == pytest.approx(0.5, abs=0.4)
    assert sp.analyze(votes, SMALL, truth=[["cat"], ["cat"]]).correct > 0.5
    with pytest.raises(sp.ShieldError, match="'cow' is none of the classes"):
        sp.analyze(votes, SMALL, truth=["cat", "cow"])
    with pytest.raises(sp.ShieldError, match="2 dimensions"):
        sp.analyze(votes, SMALL, truth=[["cat", "dog"]])


def test_other_refusals():
    good = np.zeros((2, 3), int)
    for options, word in [
        ({"engine": "paper"}, "bfv, tfhe, clear"),
        ({"threads": 0}, "threads"),
        ({"delta": 2.0}, "delta"),
        ({"epsilon": 1, "setting": SMALL}, "not both"),
        ({"epsilon": 1, "classes": None}, "classes"),
        ({"classes": -1}, "classes is -1"),
        ({"classes": 2**70}, "classes is 1180591620717411303424"),
        ({"classes": 10**9}, "classes"),
        ({"queries": -5}, "queries is -5"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": float("nan")}, "delta"),
    ]:
        with pytest.raises(sp.ShieldError, match=word):
            sp.label(good, **{"classes": 3, **options})
    with pytest.raises(sp.ShieldError):
        sp.Setting("X^")
    with pytest.raises(sp.ShieldError, match="offset is -1"):
        sp.Setting("X", -1)
    with pytest.raises(TypeError, match="classes is a whole number, not 2.5"):
        sp.label(good, classes=2.5)
    for bad in (-1, 2**70):
        with pytest.raises(sp.ShieldError, match="samples is"):
            sp.Election.create("x", teachers=["a", "b"], samples=bad, classes=2)
    with pytest.warns(sp.InsecureSeedWarning):
        sp.label(good, classes=3, insecure_seed=1)


def test_a_seed_is_drawn_where_none_is_given(votes):
    runs = {tuple(sp.label(np.repeat(votes, 4, axis=0), SMALL, classes=3)) for _ in range(3)}
    assert len(runs) > 1


def test_epsilon_chooses_the_setting_without_looking_at_votes(votes):
    whole = np.where(votes[:3] < 0, 0, votes[:3])
    found = sp.label(whole, epsilon=9, classes=3)
    assert 0.9 * 9 <= found.epsilon <= 9
    taken = sp.recommend(teachers=30, classes=3, queries=3, epsilon=9).decision
    assert (found.mechanism, found.brief, found.epsilon) == (
        taken.mechanism, taken.setting, taken.epsilon,
    )
    assert found.why == taken.why and "why=" in repr(taken)
    private = sp.label(whole, epsilon=9, classes=3, against="server", answered=0.6)
    assert private.holds_against_server and private.epsilon <= 9
    for name in ("lnmax", "gnmax", "exponential", "permute-and-flip"):
        drawn = sp.label(whole, epsilon=9, classes=3, mechanism=name)
        assert drawn.mechanism == name and len(drawn) == 3 and drawn.epsilon <= 9


def test_names_text_settings_and_slips(votes):
    pandas = pytest.importorskip("pandas")
    names = np.array(["cat", "dog", "fox", ""], dtype=object)
    frame = pandas.DataFrame(names[votes])
    expected = label(votes, classes=3)
    for table in (frame, frame.replace("", None), frame.to_numpy()):
        found = label(table)
        assert np.array_equal(found.labels, expected.labels)
        assert found.classes == ("cat", "dog", "fox") and found.epsilon == expected.epsilon
    with pytest.raises(sp.ShieldError, match="none of the classes"):
        label(frame, classes=["cat", "dog"])
    text = f"{SMALL.polynomial}, offset {SMALL.offset}"
    assert label(votes, classes=3, setting=text).epsilon == expected.epsilon
    with pytest.raises(TypeError, match="did you mean `epsilon`"):
        sp.label(votes, classes=3, eps=2)
    with pytest.warns(sp.ShapeWarning, match="votes.T"):
        sp.analyze(np.zeros((2, 30), int), SMALL, classes=3)
    with pytest.raises(sp.ShieldError, match="votes.T"):
        sp.analyze(votes, SMALL, classes=3, truth=np.zeros(votes.shape[1], int))


def test_a_labelling_is_frozen_and_readable(votes):
    found = label(votes, classes=3)
    assert np.array_equal(np.asarray(found), found.labels)
    assert len(found) == 12
    with pytest.raises(ValueError):
        found.labels[0] = 1
    with pytest.raises(AttributeError):
        found.epsilon = 0
    assert "epsilon=" in repr(found) and "<table>" in found._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.labels, found.labels) and again.epsilon == found.epsilon
    assert found.to_frame().shape == (12, 1)
    assert set(found.seconds) >= {"keygen", "encrypt", "aggregate", "decrypt"}


def test_progress_is_told_by_the_calling_thread(votes):
    told = []
    label(votes, classes=3, progress=lambda *now: told.append((*now, threading.current_thread())))
    assert told[-1][:2] == (12, 12)
    assert {entry[2] for entry in told} == {threading.main_thread()}
    label(votes, classes=3, progress=True)


def test_a_progress_that_fails_ends_the_call(votes):
    def fail(done, of):
        raise LookupError

    with pytest.raises(LookupError):
        sp.tune(votes, classes=3, max_degree=5, max_terms=40, progress=fail)


# Seconds of processor time, so that it matters little what else the machine does.
AT_ONCE = 1.0
BIG = sp.Setting("40X^9+30X^7+X")
LONG = {
    "label": lambda: sp.label(many_votes(), sp.Setting("30X^4+X"), classes=10, engine="bfv"),
    "tune": lambda: sp.tune(many_votes(), classes=10, max_degree=8, max_terms=200),
    "bound": lambda: sp.bound(BIG, teachers=2000, classes=60, queries=900),
    "analyze": lambda: sp.analyze(many_votes(samples=20_000), BIG, classes=10),
    "compare": lambda: sp.compare(many_votes(samples=20_000), classes=10),
    "recommend": lambda: sp.recommend(teachers=900, classes=30, queries=2000, epsilon=2),
    "synthesize": lambda: sp.synthesize(teachers=10_000, classes=10, samples=20_000),
}


def many_votes(samples=400):
    return sp.synthesize(teachers=120, classes=10, samples=samples)[0]


def interrupted(call):
    """Strikes Ctrl-C half a second into a call; gives what was computed until it was heard.

    The call must take much longer than that, or it is over before it is interrupted.
    """
    struck = []

    def strike():
        struck.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, strike)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
        pytest.fail("the call was over before it was interrupted")
    heard = time.process_time()
    timer.join()
    return heard - struck[0]


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_is_heard_at_once(what):
    # In a process of its own: work that does not watch goes on in the background until it exits.
    code = f"import test_labels as t; print(t.interrupted(t.LONG[{what!r}]))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < AT_ONCE


def test_after_ctrl_c_the_next_call_does_not_wait(votes):
    # The work that was interrupted would go on for minutes on the only thread.
    code = """if True:
        import test_labels as t
        t.interrupted(lambda: t.sp.bound(t.BIG, teachers=2000, classes=60, threads=1))
        t.sp.bound(t.SMALL, teachers=5, classes=2, queries=1, threads=1)
        print("answered")
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True,
        timeout=60,
    )
    assert done.stdout == "answered\n", done.stderr


def test_a_forked_child_can_label(votes):
    expected = label(votes, classes=3, engine="bfv").labels.tobytes()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)  # A child that hangs ends, and the parent reads nothing.
        os.write(writer, label(votes, classes=3, engine="bfv").labels.tobytes())
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 4096) == expected
    assert os.waitpid(child, 0)[1] == 0


def test_threads_label_side_by_side(votes):
    expected = label(votes, classes=3, engine="bfv").labels
    with ThreadPoolExecutor(4) as threads:
        # Warnings are filtered for the whole process, not by thread.
        calls = [threads.submit(sp.bound, SMALL, teachers=30, classes=3) for _ in range(4)]
        calls += [threads.submit(sp.label, votes, SMALL, classes=3) for _ in range(4)]
        found = [call.result() for call in calls]
    assert len({bound.epsilon for bound in found[:4]}) == 1
    assert all(len(labels) == len(expected) for labels in found[4:])


def test_other_threads_run_while_a_call_does(votes):
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    sp.bound(sp.Setting("4X^3+X"), teachers=60, classes=4, queries=10)
    after = counted[0]
    stop.set()
    thread.join()
    assert after > before
