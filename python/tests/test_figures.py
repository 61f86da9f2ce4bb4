"""Figures are the program's, and results read well."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import shield_pate as sp
from conftest import SMALL

SETTING = ("--polynomial", SMALL.polynomial, "--offset", SMALL.offset)


def test_bound(shield):
    theirs = shield("bound", "--teachers", 40, "--classes", 3, "--queries", 20, *SETTING)
    ours = sp.bound(SMALL, teachers=40, classes=3, queries=20)
    assert ours.by_moments == theirs["epsilon"]
    assert ours.exact == theirs["exact"]["epsilon"]
    assert ours.worst_found == theirs["exact"]["worst_found"]
    assert ours.epsilon == min(ours.by_moments, ours.exact)
    infinite = sp.bound(sp.Setting("X", 0), teachers=5, classes=2)
    assert infinite.epsilon == float("inf")


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        ("noisy-argmax", {"noise": 15.0}),
        ("noisy-argmax", {"noise": 15.0, "noise_law": "laplace", "dropouts": 4}),
        ("noisy-argmax", {"noise_law": "bits", "weights": [1, 2, 4]}),
        ("lnmax", {"noise": 15.0}),
        ("gnmax", {"noise": 15.0}),
    ],
)
def test_bound_of_labels(shield, mechanism, options):
    words = {k: ",".join(map(str, v)) if k == "weights" else v for k, v in options.items()}
    given = [word for name, value in words.items() for word in (f"--{name}", value)]
    given = [str(word).replace("_", "-") for word in given]
    election = {"teachers": 40, "classes": 3, "queries": 10}
    asked = [word for name, value in election.items() for word in (f"--{name}", value)]
    theirs = shield("bound", *asked, "--mechanism", mechanism, *given)
    ours = sp.bound(mechanism=mechanism, **options, **election)
    assert ours.epsilon == theirs["epsilon"] < ours.vector_epsilon == theirs["vector_epsilon"]
    assert ours.strategy == theirs["strategy"] <= ours.epsilon
    assert ours.noise == theirs["mechanism"]["noise"]
    with pytest.raises(sp.ShieldError, match="setting"):
        sp.bound(SMALL, mechanism=mechanism, **election)


def test_queries_within(shield):
    theirs = shield("bound", "--teachers", 40, "--classes", 3, *SETTING, "--budget", 9)
    ours = sp.queries_within(9, SMALL, teachers=40, classes=3)
    assert ours == theirs["queries_within_budget"] > 0


@pytest.fixture
def files(tmp_path, votes, truth):
    np.save(tmp_path / "votes.npy", votes)
    np.save(tmp_path / "truth.npy", truth)
    return ("--votes", tmp_path / "votes.npy", "--labels", tmp_path / "truth.npy", "--classes", 3)


def test_analyze(shield, files, votes, truth):
    theirs = shield("analyze", *files, *SETTING)
    ours = sp.analyze(votes, SMALL, classes=3, truth=truth)
    assert ours.argmax == theirs["accuracy"]["argmax"]
    assert ours.ground_truth_accuracy == theirs["accuracy"]["ground_truth"]
    assert ours.correct == theirs["accuracy"]["correct_labels"] / 12
    for name in ("published", "renyi", "teacher_wise"):
        assert ours.private[name] == theirs["epsilon"][name]
    assert ours.epsilon <= theirs["epsilon"]["data_independent"]
    assert "DO NOT PUBLISH" in repr(ours) and "DO NOT PUBLISH" in ours._repr_html_()
    frame = ours.to_frame()
    assert list(frame[frame.may_be_published].figure) == ["epsilon"]


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        ("exact", {}),
        ("lnmax", {"noise": 8}),
        ("gnmax", {"noise": 8}),
        ("noisy-argmax", {"noise": 8, "dropouts": 3}),
        ("noisy-argmax", {"noise": 8, "noise_law": "skellam"}),
        ("confident-gnmax", {"noise": 8, "threshold": 12, "check_noise": 9}),
        ("confident-gnmax", {"noise": 8}),
        ("exponential", {"rate": 0.1}),
        ("permute-and-flip", {"rate": 0.1}),
        ("exponential-operator", {"schedule": "4x0.1,4x0.05"}),
    ],
)
def test_analyze_every_mechanism(shield, files, votes, truth, mechanism, options):
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    given = [str(word).replace("_", "-") for word in given]
    theirs = shield("analyze", *files, "--mechanism", mechanism, *given)
    ours = sp.analyze(votes, classes=3, truth=truth, mechanism=mechanism, **options)
    assert ours.mechanism == theirs["mechanism"]["name"]
    assert ours.ground_truth_accuracy == theirs["accuracy"]["ground_truth"]
    for name, figure in ours.private.items():
        if name in theirs["epsilon"]:
            assert figure == float(theirs["epsilon"][name]), name
    proven = theirs["epsilon"]
    tight = (proven.get("exact") or {}).get("data_independent", "inf")
    assert ours.epsilon == min(float(proven["data_independent"]), float(tight))


def test_tune(shield, files, votes, truth):
    options = ("--max-degree", 2, "--max-terms", 3, "--offsets", "2,5")
    theirs = shield("tune", *files, *options)
    ours = sp.tune(votes, classes=3, truth=truth, max_degree=2, max_terms=3, offsets=[5, 2])
    assert [p.epsilon for p in ours] == [p["epsilon"] for p in theirs["front"]]
    assert [p.accuracy for p in ours] == [p["right"] for p in theirs["front"]]
    assert ours.exhaustive and ours.best(epsilon=1e9) == ours[-1].setting
    with pytest.raises(sp.ShieldError, match="cheapest"):
        ours.best(epsilon=1e-9)
    assert len(ours.to_frame()) == len(ours)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert ours.plot().get_ylabel() == "right labels"
    assert "polynomial" in repr(ours) and "<table>" in ours._repr_html_()


def test_compare(shield, files, votes, truth):
    theirs = shield("compare", *files, "--epsilon", "8", "--queries", 2)
    ours = sp.compare(votes, classes=3, truth=truth, epsilons=8, queries=2)
    assert [row.mechanism for row in ours] == [row["mechanism"] for row in theirs["rows"]]
    assert [row.right for row in ours] == [row["right"] for row in theirs["rows"]]
    assert len(ours.to_frame()) == len(ours) and "shield" in repr(ours)
    assert len({(row.name, row.budget) for row in ours}) == len(ours)
    assert "answered" in repr(ours)


def test_recommend(shield):
    options = {"teachers": 20, "classes": 3, "queries": 3, "epsilon": 9}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    theirs = shield("recommend", *flags)
    ours = sp.recommend(**options)
    assert (ours.setting.polynomial, ours.setting.offset) == (
        theirs["polynomial"],
        theirs["offset"],
    )
    assert (ours.epsilon, ours.seconds) == (theirs["epsilon"], theirs["seconds"])
    assert "made-up" in ours._repr_html_()
    with pytest.raises(sp.ShieldError, match="fewer samples"):
        sp.recommend(teachers=5, classes=3, queries=10, epsilon=0)


def test_settings_are_values():
    setting = sp.Setting("X + 2X^2", 3)
    assert setting == sp.Setting("2X^2+X", 3) and hash(setting) == hash(sp.Setting("2X^2+X", 3))
    assert eval(repr(setting), vars(sp)) == setting
    assert pickle.loads(pickle.dumps(setting)) == setting
    assert (setting.rounds, setting.degree) == (3, 2)


def test_votes_of_estimators():
    sklearn = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] > 0, "right", "left")
    teachers = [
        sklearn.LogisticRegression().fit(X[i::40], y[i::40]) for i in range(30)
    ]
    votes = sp.collect(teachers, X[:100])
    assert votes.classes == ("left", "right") and votes.array.shape == (100, 30)
    # A seed: which labels are wrong is chance, and so is what a student makes of them.
    labels = sp.label(votes, SMALL, insecure_seed=5)
    student = sklearn.LogisticRegression().fit(*labels.training_set(X[:100]))
    assert student.score(X, y) > 0.8
    assert set(labels.to_frame().label) == {"left", "right"}
    functions = [lambda X: (X[:, 0] > 0).astype(int)] * 3
    assert sp.collect(functions, X[:5], classes=[0, 1]).teachers == 3
    with pytest.raises(sp.ShieldError, match="none of the classes"):
        sp.collect(teachers, X[:5], classes=["left", "up"])
    with pytest.raises(sp.ShieldError, match="no teachers"):
        sp.collect([], X)
