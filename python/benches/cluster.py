"""The figures of docs/performance.md about Ray.

    python cluster.py make FOLDER [--teachers 250] [--classes 8] [--batches 20] [--voters N]
    python cluster.py run FOLDER [--shards 1] [--repeat 1]

The first makes an election in FOLDER, with its ballots. The second aggregates it with one worker
and with two in one run, kills a worker in the middle, and compares the bytes with those of `shield
job run`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import shield_pate as sp
from shield_pate import ray as cluster

# Ray's workers are as nice as can be, so that on a busy machine they would wait for everybody else.
os.environ.setdefault("RAY_worker_niceness", "0")
# And a busy machine takes long to start Ray's own processes.
os.environ.setdefault("RAY_agent_register_timeout_ms", "300000")


def make(folder: Path, teachers: int, classes: int, batches: int, voters: int) -> None:
    names = [f"t{i}" for i in range(teachers)]

    def plan(samples: int) -> sp.Election:
        return sp.Election.create(
            "figures", teachers=names, samples=samples, classes=classes, quorum=voters
        )

    # As many samples as fill the batches: the plan of very many says how many one holds.
    much = 1 << 16
    samples = batches * (much // plan(much).batches)
    election = plan(samples)
    folder.mkdir(parents=True)
    print(f"{election!r}, {samples} samples, {voters} voters", flush=True)
    _, public_file, evaluation = election.keygen_files(folder / "keys")
    public = Path(public_file).read_bytes()
    votes, _ = sp.synthesize(teachers=voters, classes=classes, samples=samples)
    (folder / "ballots").mkdir()

    def vote(number: int) -> int:
        # Spread over all teachers, so that every shard has its share.
        name = names[number * teachers // voters]
        ballot = election.vote(public, name, votes.array[:, number])
        (folder / "ballots" / name).write_bytes(ballot)
        return len(ballot)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sizes = list(pool.map(vote, range(voters)))
    print(f"ballots of {sizes[0]:,} bytes", flush=True)
    sp.Job.freeze(election, evaluation, folder / "ballots", folder / "job")


def clear(job: sp.Job) -> None:
    for part in (job.path / "parts").iterdir():
        part.unlink()


def measure(job: sp.Job, cores: int, shards: int, kill: bool = False) -> tuple[float, int]:
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


def run(folder: Path, shards: int, repeat: int) -> None:
    job = sp.Job.resume(folder / "job")
    clear(job)
    start = time.monotonic()
    subprocess.run(["shield", "job", "run", str(job.path)], check=True, stdout=subprocess.DEVNULL)
    print(f"the program, all threads: {time.monotonic() - start:.1f} s", flush=True)
    expected = folder / "program.bin"
    expected.unlink(missing_ok=True)
    job.finish(expected)
    for _ in range(repeat):
        times = {}
        for cores, kill in ((1, False), (2, False), (2, True)):
            times[cores, kill], memory = measure(job, cores, shards, kill)
            out = folder / "ray.bin"
            out.unlink(missing_ok=True)
            job.finish(out)
            same = out.read_bytes() == expected.read_bytes()
            print(
                f"{cores} workers{', one killed' if kill else ''}: {times[cores, kill]:.1f} s, at"
                f" most {memory / 2**20:.0f} MiB per worker, bytes"
                f" {'the same' if same else 'DIFFER'}, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        print(f"ratio {times[1, False] / times[2, False]:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    first = steps.add_parser("make")
    first.add_argument("folder", type=Path)
    first.add_argument("--teachers", type=int, default=250)
    first.add_argument("--classes", type=int, default=8)
    first.add_argument("--batches", type=int, default=20)
    first.add_argument("--voters", type=int)
    second = steps.add_parser("run")
    second.add_argument("folder", type=Path)
    second.add_argument("--shards", type=int, default=1)
    second.add_argument("--repeat", type=int, default=1)
    args = parser.parse_args()
    if args.step == "make":
        voters = args.voters or args.teachers
        make(args.folder, args.teachers, args.classes, args.batches, voters)
    else:
        run(args.folder, args.shards, args.repeat)


if __name__ == "__main__":
    main()
