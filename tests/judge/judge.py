"""Compares tight composition with dp_accounting.

SHIELD's is compared pair by pair, that of the other mechanisms over all votes. The price of the
label of a noisy argmax lies between that of some pairs of two or three outcomes, which an adversary
can choose for every query, and that of all noisy counts; where votes are few, it covers every
adaptive strategy there is, by enumeration.

The laws are computed here from the paper's recursion, round by round, so that neither the closed
form nor the composition of the program under judgement is taken on trust.
"""

import itertools
import json
import math
import subprocess
import sys

from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.integrate import quad
from scipy.stats import laplace, norm, skellam

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
    """The larger of both directions, by dp_accounting, which rounds losses up or down to a grid."""

    def one_way(upper, lower):
        logs = lambda law: {i: math.log(x) for i, x in enumerate(law) if x > 0.0}
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


def two_laws(upper, lower, queries, delta):
    """Bounds by dp_accounting on what two laws over the same numbers cost."""
    return tuple(judged(upper, lower, queries, delta, pessimistic) for pessimistic in (False, True))


def gaussian(deviation, queries, delta):
    """GNMax: one vote moves two counts by one."""
    def epsilon(pessimistic):
        distribution = pld.from_gaussian_mechanism(
            deviation, sensitivity=math.sqrt(2.0), pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-5)
        return distribution.self_compose(queries).get_epsilon_for_delta(delta)

    return epsilon(False), epsilon(True)


def response(largest, queries, delta):
    """Randomised response, which dominates every query with losses of at most this."""
    yes = 1.0 / (1.0 + math.exp(-largest))
    return two_laws([yes, 1.0 - yes], [1.0 - yes, yes], queries, delta)


def two_classes(tail, leads, queries, delta):
    """The worst pair of two classes, by how far the loser leads: a lower bound.

    `tail(lead)` is the chance that the rival's noise does not make up for the lead; a vote that
    moves takes two from it.
    """
    def pair(lead):
        before, after = tail(lead), tail(lead - 2)
        upper, lower = [before, 1.0 - before], [after, 1.0 - after]
        return judged(upper, lower, queries, delta, False)

    return max(pair(lead) for lead in leads)


def three_outcomes(noise, places, queries, delta):
    """The worst pair where a third class has a count without noise, by how far the loser and the
    gainer of the vote are above that: a lower bound."""
    def law(x, y):
        def wins(x, y):
            tie = [x] if x > 0 else None
            return quad(lambda u: noise.pdf(u - x) * noise.cdf(u - y), 0.0, 40.0 * noise.std(),
                        points=tie, limit=200, epsabs=1e-13)[0]

        return [wins(x, y), wins(y, x), noise.cdf(-x) * noise.cdf(-y)]

    return max(judged(law(x, y), law(x - 1, y + 1), queries, delta, False) for x, y in places)


def label_of(low, counts):
    """Bounds on what a label costs: what some pair costs, and a little more, since an adversary may
    choose anew for every query; never all noisy counts."""
    return low, min(1.05 * low, counts[0])


def skellam_tail(deviation):
    """P(difference of two noises >= -lead); ties go to the leader."""
    return lambda lead: skellam.sf(-lead - 1, deviation**2, deviation**2)


def gaussian_tail(deviation):
    return lambda lead: norm.cdf(lead / (deviation * math.sqrt(2.0)))


def histograms(votes, classes):
    if classes == 1:
        return [(votes,)]
    return [(first, *rest) for first in range(votes + 1)
            for rest in histograms(votes - first, classes - 1)]


def label_law(counts, mass):
    """The law of the label, one noise after the other."""
    chances = [0.0] * len(counts)
    for noises in itertools.product(mass, repeat=len(counts)):
        noisy = [count + noise for count, noise in zip(counts, noises)]
        chances[noisy.index(max(noisy))] += math.prod(mass[noise] for noise in noises)
    return chances


def every_strategy(program, votes, classes, deviation, queries, delta):
    """delta of the best adaptive strategy at the epsilon that `bound` proves, over all votes."""
    reach = math.ceil(8 * deviation)
    mass = {z: skellam.pmf(z, deviation**2 / 2.0, deviation**2 / 2.0)
            for z in range(-reach, reach + 1)}
    pairs = []
    for counts in histograms(votes, classes):
        for start, end in itertools.permutations(range(classes), 2):
            if counts[start] > 0:
                moved = list(counts)
                moved[start] -= 1
                moved[end] += 1
                pairs.append((label_law(counts, mass), label_law(moved, mass)))
    command = [
        program, "bound", "--json", "--mechanism", "noisy-argmax", "--noise", str(deviation),
        "--teachers", str(votes), "--classes", str(classes), "--queries", str(queries),
        "--delta", repr(delta),
    ]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    threshold = math.exp(answer["epsilon"])

    def spent(left, p, q):
        if left == 0:
            return max(p - threshold * q, 0.0)
        return max(sum(spent(left - 1, p * a, q * b) for a, b in zip(*pair)) for pair in pairs)

    return answer["epsilon"], spent(queries, 1.0, 1.0)


