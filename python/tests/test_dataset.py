"""A dataset goes in, and comes out with private labels, from teachers of any kind."""

from __future__ import annotations

import json
import os
import stat
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import shield_pate as sp

CLASSES = ["cat", "dog", "fox"]
TEXTS = [f"{name} {number}" for number in range(4) for name in CLASSES]
TRUTH = [text.split()[0] for text in TEXTS]


def teacher(sample):
    return sample.split()[0]


def teachers(count=40):
    """Teachers that are right, but for two that say nothing about the first sample."""

    def of(number):
        def vote(samples):
            said = [teacher(sample) for sample in samples]
            return [None if number < 2 and s == TEXTS[0] else t for s, t in zip(samples, said)]

        return vote

    return [of(number) for number in range(count)]


def label(dataset, column="text", **options):
    asked = options.pop("teachers", None) or teachers()
    return sp.label_dataset(
        dataset, asked, classes=CLASSES, column=column, epsilon=20, batch=5, **options
    )


def frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow, hf = pytest.importorskip("pyarrow"), pytest.importorskip("datasets")
    columns = {"id": list(range(len(TEXTS))), "text": TEXTS}
    return {
        "pandas": pandas.DataFrame(columns, index=range(100, 100 + len(TEXTS))),
        "polars": polars.DataFrame(columns),
        "arrow": pyarrow.table(columns),
        "huggingface": hf.Dataset.from_dict(columns),
        "streaming": hf.Dataset.from_dict(columns).to_iterable_dataset(),
        "rows": [{"id": number, "text": text} for number, text in enumerate(TEXTS)],
        "generator": ({"id": number, "text": text} for number, text in enumerate(TEXTS)),
    }


KINDS = ["pandas", "polars", "arrow", "huggingface", "streaming", "rows", "generator"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_dataset_comes_back_as_what_it_was_with_two_columns(kind):
    dataset = frames()[kind]
    made = label(dataset)
    expected = type(dataset) if kind not in ("streaming", "generator") else list
    assert isinstance(made.dataset, expected)
    if kind == "arrow":
        rows = made.dataset.to_pylist()
    elif kind == "pandas":
        assert list(made.dataset.index) == list(range(100, 100 + len(TEXTS)))
        rows = made.dataset.to_dict("records")
    elif kind == "polars":
        rows = made.dataset.to_dicts()
    else:
        rows = list(made.dataset)
    assert [row["text"] for row in rows] == TEXTS
    for row, number in zip(rows, made.labelling):
        assert row["answered"] == (number >= 0)
        assert row["label"] == CLASSES[number] if number >= 0 else row["label"] != row["label"] or (
            row["label"] is None
        )
    right = sum(row["label"] == truth for row, truth in zip(rows, TRUTH))
    assert right >= len(TEXTS) - 3
    card = made.card()
    assert f"{made.epsilon:.4f}" in card and "cat, dog, fox" in card and "40" in card


def test_bare_values_and_whole_rows_are_asked_about():
    made = label(TEXTS, column=None)
    assert made.dataset[0].keys() == {"sample", "label", "answered"}
    asked = [lambda rows: [row["text"].split()[0] for row in rows]] * 40
    assert label(frames()["pandas"], column=None, teachers=asked).answered > 0.5


def test_a_run_goes_on_where_it_ended(tmp_path):
    asked = teachers()
    calls = []

    def breaks(samples):
        calls.append(len(samples))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [teacher(sample) for sample in samples]

    journal = tmp_path / "votes"
    with pytest.raises(KeyboardInterrupt):
        label(TEXTS, column=None, teachers=[breaks, *asked], journal=journal)
    # What a power cut leaves of a line.
    with open(journal / "teacher-0000.jsonl", "a") as file:
        file.write("[0, 1")
    first = label(TEXTS, column=None, teachers=[breaks, *asked], journal=journal)
    assert calls == [5, 5, 5, 2]
    assert not any(path.stat().st_mode & 0o077 for path in [journal, *journal.iterdir()])
    # The labels were drawn: nothing is asked, and nothing drawn a second time.
    again = label(TEXTS, column=None, teachers=[breaks, *asked], journal=journal)
    assert calls == [5, 5, 5, 2]
    assert list(again.labelling) == list(first.labelling)
    assert again.epsilon == first.epsilon and again.dataset == first.dataset
    with pytest.raises(sp.SecondDrawError, match="paid for on top"):
        sp.label_dataset(
            TEXTS, [breaks, *asked], classes=CLASSES, epsilon=10, batch=5, journal=journal
        )
    with pytest.raises(sp.ShieldError, match="its samples differs"):
        label(TEXTS[1:], column=None, teachers=[breaks, *asked], journal=journal)
    (journal / "labels.json").unlink()
    (journal / "teacher-0003.jsonl").write_text('["cat"]\n')
    with pytest.raises(sp.DamagedError, match="teacher-0003"):
        label(TEXTS, column=None, teachers=[breaks, *asked], journal=journal)


def test_a_teacher_that_fails_is_asked_again(monkeypatch):
    monkeypatch.setattr("shield_pate._asking.LONGEST_PAUSE", 0.0)
    failures = [OSError("gone"), OSError("gone")]

    def shaky(samples):
        if failures:
            raise failures.pop()
        return [teacher(sample) for sample in samples]

    made = label(TEXTS, column=None, teachers=[shaky, *teachers()], workers=3)
    assert made.teachers == 41 and not failures

    def broken(samples):
        raise OSError("gone for good")

    with pytest.raises(sp.ShieldError, match="teacher 1, samples 0 to 4: OSError: gone for good"):
        label(TEXTS, column=None, teachers=[broken, *teachers()], retries=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teachers": [lambda samples: ["wolf"] * len(samples)]}, "'wolf' is none of the classes"),
        ({"teachers": [lambda samples: ["cat"]]}, "1 answers; one per sample"),
        ({"teachers": [3]}, "neither a function"),
        ({"column": "words"}, "no column `words`"),
        ({"dataset": np.zeros((3, 2))}, "use `collect`"),
        ({"dataset": []}, "is empty"),
        ({"dataset": 3}, "no dataset"),
        ({"dataset": [{"text": "a", "label": 1}], "column": "text"}, "column `label` already"),
        ({"retries": -1}, "at least 0"),
    ],
)
def test_what_cannot_be_labelled_is_said(options, message):
    options = {"dataset": TEXTS, "column": None, **options}
    with pytest.raises(sp.ShieldError, match=message):
        label(options.pop("dataset"), **options)


