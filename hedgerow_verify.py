"""Check the prices on records of hedgerow with the standard library alone: python hedgerow_verify.py RECORD ...

This file shares no code with hedgerow. It reads each certificate of a record (JSON, or a page that holds one) and
computes from the mechanism how far one person moves what is released, in widths of the noise, and what that costs.
A price has two ingredients: `square`, the sum of (movement/sd)^2 of all Gaussian noise, and `losses`, the law of the
privacy loss of all other noise. A Laplace number that moves by e widths loses at most e: its worst case loses +e with
chance e^e/(1 + e^e), else -e. Then delta(eps) = sum over losses l of chance(l) * delta_Gauss(eps - l).

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


class Price:
    """What noise costs: `square` is mu^2, `losses` maps a loss to its chance, `told` is the chance that all is told."""

    def __init__(self, aim=0.0):
        self.square, self.losses, self.told, self.pure, self.exact, self.lone = 0.0, {0.0: 1.0}, 0.0, 0.0, True, None
        self.aim = aim  # the delta of the stated price

    def add_losses(self, law):
        total = {}
        for a, p in self.losses.items():
            for b, q in law.items():
                total[a + b] = total.get(a + b, 0.0) + p * q
        if len(total) > MOST:  # too many to be held: losses are rounded up
            step, self.losses, self.exact = (max(total) - min(total)) / MOST, {}, False
            for loss, chance in total.items():
                place = math.ceil(loss / step) * step
                self.losses[place] = self.losses.get(place, 0.0) + chance
        else:
            self.losses = total

    def laplace(self, moved, times=1):
        """Add `times` numbers with Laplace noise, each moved by so many scales."""
        self.pure += moved * times
        win = 1.0 / (1.0 + math.exp(-moved))
        self.add_losses(
            {(2 * k - times) * moved: math.comb(times, k) * win**k * (1 - win) ** (times - k) for k in range(times + 1)}
        )

    def gaussian(self, square):
        """Add Gaussian noise on a fine lattice."""
        self.square += square

    def whole_gaussian(self, sd, times):
        """Add discrete Gaussian noise of this sd on `times` counts, each moved by 1."""
        self.pure = math.inf
        end = math.ceil(FAR * sd) + 2
        many = len(self.losses) * end * times > MOST
        if sd >= 100.0 or (many and sd > 2.0):  # a continuous number of variance sd^2 - 4, rounded, tells no less
            self.square += times / (sd * sd - 4.0)
            self.exact = self.exact and sd >= 100.0
            return
        weight = {z: math.exp(-z * z / (2 * sd * sd)) for z in range(-end, end + 1)}
        total, sums = math.fsum(weight.values()), {0: 1.0}
        for _ in range(times):
            before, sums = sums, {}
            for (z, p), (y, w) in product(before.items(), weight.items()):
                sums[z + y] = sums.get(z + y, 0.0) + p * w / total
        self.add_losses({(times - 2 * z) / (2 * sd * sd): p for z, p in sums.items()})

    def delta(self, eps):
        if self.lone is not None:  # one Laplace number alone, moved by `lone` scales
            return max(0.0, -math.expm1((eps - self.lone) / 2.0))
        mu, total = math.sqrt(self.square), 0.0
        for loss, chance in self.losses.items():
            e = eps - loss
            if mu == 0.0:
                total += chance * max(0.0, -math.expm1(min(e, 0.0)))
            else:
                total += chance * max(0.0, tail(e / mu - mu / 2) - math.exp(min(e, 700.0)) * tail(e / mu + mu / 2))
        return self.told + (1.0 - self.told) * total

    def epsilon(self, delta):
        """Return the least eps at delta, by bisection."""
        if delta <= 0.0:
            return math.inf if self.square or self.told else self.pure
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            high *= 2.0
            if high > 1e4:
                return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high


def tail(x):
    return 0.5 * math.erfc(x / math.sqrt(2.0))


def units(noise):
    """Return the width of lattice noise in the units of what is added up."""
    return noise["width"] / 2.0 ** noise["bits"]


def counts(m, far, price):
    """Counts of disjoint cells: a person who comes changes one, or as many as they have rows; a swap changes two.

    Of several tables side by side, such as entries and exits, so many cells of each change.
    """
    times = min(m["cells"], (m.get("rows") or 1) * (m.get("tables") or 1) * (2 if far else 1))
    if m["type"] == "discrete-gaussian":
        return price.whole_gaussian(m["sd"], times)
    price.exact = m.get("draws", 1) == 1  # averaged noise: one of its draws alone gives this bound, reached at delta 0
    price.laplace(1.0 / m["scale"], times)


def number(m, far, price):
    """One number that moves by its sensitivity."""
    if m["type"] == "gaussian":
        return price.gaussian((m["sensitivity"] / m["noise_sd"]) ** 2)
    price.exact = m.get("draws", 1) == 1
    price.laplace(m["sensitivity"] / m["scale"])
    price.lone = price.pure if m["type"] == "laplace" else None


def tree(m, far, price):
    """Counts of leaves and of the nodes above them: each level is a table of counts."""
    rooted = len(m["widths"]) > len(m["branching"])
    for level, width in enumerate(m["widths"]):
        times = min(m["cells"], 2 if far else 1) if rooted and level == 0 else 2 if far else 1
        price.whole_gaussian(width, times) if m["law"] == "gaussian" else price.laplace(1.0 / width, times)


def votes(m, far, price):
    """Votes of units in leaves: a unit has `reach` votes of `one` steps, most dearly all in one leaf."""
    power, rooted = (2 if m["law"] == "gaussian" else 1), len(m["widths"]) > len(m["branching"])
    each = [(m["reach"] * m["one"] / width) ** power for width in m["widths"]]
    once, root = math.fsum(each), each[0] if rooted else 0.0
    cost = once if not far else 2 * once if m["cells"] > 1 else max(2 * (once - root), once)
    vector(cost + m["distance"] ** power, power, price)


def vector(cost, power, price, exact=True):
    """A vector whose sum of (movement/width)^power is at most `cost`. Lattice noise costs 2e-6 more than continuous."""
    price.exact = price.exact and exact
    if power == 1:
        return price.laplace(cost)
    price.gaussian(cost / (1.0 - 4e-6))


def largest_over_swaps(values, alone, same, far, public, cells):
    """Return the dearest pair: one record comes or goes (`alone`), or changes its value (`same`) or its cell."""
    one = max(map(alone, values))
    if not far:
        return one
    swapped = max(map(same, range(1, len(values))))
    return swapped if public else max(swapped, one * (2 if cells > 1 else 1))


def moments(m, far, price):
    """A count, sum and sum of squares by cell: all values of the grid are tried, and all distances of two values."""
    layout, noise, power = m["layout"], m["noise"], 2 if m["type"] == "moments-gaussian" else 1
    price.exact = m.get("draws", 1) == 1
    low, stride, steps = layout["start"], layout["stride"], layout["steps"]
    if steps > 2**21:
        return None
    count, total, square = (units(noise[k]) if noise[k] else math.inf for k in ("count", "total", "square"))
    offset, high = layout["offset"] if noise["count"] else 0, low + stride * steps
    cost = largest_over_swaps(
        range(low, high + 1, stride),
        lambda y: count**-power + (abs(y) / total) ** power + (abs(y * y - offset) / square) ** power,
        lambda t: (
            (t * stride / total) ** power
            + (t * stride * max(abs(2 * high - t * stride), abs(2 * low + t * stride)) / square) ** power
        ),
        far,
        layout["presence"] == "public",
        layout["cells"],
    )
    return vector(cost, power, price)


def cell_totals(m, far, price):
    """Totals and squares whose bounds and noise differ by cell: a record leaves its dearest cell for the next one."""
    power, entering, within = (2 if m["law"] == "gaussian" else 1), [], 0.0
    for place, kind in enumerate(m["kinds"]):
        low, high, total = kind["low"], kind["high"], units(kind["total"])
        square = units(kind["square"]) if kind["square"] else math.inf
        if (high - low) // m["stride"] > 2**20:
            return None
        end = max(abs(low), abs(high))
        entering += [(end / total) ** power + (end * end / square) ** power] * min(2, m["kind_of"].count(place))
        for d in range(m["stride"], high - low + 1, m["stride"]):
            within = max(
                within, (d / total) ** power + (d * max(abs(2 * high - d), abs(2 * low + d)) / square) ** power
            )
    return vector(max(sum(sorted(entering)[-2:]), within) if far else max(entering), power, price)


def joint(m, far, price):
    """Counts, sums and products of features in [-1, 1], each number in units of its noise (docs/methods/moments).

    Two records of a cell: a feature that one of them lacks (O) takes all numbers that need it from 0 to at most their
    size. Of the others each is flipped (F) or equal (E): sums and squares of i move by 2^p h(x) where 2x is what both
    values have in common, and h(x) = A(1 - x)^p + S(2x(1 - x))^p <= A - slope*x; a product moves by 2^p where one of
    its features is flipped and the other is not. That is linear in each x, so the dearest x are 0 or 1.
    """
    layout, power = m["layout"], 2 if m["law"] == "gaussian" else 1
    features, shares, cells = layout["features"], layout.get("shares") or 1, layout["cells"]
    rows, ball, many = layout.get("rows"), layout.get("ball"), layout.get("most_rows")
    steps, gaps = [f["steps"] for f in features], {i for i, f in enumerate(features) if f["missing"]}
    copies = (many or 1) if ball is None else 1
    scale, public = shares * copies, layout["presence"] == "public"
    counted = {tuple(c["of"]) for c in m["coordinates"] if c["kind"] == "count"}
    numbers, blocks, coarse, across = [], 0.0, 0.0, False
    for c in m["coordinates"] + m["blocks"]:
        of, kind, width = tuple(c["of"]), c.get("kind"), units(c["noise"]) * 2.0 ** c["coarse"]
        coarse += units(c["noise"]) ** -power if c["coarse"] else 0.0
        degrees = c["degrees"] if kind is None else [kind != "count"] * len(of)
        reach = math.prod(steps[i] ** e for i, e in zip(of, degrees)) * (rows or 1) ** sum(degrees) * scale
        if kind is None:
            blocks += (reach / width) ** power
            continue
        across, present, size = across or kind == "across", tuple(c.get("present", ())), 1.0
        if kind == "sum" and len(of) == 2 and of[0] == of[1] and rows is None and ball is None:
            needed = tuple(sorted({of[0], *present} & gaps))
            if needed in counted and (needed or not public):  # half of the largest square is taken off
                square = steps[of[0]] ** 2
                size = max(square // 2, square - square // 2) / square
        numbers.append((kind, of, {*of, *present}, (reach / width) ** power, (size * reach / width) ** power))
    one = math.fsum(size for *_, size in numbers) + blocks
    exact = not (coarse or m["draws"] > 1)
    if ball is not None or across:
        return None
    if rows is not None and far:  # a unit for another moves no more than both alone, by the triangle inequality
        exact, cost = exact and power == 1 and cells > 1, one * 2**power
    elif not far:
        cost = one
    else:
        if 3 ** len(gaps) * 2 ** (len(features) - len(gaps)) * len(numbers) > 3_000_000:
            return None
        cost = 0.0
        for lacking in (set(of) for size in range(len(gaps) + 1) for of in combinations(sorted(gaps), size)):
            moved, sums, squares = 2.0 * blocks, [0.0] * len(features), [0.0] * len(features)
            turned = {}
            for kind, of, needs, weight, size in numbers:
                if needs & lacking:
                    moved += size
                elif kind == "sum":
                    if len(of) == 2 and of[0] != of[1]:
                        turned[of] = turned.get(of, 0.0) + weight
                    else:
                        (sums if len(of) == 1 else squares)[of[0]] += weight
            exact = exact and all(slope(a, s, power) == a for a, s in zip(sums, squares))
            corners = max(
                sum(a - (equal and slope(a, s, power)) for equal, a, s in zip(state, sums, squares))
                + sum(w for (i, j), w in turned.items() if state[i] != state[j])
                for state in product((False, True), repeat=len(features))
            )
            apart = sum(
                best(a, s, sum(w for of, w in turned.items() if i in of), power)
                for i, (a, s) in enumerate(zip(sums, squares))
            )
            cost = max(cost, moved + 2.0**power * min(corners, apart))
        cost = cost if public else max(cost, one * (2 if cells > 1 else 1))
    touched = min(cells, (2 if far and not public else 1) * (rows or many or 1))
    return vector((cost ** (1 / power) + (touched * coarse) ** (1 / power)) ** power, power, price, exact)


def slope(a, s, power):
    """Return the largest slope with a(1 - x)^p + s(2x(1 - x))^p <= a - slope*x on [0, 1]."""
    if power == 1:
        return a - 2.0 * s
    if s <= 0.0:
        return a
    x = (4.0 - math.sqrt(max(0.0, 4.0 - 3.0 * a / s))) / 6.0
    return min(a, a * (2.0 - x) - 4.0 * s * x * (1.0 - x) ** 2)


def best(a, s, w, power, places=4000):
    """Return at least the largest a(1 - x)^p + s(2x(1 - x))^p + wx on [0, 1]: of a fine grid, and what lies between."""
    grid = (x / places for x in range(places + 1))
    return max(a * (1 - x) ** power + s * (2 * x * (1 - x)) ** power + w * x for x in grid) + (a + 4 * s) / places**2


def margins(m, far, price):
    """Residuals of tables (theory: ResidualPlanner): every set of columns in which two records differ is tried."""
    sizes, ends = m["sizes"], (m["low"], m["high"])
    if 2 ** len(sizes) * len(m["margins"]) > 3_000_000:
        return None
    precise = [(math.prod(sizes[i] for i in a) / units(n)) ** 2 for a, n in zip(m["margins"], m["noise"])]
    own = math.fsum(p * math.prod(1 - 1 / sizes[i] for i in a) for a, p in zip(m["margins"], precise))
    cost = max(y * y for y in ends) * own if not (far and m["exhaustive"]) else 0.0
    for size in range(len(sizes) + 1) if far else ():
        for changed in map(set, combinations(range(len(sizes)), size)):
            both = math.fsum(
                p * math.prod(-1 / sizes[i] if i in changed else 1 - 1 / sizes[i] for i in a)
                for a, p in zip(m["margins"], precise)
            )
            cost = max([cost, *((y * y + z * z) * own - 2 * y * z * both for y, z in product(ends, ends))])
    return vector(cost * (m["rows"] or 1) ** 2, 2, price)


def resampled(m, far, price):
    """K resamples, each with noise. A record that none draws more than c times moves sqrt(k)*c*distance at most."""
    at = [c["reach"] / units(c["noise"]) for c in m["coordinates"]]
    norm = max(at) if m["shape"] == "one-of" else math.hypot(*at)
    moved, k = norm * (2.0 if far else 1.0), m["n_resamples"]
    if "most" in m:
        same = 0.0 if m["shape"] == "count" else 2.0 * at[0]
        entering = 0.0 if m["presence"] == "public" else norm * (math.sqrt(2.0) if m["cells"] > 1 else 1.0)
        tight = {"one-of": math.sqrt(2.0) * norm, "vector": 2.0 * norm}.get(m["shape"], max(same, entering))
        return price.gaussian(k * (m["most"] * (tight if far else norm)) ** 2)
    for most in range(1, 200):
        beyond = poisson_tail(m["rate"], most) * k * (2 if far else 1)
        if beyond < price.aim / 2.0:
            price.told, price.exact = beyond, False
            return price.gaussian((math.sqrt(k) * most * moved) ** 2 / (1.0 - 4e-6))
    return None


def poisson_tail(rate, most):
    return math.fsum(math.exp(-rate + j * math.log(rate) - math.lgamma(j + 1)) for j in range(most + 1, most + 60))


def rounds(m, far, price):
    """Tables of residual sums and counts in rounds; a record is in `most_groups` groups in each."""
    wide, count = units(m["residual"]), units(m["count"])
    entering = (m["steps"] / wide) ** 2 + count**-2.0
    edges = [-(-b * m["steps"] // m["buckets"]) for b in range(m["buckets"] + 1)]
    bucket = max(b - a for a, b in zip(edges, edges[1:]))
    swapped = max(2.0 * entering, ((m["steps"] + bucket) / wide) ** 2)
    vector(m["rounds"] * m["most_groups"] * (swapped if far else entering), 2, price)


def sparse(m, far, price):
    """Questions until c were answered yes: reach/b1 + 2c reach/b2 + c times the dearest answer."""
    if m["relation"] != ("replace-one" if far else "add-remove"):
        return None
    asked = (
        m["reach"] / m["threshold_scale"]
        + (1 if m["monotone"] else 2) * m["positives"] * m["reach"] / m["question_scale"]
    )
    answers = [sum(d / s for d, s in zip(move, m["answer_scales"])) for move in m["answer_moves"]]
    price.laplace(asked + m["positives"] * max(answers, default=0.0))


def shown(m, far, price):
    """Categories that occur: a value of one record alone is shown with a small chance, or a count moves by 1."""
    price.told = math.exp((1 - m["threshold"]) / m["scale"]) / (1.0 + math.exp(-1.0 / m["scale"]))
    price.laplace(1.0 / m["scale"], 2 if far else 1)


def randomised(m, far, price):
    """Bits of records: the likeliest difference is one bit, of chance q or 1 - q."""
    if not far:
        return None
    price.laplace(math.log((2**32 - m["flip"]) / m["flip"]))


def drawn(m, far, price):
    """A resample that is shown as it is: all is told with the chance that a record is drawn."""
    if not far:
        return None
    price.told, price.pure = 1.0 - (1.0 - 1.0 / m["n"]) ** m["draws"], math.inf


def newton(m, far, price):
    """Steps of a regression: the noise of a step is as wide as its stated mu needs, at public coefficients."""
    price.gaussian(math.fsum(p * p for p in m["precisions"]))


KNOWN = {
    "geometric": counts,
    "discrete-gaussian": counts,
    "averaged-laplace-counts": counts,
    "laplace": number,
    "gaussian": number,
    "averaged-laplace": number,
    "tree-counts": tree,
    "vote-tree": votes,
    "joint-moments": joint,
    "moments-gaussian": moments,
    "moments-geometric": moments,
    "averaged-laplace-moments": moments,
    "cell-totals": cell_totals,
    "residual-margins": margins,
    "histogram-rounds": rounds,
    "sparse-vector": sparse,
    "stable-categories": shown,
    "randomised-records": randomised,
    "resample": drawn,
    "newton-steps": newton,
    "resampled-gaussian": resampled,
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


def checked(certificate):
    """Return the verdict on one certificate, and a sentence."""
    mechanism, delta, far = certificate["mechanism"], certificate["delta"], certificate["relation"] == "replace-one"
    price, parts = Price(delta), mechanism["parts"] if mechanism["type"] == "composition" else [mechanism]
    for part in parts:
        before = price.square, price.pure, price.told
        if part["type"] in KNOWN and fields(part) <= FIELDS:
            KNOWN[part["type"]](part, far, price)
        if (price.square, price.pure, price.told) == before:
            return "CANNOT", f"no formula here for {part['type']!r} of this shape"
    if len(parts) > 1:
        price.lone = None
    points = [certificate, *certificate["profile"]]
    cost, stated = price.epsilon(delta), certificate["epsilon"]
    short = [
        p
        for p in points
        if price.delta(p["epsilon"]) > p["delta"] * (1 + 1e-6) + 1e-15
        and price.epsilon(p["delta"]) > p["epsilon"] * (1 + 1e-6)
    ]
    says = f"costs {'at most ' if not price.exact else ''}eps {cost:.6g} at delta {delta:g}; stated {stated:.6g}"
    if short:
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
    worst = 0
    for path in paths:
        with open(path, "rb") as file:
            content = file.read()
        text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8")
        page = re.search(r'<script type="application/json" id="record">(.*?)</script>', text, re.DOTALL)
        found = list(certificates(json.loads(page.group(1) if page else text)))
        for place, certificate in found:
            verdict, says = checked(certificate)
            print(f"{verdict:7} {path}: {place}: {says}")
            worst = max(worst, {"WRONG": 3, "CANNOT": 2}.get(verdict, 0))
        if not found:
            print(f"CANNOT  {path}: no certificate")
            worst = max(worst, 2)
    return {3: 1, 2: 2, 0: 0}[worst]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else print(__doc__))