# (votes, classes, deviation, queries, delta)
STRATEGIES = [(4, 2, 1.0, 3, 1e-2), (3, 3, 0.8, 2, 1e-2), (2, 3, 0.8, 2, 1e-1)]


def shared_skellam(deviation, queries, delta):
    """Noise in shares: each of the two counts that move is a query of its own."""
    reach = math.ceil(12.0 * deviation)
    numbers = range(-reach, reach + 2)
    law = lambda shift: [
        skellam.pmf(z - shift, deviation**2 / 2.0, deviation**2 / 2.0) for z in numbers
    ]
    return two_laws(law(0), law(1), 2 * queries, delta)


def bounded_range(width, queries, delta):
    """The exponential mechanism, by the worst of the pairs with the two losses t and t - width."""
    worst = (0.0, 0.0)
    for part in range(8, 13):
        above = width * part / 20
        upper = (1.0 - math.exp(above - width)) / (math.exp(above) - math.exp(above - width))
        # Under the second law the ratio of both has mean 1.
        second = [upper, 1.0 - upper]
        second_mean = upper * math.exp(above) + (1.0 - upper) * math.exp(above - width)
        assert abs(second_mean - 1.0) < 1e-9
        first = [upper * math.exp(above), (1.0 - upper) * math.exp(above - width)]
        worst = max(worst, two_laws(first, second, queries, delta))
    return worst


# (arguments of the mechanism, what dp_accounting says, how far above that ours may be)
MECHANISMS = [
    (["gnmax", "--noise", "28.2"],
     label_of(two_classes(gaussian_tail(28.2), (0, 4, 10), 100, 1e-5), gaussian(28.2, 100, 1e-5)),
     0.0),
    (["gnmax", "--noise", "60"],
     label_of(two_classes(gaussian_tail(60.0), (0, 8, 16), 100, 1e-5), gaussian(60.0, 100, 1e-5)),
     0.0),
    (["lnmax", "--noise", "40"],
     label_of(three_outcomes(laplace(scale=40.0), [(0, 0), (10, 10)], 100, 1e-5),
              response(2.0 / 40.0, 100, 1e-5)),
     0.0),
    (["permute-and-flip", "--rate", "0.05"], response(0.1, 100, 1e-5), 1e-3),
    (["noisy-argmax", "--noise-law", "skellam", "--noise", "30"],
     label_of(two_classes(skellam_tail(30.0), (0, 4, 10), 100, 1e-5),
              shared_skellam(30.0, 100, 1e-5)),
     0.0),
    # Ours lets the adversary change t from query to query, so it may be above any one pair.
    (["exponential", "--rate", "0.05"], bounded_range(0.1, 100, 1e-5), 2e-2),
]


def stated(program, votes, mechanism):
    """A mechanism's data-independent figure for 100 queries at delta 1e-5, composed tightly."""
    command = [program, "analyze", "--json", "--votes", votes, "--classes", "10",
               "--queries", "100", "--mechanism", *mechanism]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer["epsilon"]["exact"]["data_independent"]


def main():
    program, votes = sys.argv[1:]
    failed = 0
    for mechanism, (low, high), room in MECHANISMS:
        found = stated(program, votes, mechanism)
        good = low * (1 - 1e-6) <= found <= high * (1 + room)
        failed += not good
        print(f"{'ok' if good else 'FAILED':6} {' '.join(mechanism)}: ours {found:.6f} "
              f"dp_accounting {low:.6f} to {high:.6f}")
    for rounds, offset, sampling, histogram, start, end, queries, delta in CASES:
        moved = list(histogram)
        moved[start] -= 1
        moved[end] += 1
        p, q = law(rounds, offset, sampling, histogram), law(rounds, offset, sampling, moved)
        low, high = (judged(p, q, queries, delta, pessimistic) for pessimistic in (False, True))
        expected = (low + high) / 2
        case = (rounds, offset, sampling, histogram, start, end, queries, delta)
        found, renyi = ours(program, *case)
        difference = abs(found - expected) / expected
        bracketed = low * (1 - 1e-6) <= found <= high * (1 + 2e-4)
        good = difference <= TOLERANCE and bracketed and found <= renyi * (1 + 1e-6)
        failed += not good
        print(f"{'ok' if good else 'FAILED':6} w={offset:<3} Q={queries:<4} ours {found:.6f} "
              f"dp_accounting {low:.6f} to {high:.6f} difference {difference:.1e} "
              f"(by moments {renyi:.6f})")
    for case in STRATEGIES:
        votes, classes, deviation, queries, delta = case
        epsilon, spent = every_strategy(program, *case)
        good = spent <= delta * (1 + 1e-9)
        failed += not good
        print(f"{'ok' if good else 'FAILED':6} every strategy of {votes} votes, {classes} classes, "
              f"{queries} queries, deviation {deviation}: delta {spent:.3e} of {delta} at epsilon "
              f"{epsilon:.4f}")
    print(f"{len(CASES) + len(MECHANISMS) + len(STRATEGIES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