def test_splits_are_named():
    hf = pytest.importorskip("datasets")
    both = hf.DatasetDict({"train": hf.Dataset.from_dict({"text": TEXTS})})
    with pytest.raises(sp.ShieldError, match=r"splits train; .* dataset\['train'\]"):
        label(both)


@pytest.fixture
def endpoint():
    """A chat endpoint that reads the class off the sample, in the words of a model."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, self.headers.get("Authorization"), body))
            asked = body["messages"][1]["content"]
            if "redirect" in asked:
                self.send_response(302)
                self.send_header("Location", "http://127.0.0.1:9/")
                self.end_headers()
                return
            said = asked.rsplit("\n", 1)[-1]
            reply = json.dumps({"choices": [{"message": {"content": said}}]})
            self.send_response(500 if "broken" in asked else 200)
            self.end_headers()
            self.wfile.write(reply.encode() if "odd" not in asked else b"[]")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", seen
    server.shutdown()
    server.server_close()
    thread.join(timeout=10)


def test_a_language_model_votes(endpoint):
    url, seen = endpoint
    options = {"model": "small", "classes": ["good", "very good", "bad"]}
    chat = sp.ChatTeacher(url, prompt="How is it?", key="secret-key", name="amber", **options)
    replies = ["Good.", "very good", "It is **Bad**!", "good or bad", "I cannot say", "goodness"]
    assert chat(replies) == ["good", "very good", "bad", None, None, None]
    path, key, body = seen[0]
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer secret-key", "small")
    assert "very good; bad" in body["messages"][0]["content"]
    assert "secret-key" not in repr(chat) and "amber" in repr(chat)
    placed = sp.ChatTeacher(url, prompt="Is {sample} good?\nbad", **options)
    assert placed(["it"]) == ["bad"] and "Is it good?" in seen[-1][2]["messages"][1]["content"]
    for sample, message in [("broken", "status 500"), ("odd", "chat endpoint")]:
        with pytest.raises(sp.ShieldError, match=message):
            chat([sample])
    # The key goes nowhere else.
    with pytest.raises(sp.ShieldError, match="status 302"):
        chat(["redirect"])
    with pytest.raises(sp.ShieldError, match="no address"):
        sp.ChatTeacher("file:///etc/passwd", prompt="", **options)
    with pytest.raises(sp.ShieldError, match="two classes"):
        sp.ChatTeacher(url, prompt="", model="small", classes=["good"])


def test_language_models_label_a_dataset(endpoint):
    url, _ = endpoint
    asked = [
        sp.ChatTeacher(url, model="small", prompt="Which?", classes=CLASSES) for _ in range(20)
    ]
    said = [*TRUTH, "none"]
    made = sp.label_dataset(said, asked, classes=CLASSES, epsilon=20, workers=4)
    assert [row["label"] for row in made.dataset][:-1].count(None) < 6


def test_votes_of_a_journal_are_private(tmp_path):
    old = os.umask(0)
    try:
        label(TEXTS, column=None, journal=tmp_path / "a" / "votes")
    finally:
        os.umask(old)
    for path in (tmp_path / "a" / "votes").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
