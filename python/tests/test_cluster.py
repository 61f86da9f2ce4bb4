"""Ray, Dask and object stores: the bytes of `shield aggregate`, whoever computes and dies."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import shield_pate as sp


# Enough for several batches, however many samples a batch holds.
SAMPLES = 20_000


@dataclass(frozen=True)
class Several:
    """A frozen job of several batches, and the results that the program makes of it."""

    job: sp.Job
    expected: bytes

    def copy(self, folder: Path) -> sp.Job:
        """The same job with nothing computed yet."""
        shutil.copytree(self.job.path, folder)
        return sp.Job.resume(folder)


@pytest.fixture(scope="module")
def several(make_election, program):
    made = make_election(4, SAMPLES)
    job = made.freeze()
    assert job.batches >= 3, job
    return Several(job, made.expected(job, program))


@pytest.fixture(scope="module")
def ray():
    """One cluster for all tests: its start takes longer than they do."""
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


@pytest.fixture
def address(ray, monkeypatch):
    """This cluster's, which is also what `auto` stands for: there may be others on a machine."""
    address = ray.get_runtime_context().gcs_address
    monkeypatch.setenv("RAY_ADDRESS", address)
    return address


def test_ray_gives_the_programs_bytes(several, tmp_path, ray):
    job = several.copy(tmp_path / "job")
    job.run("ray")
    job.finish(tmp_path / "ray.bin")
    assert (tmp_path / "ray.bin").read_bytes() == several.expected


def test_a_worker_that_dies_is_replaced(several, tmp_path, ray):
    from shield_pate import ray as cluster

    job = several.copy(tmp_path / "job")
    workers: dict[int, int] = {}
    results = cluster.results(job, job.missing, shards=3, workers=workers)
    batch, release = next(results)
    job.put(batch, release)
    # All of them: some are in the middle of a task.
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    before = set(workers)
    for batch, release in results:
        job.put(batch, release)
    assert set(workers) - before, "nobody took their place"
    job.finish(tmp_path / "ray.bin")
    assert (tmp_path / "ray.bin").read_bytes() == several.expected


def test_a_driver_that_dies_is_resumed(several, tmp_path, address):
    job, out = several.copy(tmp_path / "job"), tmp_path / "ray.bin"
    command = [sys.executable, "-m", "shield_pate.ray", job.path, "--address", address]
    driver = subprocess.Popen([*command, "--out", out], stderr=subprocess.PIPE, text=True)
    assert driver.stderr is not None
    told = []
    for line in driver.stderr:
        told.append(line)
        if line.startswith("batch"):
            break
    driver.kill()
    driver.wait()
    if not job.missing:  # It had come to its end.
        (job.path / "parts/0.release").unlink()
    left = job.missing
    assert 0 < len(left) < job.batches, told
    done = subprocess.run([*command, "--out", out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{len(left)} of {job.batches} batches to compute" in done.stderr
    assert out.read_bytes() == several.expected


def test_the_commands_of_the_documentation_run(make_election, program, address):
    page = Path(__file__).parent.parent.parent / "docs/python.md"
    section = page.read_text().split("## An aggregation on many machines")[1].split("\n## ")[0]
    [block] = re.findall(r"^```console\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    commands = re.sub(r" \\\n> *", " ", block).splitlines()
    assert len(commands) == 2 and all(command.startswith("$ ") for command in commands)
    made = make_election(4, 3)
    made.file.rename(made.folder / "ward-7.toml")
    shutil.copy(made.evaluation, made.folder / "evaluation.key")
    path = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        run = subprocess.run(
            command[2:], shell=True, cwd=made.folder, capture_output=True, text=True,
            env={**os.environ, "PATH": path}, check=False,
        )
        assert run.returncode == 0, run.stderr
    job = sp.Job.resume(made.folder / "job")
    assert (made.folder / "results.bin").read_bytes() == made.expected(job, program)


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


def test_a_folder_that_others_prepared_is_not_used(tmp_path, monkeypatch):
    from shield_pate import ray as cluster

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv(cluster.SEED_VARIABLE, str(tmp_path / "seed"))
    digest = "0123456789abcdef" * 4
    prepared = tmp_path / f"shield-job-{os.getuid()}-{digest[:16]}"
    prepared.mkdir()
    prepared.chmod(0o755)
    with pytest.raises(RuntimeError, match="only you can read"):
        cluster._place.__wrapped__("/nowhere", digest, None)
