"""Check the prices on records of hedgerow with the standard library alone: python hedgerow_verify.py RECORD ...

This file shares no code with hedgerow. It reads each certificate of a record (JSON, or a page that holds one) and
computes from the mechanism how far one person moves what is released, in widths of the noise, and what that costs.
`Price` is the one method by which all noise is priced. Each formula below it tells the movement of one mechanism.

AGREES   the price that this file computes is the stated one, to 1e-4.
HOLDS    the price that this file computes is below the stated one.
CANNOT   this file knows no formula, or its bound is above the stated price: `hedgerow verify` must tell.
WRONG    the release costs more than is stated. The exit code is 1 (2 where a price cannot be checked or read).
"""

import gzip
import json
import math
import re
import sys
from itertools import combinations, product

FAR = 12.0  # standard deviations of discrete noise that are added up; less than 1e-32 lies beyond
MOST = 20_000  # losses that are held
TRIED = 3_000_000  # terms that a search for the worst neighbours adds up
NOT_CHECKED = {
    "bootstrap-geometric": "its promise is another one, of a bootstrap",
    "resampled-gaussian": "its law of losses is a mixture over how often a record is drawn; short bounds are too high",
    "resampled-units": "the weights of a unit's rows have no short bound",
    "smoothed-resample": "its curve is a sum over a binomial law",
}
"""The mechanisms that this file does not price, and why. All other fields of a record are not checked either."""


class Price:
    """What noise costs: a Gaussian part, and the law of the privacy loss of all other noise.

    `square` is mu^2, the sum of (movement/sd)^2 of Gaussian noise. `losses` maps a loss to its chance. All is told with
    chance `told`. Then delta(eps) = told + (1 - told) * sum over losses l of chance(l) * delta_Gauss(eps - l).
    `pure` is the largest loss. A price that is not `exact` is an upper bound.
    """

    def __init__(self):
        self.square, self.losses, self.told = 0.0, {0.0: 1.0}, 0.0
        self.pure, self.exact, self.lone = 0.0, True, None

    def add(self, law):
        """Add an independent loss: sums of losses have the convolution of their laws."""
        total = merged((a + b, p * q) for (a, p), (b, q) in product(self.losses.items(), law.items()))
        if len(total) > MOST:  # too many to be held: losses are rounded up
            step, self.exact = (max(total) - min(total)) / MOST, False
            total = merged((math.ceil(loss / step) * step, chance) for loss, chance in total.items())
        self.losses = total

    def laplace(self, moved, times=1):
        """Add `times` numbers with Laplace noise, each moved by e = `moved` scales.

        The loss is at most e. The worst such law loses e with chance 1/(1 + exp(-e)), else -e (Kairouz, Oh, Viswanath).
        """
        self.pure += moved * times
        if times > 500:  # bounded as one number
            moved, times, self.exact = moved * times, 1, False
        win = 1.0 / (1.0 + math.exp(-moved))
        for _ in range(times):
            self.add({moved: win, -moved: 1.0 - win})

    def gaussian(self, square):
        """Add Gaussian noise on a fine lattice: the sum of (movement/sd)^2."""
        self.square, self.pure = self.square + square, math.inf

    def whole_gaussian(self, sd, times):
        """Add discrete Gaussian noise on `times` counts, each moved by 1: the noise z loses (1 - 2z)/(2 sd^2)."""
        end = math.ceil(FAR * sd) + 2
        if sd >= 100.0 or (sd > 2.0 and len(self.losses) * end * times > MOST):
            self.exact = self.exact and sd >= 100.0
            return self.gaussian(times / (sd * sd - 4.0))  # a rounded normal number of variance sd^2 - 4 tells no less
        self.pure = math.inf
        weights = {z: math.exp(-z * z / (2 * sd * sd)) for z in range(-end, end + 1)}
        total = math.fsum(weights.values())
        for _ in range(times):
            self.add({(1 - 2 * z) / (2 * sd * sd): weight / total for z, weight in weights.items()})

    def vector(self, cost, power):
        """Add a vector whose sum of (movement/width)^power is `cost`; lattice noise costs 2e-6 more than continuous."""
        self.laplace(cost) if power == 1 else self.gaussian(cost / (1.0 - 4e-6))

    def tell(self, chance):
        """Add an event of this chance in which all is told."""
        self.told, self.pure = 1.0 - (1.0 - self.told) * (1.0 - chance), math.inf

    def delta(self, eps):
        """Return the hockey-stick divergence at eps; of Gaussian noise by Balle and Wang (2018), theorem 8."""
        if self.lone == self.pure:  # one continuous Laplace number alone: 1 - exp((eps - moved)/2)
            return -math.expm1(min(0.0, (eps - self.lone) / 2.0))
        total, mu = 0.0, max(math.sqrt(self.square), 1e-12)  # a movement that no one sees stands for none
        for loss, chance in self.losses.items():
            e = eps - loss
            total += chance * max(0.0, tail(e / mu - mu / 2) - math.exp(min(e, 700.0)) * tail(e / mu + mu / 2))
        return self.told + (1.0 - self.told) * total

    def epsilon(self, delta):
        """Return the least eps at delta, by bisection."""
        low, high = 0.0, 1e4
        if delta <= 0.0 or self.delta(high) > delta:
            return self.pure if delta <= 0.0 else math.inf
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high


