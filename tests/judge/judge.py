"""Compares SHIELD's tight composition with dp_accounting, pair by pair.

The laws are computed here from the paper's recursion, round by round, so that neither the closed form nor the
composition of the program under judgement is taken on trust.
"""

import json
import math
import subprocess
import sys

from dp_accounting.pld import privacy_loss_distribution as pld

TOLERANCE = 1e-3

# (rounds in decreasing degree, offset, sampling, histogram, from, to, queries, delta)
DEFAULT = [(8, 4), (6, 3), (4, 2), (1, 1)]
CASES = [
    (DEFAULT, 1, "with-replacement", [1, 0, 31, 31, 31, 31, 31, 31, 31, 32], 0, 1, 100, 1e-5),
    (DEFAULT, 1, "with-replacement", [34, 0, 27, 27, 27, 27, 27, 27, 27, 27], 0, 1, 100, 1e-5),
    (DEFAULT, 5, "with-replacement", [49, 0, 25, 25, 25, 25, 25, 25, 25, 26], 0, 1, 100, 1e-5),
    (DEFAULT, 20, "with-replacement", [91, 0, 19, 20, 20, 20, 20, 20, 20, 20], 0, 1, 100, 1e-5),
    (DEFAULT, 5, "without-replacement", [180, 40, 10, 10, 10, 0, 0, 0, 0, 0], 1, 5, 100, 1e-5),
    ([(2, 3), (3, 2), (1, 1)], 2, "with-replacement", [20, 5, 5], 1, 0, 30, 1e-6),
    ([(3, 2)], 3, "with-replacement", [6, 6, 0], 0, 2, 10, 1e-4),
    ([(1, 1)], 1, "with-replacement", [3, 2], 0, 1, 5, 1e-3),
]


def unanimous(entries, size, degree, sampling):
    chance = 1.0
    for taken in range(degree):
        if sampling == "without-replacement":
            chance *= max(entries - taken, 0) / (size - taken)
        else:
            chance *= entries / size
    return chance


def law(rounds, offset, sampling, histogram):
    """The output law, one round after another from the last to the first; "no label" comes last."""
    entries = [votes + offset for votes in histogram]
    size = sum(entries)
    classes, failure = [0.0] * len(entries), 1.0
    for count, degree in sorted(rounds, key=lambda term: term[1]):
        for _ in range(count):
            success = [unanimous(c, size, degree, sampling) for c in entries]
            fails = 1.0 - sum(success)
            if degree == 1:
                fails = 0.0
            classes = [s + fails * p for s, p in zip(success, classes)]
            failure *= fails
    return classes + [failure]


def judged(p, q, queries, delta, pessimistic):
    """The larger of both directions, by dp_accounting. It rounds every loss to its grid, up or down."""

    def one_way(upper, lower):
        logs = lambda probabilities: {i: math.log(x) for i, x in enumerate(probabilities) if x > 0.0}
        # Its rounding adds up over the queries: the grid must be fine where losses are small.
        largest = max(abs(math.log(a / b)) for a, b in zip(upper, lower) if a > 0.0 and b > 0.0)
        distribution = pld.from_two_probability_mass_functions(
            logs(lower), logs(upper), pessimistic_estimate=pessimistic,
            value_discretization_interval=8e-6 if largest < 0.8 else 4e-5, symmetric=False)
        return distribution.self_compose(queries).get_epsilon_for_delta(delta)

    return max(one_way(p, q), one_way(q, p))


def ours(program, rounds, offset, sampling, histogram, start, end, queries, delta):
    polynomial = "+".join(f"{count}X^{degree}" for count, degree in rounds)
    command = [
        program, "bound", "--json", "--polynomial", polynomial, "--offset", str(offset),
        "--sampling", sampling, "--histogram", ",".join(map(str, histogram)),
        "--from", str(start), "--to", str(end), "--queries", str(queries), "--delta", repr(delta),
    ]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer["exact"], answer["renyi"]


def main():
    program = sys.argv[1]
    failed = 0
    for rounds, offset, sampling, histogram, start, end, queries, delta in CASES:
        moved = list(histogram)
        moved[start] -= 1
        moved[end] += 1
        p, q = law(rounds, offset, sampling, histogram), law(rounds, offset, sampling, moved)
        low, high = (judged(p, q, queries, delta, pessimistic) for pessimistic in (False, True))
        expected = (low + high) / 2
        found, renyi = ours(program, rounds, offset, sampling, histogram, start, end, queries, delta)
        difference = abs(found - expected) / expected
        bracketed = low * (1 - 1e-6) <= found <= high * (1 + 2e-4)
        good = difference <= TOLERANCE and bracketed and found <= renyi * (1 + 1e-6)
        failed += not good
        print(f"{'ok' if good else 'FAILED':6} w={offset:<3} Q={queries:<4} ours {found:.6f} "
              f"dp_accounting {low:.6f} to {high:.6f} difference {difference:.1e} (by moments {renyi:.6f})")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
