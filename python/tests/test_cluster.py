"""Ray, Dask and object stores: the bytes of `shield aggregate`, whoever computes and dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import shield_pate as sp


# Enough for several batches, however many samples a batch holds.
SAMPLES = 20_000


@pytest.fixture(scope="module")
def several(make_election):
    """A few batches of four teachers."""
    return make_election(4, SAMPLES)


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    # A busy machine takes long to start Ray's own processes.
    os.environ.setdefault("RAY_agent_register_timeout_ms", "300000")
    for left in (2, 1, 0):
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
            break
        except Exception:
            ray.shutdown()
            if left == 0:
                raise
    yield ray
    ray.shutdown()


def test_ray_gives_the_programs_bytes(several, program, ray):
    job = several.freeze()
    assert job.batches >= 3, job
    expected = several.expected(job, program)
    job.run("ray")
    out = several.folder / "ray.bin"
    job.finish(out)
    assert out.read_bytes() == expected

    # Again in shards of teachers, with a worker that dies in the middle.
    parts = list((job.path / "parts").iterdir())
    for part in parts:
        part.unlink()
    from shield_pate import ray as cluster

    workers: dict[int, int] = {}
    results = cluster.results(job, job.missing, shards=3, workers=workers)
    batch, release = next(results)
    job.put(batch, release)
    os.kill(next(iter(workers)), signal.SIGKILL)
    for batch, release in results:
        job.put(batch, release)
    job.finish(out)
    assert out.read_bytes() == expected


def test_a_driver_that_dies_is_resumed(make_election, program):
    pytest.importorskip("ray")
    made = make_election(4, SAMPLES)
    job = made.freeze()
    expected = made.expected(job, program)
    out = made.folder / "ray.bin"
    command = [sys.executable, "-m", "shield_pate.ray", str(job.path), "--out", str(out)]
    # A busy machine may be too slow for Ray to start, which gives up after half a minute.
    for _ in range(3):
        driver = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert driver.stderr is not None
        started = any(line.startswith("batch") for line in driver.stderr)
        driver.kill()
        driver.wait()
        if started:
            break
    left = job.missing
    assert 0 < len(left) < job.batches
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    assert f"{len(left)} of {job.batches} batches to compute" in done.stderr
    assert out.read_bytes() == expected


def test_dask_gives_the_programs_bytes(make_election, program):
    pytest.importorskip("distributed")
    made = make_election(4, 3)
    job = made.freeze()
    job.run("dask", shards_of_teachers=2)
    job.finish(made.folder / "dask.bin")
    assert (made.folder / "dask.bin").read_bytes() == made.expected(job, program)


@pytest.fixture
def s3(monkeypatch):
    """A local S3 server."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    import fsspec

    fs = fsspec.filesystem("s3", skip_instance_cache=True)
    fs.mkdir("ballots")
    yield fs
    server.stop()


def test_ballots_in_an_object_store(make_election, program, s3):
    made = make_election(5, 6)
    size = 0
    for ballot in made.ballots.iterdir():
        s3.pipe_file(f"ballots/small/{ballot.name}", ballot.read_bytes())
        size += ballot.stat().st_size
    job = sp.Job.freeze(made.election, made.evaluation, "s3://ballots/small", made.folder / "job")
    assert s3.exists("ballots/small/aggregated.toml")
    job.run()
    job.finish(made.folder / "results.bin")
    store = job.store
    assert store is not None
    # Each batch of each ballot once: the ranges of a ballot are all of it but its head.
    assert size - 5 * 100 < store.bytes_read < size
    # A shard reads its own ballots only.
    before = store.bytes_read
    assert job.task(0, range(0, 2))()
    assert store.bytes_read - before < size * 2 / 5
    with pytest.raises(sp.SecondDrawError):
        sp.Job.freeze(made.election, made.evaluation, "s3://ballots/small", made.folder / "other")
    # The same seed on the same ballots in a folder gives the same bytes.
    text = (job.path / "job.toml").read_text().replace("s3://ballots/small", str(made.ballots))
    (job.path / "job.toml").write_text(text)
    assert (made.folder / "results.bin").read_bytes() == made.expected(job, program)