def merged(pairs):
    """Return the law of pairs (loss, chance); losses that are equal but for rounding are one."""
    pairs, law = list(pairs), {}
    digits = 13 - math.ceil(math.log10(max(abs(loss) for loss, _ in pairs) or 1.0))
    for loss, chance in pairs:
        loss = round(loss, digits)
        law[loss] = law.get(loss, 0.0) + chance
    return law


def tail(x):
    """Return the chance that a normal number is above x."""
    return 0.5 * math.erfc(x / math.sqrt(2.0))


def units(noise):
    """Return the width of lattice noise in the units of what is added up; no noise is no number, of no cost."""
    return noise["width"] / 2.0 ** noise["bits"] if noise else math.inf


def power_of(m):
    """Return 2 of Gaussian noise, which adds squares of movements, and 1 of Laplace noise, which adds movements."""
    return 2 if "gaussian" in (m.get("law"), m["type"].split("-")[-1]) else 1


def cost_of(power, *moves):
    """Return the sum of (movement/width)^power over pairs (movement, width)."""
    return math.fsum((abs(moved) / width) ** power for moved, width in moves)


def dearest(alone, same, far, public=False):
    """Return the cost of the worst neighbours, from the costs of one record `alone`, by cell, and of two in one cell.

    A record comes or goes; or, where one replaces another (`far`), it changes its value or leaves a cell for another.
    """
    if not far:
        return max(alone)
    return same if public else max(same, sum(sorted(alone)[-2:]))


def counts(m, far, price):
    """Counts of disjoint cells: a person who comes changes one, or as many as they have rows; a swap changes two.

    Of several tables side by side, such as entries and exits, so many cells of each change.
    """
    times = min(m["cells"], (m.get("rows") or 1) * (m.get("tables") or 1) * (2 if far else 1))
    price.whole_gaussian(m["sd"], times) if power_of(m) == 2 else price.laplace(1.0 / m["scale"], times)


def number(m, far, price):
    """One number that moves by its sensitivity."""
    if power_of(m) == 2:
        return price.gaussian((m["sensitivity"] / m["noise_sd"]) ** 2)
    price.laplace(m["sensitivity"] / m["scale"])
    price.lone = price.pure if m["type"] == "laplace" else None


def tree(m, far, price):
    """Counts of leaves and of the nodes above them: each level is a table of counts."""
    rooted = len(m["widths"]) > len(m["branching"])
    for level, width in enumerate(m["widths"]):
        times = min(m["cells"] if rooted and level == 0 else 2, 2 if far else 1)
        price.whole_gaussian(width, times) if power_of(m) == 2 else price.laplace(1.0 / width, times)


def votes(m, far, price):
    """Votes of units in leaves: a unit has `reach` votes of `one` steps, most dearly all in one leaf."""
    power, rooted = power_of(m), len(m["widths"]) > len(m["branching"])
    each = [cost_of(power, (m["reach"] * m["one"], width)) for width in m["widths"]]
    once, same = math.fsum(each), 2 * math.fsum(each[1:] if rooted else each)
    price.vector(dearest([once] * min(2, m["cells"]), same, far) + m["distance"] ** power, power)


