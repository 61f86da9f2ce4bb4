"""The figures of docs/performance.md about Ray: `python cluster.py FOLDER TEACHERS BATCHES SHARDS`.

Makes an election in FOLDER, aggregates it with one worker and with two in one run, kills a worker
in the middle, and compares the bytes with those of `shield job run`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import shield_pate as sp
from shield_pate import ray as cluster


def make(folder: Path, teachers: int, batches: int) -> sp.Job:
    names = [f"t{i}" for i in range(teachers)]
    # With eight classes a batch holds 1,024 samples, unless there are very many.
    samples = 1024 * batches
    election = sp.Election.create("figures", teachers=names, samples=samples, classes=8)
    folder.mkdir(parents=True)
    print(f"{election!r}, {samples} samples", flush=True)
    _, public_file, evaluation = election.keygen_files(folder / "keys")
    public = Path(public_file).read_bytes()
    votes, _ = sp.synthesize(teachers=teachers, classes=8, samples=samples)
    (folder / "ballots").mkdir()
    for number, name in enumerate(names):
        ballot = election.vote(public, name, votes.array[:, number])
        (folder / "ballots" / name).write_bytes(ballot)
    print(f"ballots of {len(ballot):,} bytes", flush=True)
    return sp.Job.freeze(election, evaluation, folder / "ballots", folder / "job")


def clear(job: sp.Job) -> None:
    for part in (job.path / "parts").iterdir():
        part.unlink()


def run(job: sp.Job, cores: int, shards: int, kill: bool = False) -> tuple[float, int]:
    import ray

    clear(job)
    ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False)
    # Workers that are there and have read the key: their start is not what is measured.
    warm: dict[int, int] = {}
    list(cluster.results(job, [0] * cores, shards=shards, workers=warm))
    workers: dict[int, int] = {}
    start = time.monotonic()
    killed = False
    for batch, release in cluster.results(job, job.missing, shards=shards, workers=workers):
        job.put(batch, release)
        if kill and not killed:
            os.kill(next(iter(workers)), signal.SIGKILL)
            killed = True
    seconds = time.monotonic() - start
    ray.shutdown()
    return seconds, max(workers.values())


def main() -> None:
    folder, teachers, batches = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    shards = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    job = sp.Job.resume(folder / "job") if folder.exists() else make(folder, teachers, batches)
    clear(job)
    start = time.monotonic()
    subprocess.run(["shield", "job", "run", str(job.path)], check=True, stdout=subprocess.DEVNULL)
    print(f"the program, all threads: {time.monotonic() - start:.1f} s", flush=True)
    expected = folder / "program.bin"
    expected.unlink(missing_ok=True)
    job.finish(expected)
    times = {}
    for cores, kill in ((1, False), (2, False), (2, True)):
        times[cores, kill], memory = run(job, cores, shards, kill)
        out = folder / "ray.bin"
        out.unlink(missing_ok=True)
        job.finish(out)
        same = out.read_bytes() == expected.read_bytes()
        print(
            f"{cores} workers{', one killed' if kill else ''}: {times[cores, kill]:.1f} s, at most"
            f" {memory / 2**20:.0f} MiB per worker, bytes {'the same' if same else 'DIFFER'}",
            flush=True,
        )
    print(f"ratio {times[1, False] / times[2, False]:.2f}")
    if "--keep" not in sys.argv:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