def moments(m, far, price):
    """A count, sum and sum of squares by cell: all values of the grid are tried, and all distances d of two values.

    Squares of y and z at distance d differ by d|y + z|, which is largest where one of them is an end of the grid.
    """
    power, costs, alone = power_of(m), [], []
    if m["type"] == "cell-totals":
        kinds = [(k["low"], k["high"], m["stride"], 0, None, k["total"], k["square"]) for k in m["kinds"]]
        cells, public = [m["kind_of"].count(place) for place in range(len(kinds))], False
    else:
        layout, noise = m["layout"], m["noise"]
        low, offset, added = layout["start"], layout["offset"] if noise["count"] else 0, ("count", "total", "square")
        kinds = [(low, low + layout["stride"] * layout["steps"], layout["stride"], offset, *map(noise.get, added))]
        cells, public = [layout["cells"]], layout["presence"] == "public"
    for many, (low, high, stride, offset, *noise) in zip(cells, kinds):
        count, total, square = map(units, noise)
        if (high - low) // stride > 2**21:
            return None
        values, farther = range(low, high + 1, stride), range(stride, high - low + 1, stride)
        one = max(cost_of(power, (1, count), (y, total), (y * y - offset, square)) for y in values)
        alone += [one] * min(2, many)
        ends = ((d, d * max(abs(2 * high - d), abs(2 * low + d))) for d in farther)
        costs += [cost_of(power, (first, total), (second, square)) for first, second in ends]
    price.vector(dearest(alone, max(costs, default=0.0), far, public), power)


def joint(m, far, price):
    """Counts, sums and products of features in [-1, 1], each number in units of its noise (docs/methods/moments).

    Two records of a cell: a feature that one of them lacks (O) takes all numbers that need it from 0 to at most their
    size. Of the others each is flipped (F) or equal (E): sums and squares of i move by 2^p h(x) where 2x is what both
    values have in common, and h(x) = A(1 - x)^p + S(2x(1 - x))^p <= A - slope*x; a product moves by 2^p where one of
    its features is flipped and the other is not. That is linear in each x, so the dearest x are 0 or 1. A feature of no
    product moves by its `peak` of h at most.
    """
    layout, power, numbers, blocks, coarse = m["layout"], power_of(m), [], 0.0, 0.0
    features, rows, many, cells = (layout.get(name) for name in ("features", "rows", "most_rows", "cells"))
    steps, gaps = [f["steps"] for f in features], {i for i, f in enumerate(features) if f["missing"]}
    public, turned = layout["presence"] == "public", set()
    counted = {tuple(c["of"]) for c in m["coordinates"] if c["kind"] == "count"}
    if layout.get("ball") is not None or any(c["kind"] == "across" for c in m["coordinates"]):
        return None
    for c in m["coordinates"] + m["blocks"]:
        of, kind, present, size = tuple(c["of"]), c.get("kind"), set(c.get("present", ())), 1.0
        coarse += units(c["noise"]) ** -power if c["coarse"] else 0.0
        degrees = c["degrees"] if kind is None else [kind != "count"] * len(of)
        reach = math.prod(steps[i] ** e for i, e in zip(of, degrees)) * (rows or 1) ** sum(degrees)
        reach *= (layout.get("shares") or 1) * (many or 1) / (units(c["noise"]) * 2.0 ** c["coarse"])
        needed = tuple(sorted({*of[:1], *present} & gaps))
        if kind == "sum" and of == 2 * of[:1] and rows is None and needed in counted and (needed or not public):
            size = max(steps[of[0]] ** 2 // 2, -(-(steps[of[0]] ** 2) // 2)) / steps[of[0]] ** 2  # half is taken off
        if kind is None:
            blocks += reach**power
        else:
            numbers.append((kind, of, {*of, *present}, reach**power, (size * reach) ** power))
            turned |= set(of) if kind == "sum" and len(set(of)) == 2 else set()
    one, same = math.fsum(size for *_, size in numbers) + blocks, 0.0
    price.exact = price.exact and not coarse
    if far and rows is not None:  # a unit for another moves no more than both alone, by the triangle inequality
        price.exact, same = price.exact and power == 1 and cells > 1, one * 2**power
    elif far and 3 ** len(gaps) * 2 ** (len(features) - len(gaps)) * len(numbers) > TRIED:
        return None
    for state in product(*("FEO" if i in gaps else "FE" for i in range(len(steps)))) if far and rows is None else ():
        moved, flat, squares = 2.0 * blocks, [0.0] * len(features), [0.0] * len(features)
        for kind, of, needs, weight, size in numbers:
            if any(state[i] == "O" for i in needs):
                moved += size
            elif kind == "sum" and len(set(of)) == 2:
                moved += 2**power * weight * (state[of[0]] != state[of[1]])
            elif kind == "sum":
                (flat if len(of) == 1 else squares)[of[0]] += weight
        for i, (a, s) in enumerate(zip(flat, squares)):
            steep = slope(a, s, power)
            price.exact = price.exact and steep == a
            moved += 2**power * (a - (state[i] == "E") * steep if i in turned else peak(a, s, power))
        same = max(same, moved)
    cost = dearest([one] * min(2, cells), same, far, public and rows is None)
    touched = min(cells, (2 if far and not public else 1) * (rows or many or 1))
    price.vector((cost ** (1 / power) + (touched * coarse) ** (1 / power)) ** power, power)


def slope(a, s, power):
    """Return the largest slope with a(1 - x)^p + s(2x(1 - x))^p <= a - slope*x on [0, 1]."""
    if power == 1 or s <= 0.0:
        return a - 2.0 * s
    x = (4.0 - math.sqrt(max(0.0, 4.0 - 3.0 * a / s))) / 6.0
    return min(a, a * (2.0 - x) - 4.0 * s * x * (1.0 - x) ** 2)


def peak(a, s, power):
    """Return the largest a(1 - x)^p + s(2x(1 - x))^p on [0, 1], at x = 0 or where its slope is 0."""
    if s <= 0.0:
        return a
    x = max(0.0, 0.5 - a / (4.0 * s)) if power == 1 else (1.0 + math.sqrt(max(0.0, 1.0 - 2.0 * a / s))) / 4.0
    return max(a, a * (1.0 - x) ** power + s * (2.0 * x * (1.0 - x)) ** power)


def margins(m, far, price):
    """Residuals of tables (ResidualPlanner, Xiao et al. 2023): every set of columns in which two records differ."""
    sizes, ends = m["sizes"], (m["low"], m["high"])
    if 2 ** len(sizes) * len(m["margins"]) > TRIED:
        return None
    precise = [(a, (math.prod(sizes[i] for i in a) / units(n)) ** 2) for a, n in zip(m["margins"], m["noise"])]
    products = [
        math.fsum(p * math.prod((-1 if i in changed else sizes[i] - 1) / sizes[i] for i in a) for a, p in precise)
        for size in range(len(sizes) + 1 if far else 1)
        for changed in combinations(range(len(sizes)), size)
    ]  # the inner product of two records of value 1; first of a record with itself
    pairs = [*product(ends, ends if far else ()), *product(ends, () if far and m["exhaustive"] else (0,))]
    cost = max((y * y + z * z) * products[0] - 2 * y * z * both for (y, z), both in product(pairs, products))
    price.vector(cost * (m["rows"] or 1) ** 2, 2)


def resampled(m, far, price):
    """K resamples, each with noise. A record that none draws more than c times moves sqrt(K)*c*distance at most."""
    at, cells = [c["reach"] / units(c["noise"]) for c in m["coordinates"]], min(2, m["cells"])
    norm = max(at) if m["shape"] == "one-of" else math.hypot(*at)
    entering = 0.0 if m["presence"] == "public" else norm * math.sqrt(cells)
    same = {"one-of": math.sqrt(2.0) * norm, "vector": 2.0 * norm, "count": entering}.get(m["shape"], 2.0 * at[0])
    price.gaussian(m["n_resamples"] * (m["most"] * (max(same, entering) if far else norm)) ** 2)


def rounds(m, far, price):
    """Tables of residual sums and counts in rounds; a record is in `most_groups` groups in each."""
    steps, wide, bucket = m["steps"], units(m["residual"]), math.ceil(m["steps"] / m["buckets"])
    entering = cost_of(2, (steps, wide), (1, units(m["count"])))
    cost = dearest([entering] * 2, cost_of(2, (steps + bucket, wide)), far)
    price.vector(m["rounds"] * m["most_groups"] * cost, 2)


def sparse(m, far, price):
    """Questions until c were answered yes (Lyu, Su, Li 2017): reach/b1 + 2c reach/b2 + c times the dearest answer."""
    if m["relation"] != ("replace-one" if far else "add-remove"):
        return None
    answers = [sum(d / s for d, s in zip(move, m["answer_scales"])) for move in m["answer_moves"]]
    asked = (1 if m["monotone"] else 2) * m["reach"] / m["question_scale"]
    price.laplace(m["reach"] / m["threshold_scale"] + m["positives"] * (asked + max(answers, default=0.0)))


def shown(m, far, price):
    """Categories that occur: a value of one record alone is shown with a small chance, or a count moves by 1."""
    price.laplace(1.0 / m["scale"], 2 if far else 1)
    price.tell(math.exp((1 - m["threshold"]) / m["scale"]) / (1.0 + math.exp(-1.0 / m["scale"])))


def randomised(m, far, price):
    """Bits of records: the likeliest difference is one bit, of chance q or 1 - q."""
    if far:
        price.laplace(math.log((2**32 - m["flip"]) / m["flip"]))


def drawn(m, far, price):
    """A resample that is shown as it is: all is told with the chance that a record is drawn."""
    if far:
        price.tell(1.0 - (1.0 - 1.0 / m["n"]) ** m["draws"])


def newton(m, far, price):
    """Steps of a regression: the noise of a step is as wide as its stated mu needs, at public coefficients."""
    price.gaussian(math.fsum(p * p for p in m["precisions"]))


KNOWN = {
    **dict.fromkeys(("geometric", "discrete-gaussian", "averaged-laplace-counts"), counts),
    **dict.fromkeys(("laplace", "gaussian", "averaged-laplace"), number),
    **dict.fromkeys(("moments-gaussian", "moments-geometric", "averaged-laplace-moments", "cell-totals"), moments),
    "tree-counts": tree,
    "vote-tree": votes,
    "joint-moments": joint,
    "residual-margins": margins,
    "histogram-rounds": rounds,
    "sparse-vector": sparse,
    "stable-categories": shown,
    "randomised-records": randomised,
    "resample": drawn,
    "newton-steps": newton,
    "bounded-resampled-gaussian": resampled,
}
FIELDS = set(
    "type law cells rows scale sd draws sensitivity noise_sd leaves branching widths one parts reach distance layout "
    "features steps missing presence ball shares most_rows coordinates blocks kind of noise width bits coarse present "
    "degrees start stride offset count total square kinds kind_of low high sizes margins exhaustive n_resamples rate "
    "shape most rounds groups buckets most_groups residual relation monotone positives threshold_scale question_scale "
    "answer_moves answer_scales threshold flip views n tables ranges precisions curvature bound limit".split()
)


def fields(value):
    """Return the names of all fields of a mechanism: a name that this file does not know may change the price."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set(value if isinstance(value, dict) else ()).union(*map(fields, inner))


def plain(value):
    """Return a value of JSON with its whole numbers as integers: 2.0 and 2 are one number."""
    if isinstance(value, (dict, list)):
        return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else list(map(plain, value))
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def checked(certificate):
    """Return the verdict on one certificate, and a sentence."""
    mechanism, delta, stated = plain(certificate["mechanism"]), certificate["delta"], certificate["epsilon"]
    price, far = Price(), certificate["relation"] == "replace-one"
    for part in mechanism["parts"] if mechanism["type"] == "composition" else [mechanism]:
        before = price.square, price.losses, price.told, price.pure
        # Of the mean of several draws the price of one draw is an upper bound.
        price.exact = price.exact and (part.get("draws", 1) == 1 or part["type"] == "resample")
        if part["type"] in KNOWN and fields(part) <= FIELDS:
            KNOWN[part["type"]](part, far, price)
        if before == (price.square, price.losses, price.told, price.pure):
            return "CANNOT", f"no formula for {part['type']!r}: {NOT_CHECKED.get(part['type'], 'its shape is unknown')}"
    cost = price.epsilon(delta)
    says = f"costs {'at most ' if not price.exact else ''}eps {cost:.6g} at delta {delta:g}; stated {stated:.6g}"
    for point in (certificate, *certificate["profile"]):
        enough = price.delta(point["epsilon"]) <= point["delta"] * (1 + 1e-6) + 1e-15
        if not enough and price.epsilon(point["delta"]) > point["epsilon"] * (1 + 1e-6):
            return ("WRONG" if price.exact else "CANNOT"), says
    return ("AGREES" if stated - cost <= 1e-4 * max(1.0, stated) else "HOLDS"), says


def certificates(value, path="record"):
    """Yield every certificate of a record, with the place where it stands."""
    if isinstance(value, dict) and {"mechanism", "relation", "epsilon", "delta", "profile"} <= value.keys():
        yield path, value
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from certificates(inner, f"{path}.{key}")


def main(paths):
    """Print a verdict on every certificate of the files, and return the exit code."""
    verdicts = set()
    for path in paths:
        with open(path, "rb") as file:
            content = file.read()
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8")
        page = re.search(r'<script type="application/json" id="record">(.*?)</script>', text, re.DOTALL)
        found = [(place, *checked(one)) for place, one in certificates(json.loads(page.group(1) if page else text))]
        for place, verdict, says in found or [("record", "CANNOT", "no certificate")]:
            print(f"{verdict:7} {path}: {place}: {says}")
            verdicts.add(verdict)
    return 1 if "WRONG" in verdicts else 2 if "CANNOT" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else print(__doc__))
