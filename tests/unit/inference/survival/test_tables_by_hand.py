"""Life tables with noise, one cell and one interval at a time: by loops, roots, and integrals of the curve itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats
from tests.unit.inference.score_oracle import Score

from hedgerow.inference.survival.cumulative_incidence import CumulativeIncidence
from hedgerow.inference.survival.even_withdrawal import ConstantHazards, EvenLifeTables, curving, part_of_fall
from hedgerow.inference.survival.late_entry import LateLifeTables
from hedgerow.inference.survival.life_table import LifeTables
from hedgerow.inference.survival.log_rank import log_rank

CUTS, SD = (1.0, 2.5, 4.0), 4.0
ONE = np.array([[30.0, 24.0, 18.0, 12.0, 9.0, 15.0, 110.0], [12.0, 20.0, 9.0, 6.0, 11.0, 5.0, 60.0]])
TWO = np.array([[30.0, 24.0, 18.0, 8.0, 11.0, 9.0, 12.0, 9.0, 15.0, 90.0]])


class ByHand:
    """The actuaries' table of one cell."""

    def __init__(self, counts: np.ndarray, causes: int, withdrawn: float, sd: float) -> None:
        self.counts, self.causes, self.withdrawn, self.sd = counts, causes, withdrawn, sd
        self.k = (len(counts) - 1) // (causes + 1)
        self.risk = [self.form(j, withdrawn) for j in range(self.k)]
        self.left = [form - self.events(j) for j, form in enumerate(self.risk)]

    def form(self, j: int, withdrawn: float) -> np.ndarray:
        """Who is at risk in interval j, as a sum of classes."""
        form = np.zeros(len(self.counts))
        for kind in range(self.causes + 1):
            for later in range(j, self.k):
                form[kind * self.k + later] = 1.0
        form[-1] = 1.0
        form[self.causes * self.k + j] -= withdrawn
        return form

    def events(self, j: int, cause: int | None = None) -> np.ndarray:
        form = np.zeros(len(self.counts))
        form[[kind * self.k + j for kind in (range(self.causes) if cause is None else [cause])]] = 1.0
        return form

    def sd_of(self, form: np.ndarray) -> float:
        return self.sd * math.sqrt(form @ form)

    def value(self, form: np.ndarray) -> float:
        return max(float(form @ self.counts), 1.0)

    def cautious(self, form: np.ndarray) -> float:
        value = self.value(form)
        return max(value - 0.5 * max(5.0 * self.sd_of(form) - value, 0.0), 1.0)

    def log(self, form: np.ndarray) -> float:
        clear = max(self.value(form), 2.0 * self.sd_of(form))
        return math.log(self.value(form)) + self.sd_of(form) ** 2 / clear**2 / 2.0

    def survival(self) -> list[float]:
        logs, least = [0.0], 0.0
        for a, r in zip(self.left, self.risk, strict=True):
            logs.append(logs[-1] + self.log(a) - self.log(r))
        shares = []
        for log in logs[1:]:
            least = min(least, log)
            shares.append(math.exp(least))
        return shares

    def slopes(self, place: int) -> np.ndarray:
        """The slopes of log S."""
        pairs = zip(self.left[: place + 1], self.risk[: place + 1], strict=True)
        return np.asarray(sum(a / self.cautious(a) - r / self.cautious(r) for a, r in pairs))

    def hazard(self, cause: int, j: int) -> tuple[float, np.ndarray]:
        own, r = self.events(j, cause), self.risk[j]
        clear = max(self.value(r), 2.0 * self.sd_of(r))
        events = float(own @ self.counts)
        moved = events * self.sd_of(r) ** 2 / clear**3 - (self.sd / clear) ** 2
        return events / self.value(r) - moved, (own - events / self.cautious(r) * r) / self.cautious(r)

    def clear(self, place: int) -> bool:
        forms = [*self.left[: place + 1], *self.risk[: place + 1]]
        return all(float(form @ self.counts) >= max(2.0 * self.sd_of(form), 1.0) for form in forms)

    def score(self, share: float, slopes: np.ndarray, place: int, law: str, census: bool) -> Score:
        variance = float(slopes**2 @ self.counts)
        fewest, most = self.cautious(self.risk[place]), max(self.value(self.risk[0]), self.value(self.risk[place]))
        behind = min(max(share * (1.0 - share) / variance if variance > 0.0 else 0.0, fewest), most)
        sampling = (0.0, 0.0, 0.0) if census else (0.0, 1.0 / behind, -1.0 / behind)
        noise = (self.sd**2 * float(slopes @ slopes), 0.0, 0.0)
        return Score(a=share, sampling=sampling, noise=noise, low=0.0, high=1.0, law=law)


def law_of(slopes: list[np.ndarray]) -> str:
    """Of as few equal Laplace numbers as in any cell."""
    draws = min(float(g @ g) ** 2 / float((g**4).sum()) for g in slopes)
    few = min(int(draws), 64)
    return "laplace" if few <= 1 else f"averaged-laplace-{few}"


@pytest.mark.parametrize("withdrawn", [0.0, 0.5])
@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_survival_with_its_errors_and_its_ends(withdrawn: float, census: bool, law: str) -> None:
    life = LifeTables(ONE, CUTS, SD, law, census, withdrawn)
    cells = [ByHand(row, 1, withdrawn, SD) for row in ONE]
    for place in range(3):
        read, (low, high) = life.read(place), life.ends(place, 0.9)
        slopes = [cell.survival()[place] * cell.slopes(place) for cell in cells]
        # The law is that of the slopes of all cells, and all cells are read at once.
        noise_law = law if law == "gaussian" else law_of(slopes)
        for number, (cell, along) in enumerate(zip(cells, slopes, strict=True)):
            share = cell.survival()[place]
            assert life.survival[number, place] == read.value[number] == pytest.approx(share, rel=1e-12)
            assert life.slopes[number, place] == pytest.approx(cell.slopes(place), rel=1e-12)
            assert read.sampling_error[number] == pytest.approx(
                0.0 if census else math.sqrt(along**2 @ cell.counts), rel=1e-12
            )
            assert read.privacy_error[number] == pytest.approx(SD * math.sqrt(along @ along), rel=1e-12)
            assert bool(read.reliable[number]) is cell.clear(place) is True
            exact = cell.score(share, along, place, noise_law, census).ends(0.9)
            # Quantiles of sums of Laplace numbers are rounded outwards by 1e-5.
            assert (low[number], high[number]) == pytest.approx(exact, abs=2e-5 if law == "laplace" else 1e-9)
            assert life.at_risk[number, place] == pytest.approx(float(cell.form(place, 0.0) @ cell.counts))
            assert life.form_at_risk(place).tolist() == cell.form(place, 0.0).tolist()
            assert life.events[number, place] == float(cell.events(place) @ cell.counts)
    assert life.form_at_risk(3).tolist() == [0.0] * 6 + [1.0]
    assert life.records.tolist() == pytest.approx([cell.value(cell.risk[0]) for cell in cells])
    fewest, most = life.range_of_records(2)
    assert fewest == pytest.approx([cell.cautious(cell.risk[2]) for cell in cells])
    assert most == pytest.approx([max(cell.value(cell.risk[0]), cell.value(cell.risk[2])) for cell in cells])


def test_noise_that_makes_a_curve_rise_is_cut_and_few_records_are_one() -> None:
    counts = np.array([[5.0, -6.0, 3.0, 1.0, 1.0, -2.0, 0.4], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    life = LifeTables(counts, CUTS, 2.0, "gaussian", False, 0.5)
    for number, row in enumerate(counts):
        cell = ByHand(row, 1, 0.5, 2.0)
        assert life.survival[number] == pytest.approx(cell.survival(), rel=1e-12)
        for place in range(3):
            assert life.slopes[number, place] == pytest.approx(cell.slopes(place), rel=1e-12)
            assert bool(life.reliable[number, place]) is cell.clear(place)
    assert np.isfinite([life.ends(place, 0.95) for place in range(3)]).all()


@pytest.mark.parametrize("tables", [LifeTables, EvenLifeTables])
def test_noise_below_no_events_leaves_survival_at_1(tables: type[LifeTables]) -> None:
    counts = np.array([[-4.0, -3.0, 20.0, 1.0, 1.0, 1.0, 400.0]])
    life = tables(counts, CUTS, 2.0, "gaussian", False, 0.5)
    assert life.survival[0, :2].tolist() == [1.0, 1.0] and 0.9 < life.survival[0, 2] < 1.0
    assert (life.test(0).a <= 1.0).all()


@pytest.mark.parametrize("until", [0.4, 1.0, 1.7, 2.5, 3.9, 4.0])
def test_a_restricted_mean_is_the_integral_of_the_curve(until: float) -> None:
    life, start = LifeTables(ONE, CUTS, SD, "gaussian", False, 0.5), 0.0
    weights, started = life.weights_of_mean(until)
    mean = life.combined(weights, start=started)
    for number in range(2):
        curve = np.append(1.0, life.survival[number])
        points = [0.0, *[cut for cut in CUTS if cut < until], until]
        exact = np.trapezoid(np.interp(points, [start, *CUTS], curve), points)
        assert mean.value[number] == pytest.approx(exact, rel=1e-12)
        along = sum(w * s * g for w, s, g in zip(weights, life.survival[number], life.slopes[number], strict=True))
        assert mean.sampling_error[number] == pytest.approx(math.sqrt(along**2 @ ONE[number]), rel=1e-12)
        assert mean.privacy_error[number] == pytest.approx(SD * math.sqrt(along @ along), rel=1e-12)
    late = LifeTables(ONE, (51.0, 52.5, 54.0), SD, "gaussian", False, 0.5, start=50.0)
    moved = late.combined(late.weights_of_mean(50.0 + until)[0], start=late.weights_of_mean(50.0 + until)[1])
    assert moved.value == pytest.approx(mean.value, rel=1e-9)


def crossing(edges: list[float], curve: list[float], share: float, *, even: bool) -> float:
    """When a curve first falls to a share: lines between cuts, or exponential curves."""
    for j in range(1, len(edges)):
        if curve[j] <= share:
            before, after = curve[j - 1], curve[j]
            if before <= after:
                return edges[j]
            part = math.log(before / share) / math.log(before / after) if even else (before - share) / (before - after)
            return edges[j - 1] + part * (edges[j] - edges[j - 1])
    return math.inf


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("share", [0.9, 0.75, 0.6, 0.3])
def test_a_quantile_of_time_is_where_the_three_curves_cross(share: float, even: bool) -> None:
    kind = EvenLifeTables if even else LifeTables
    life = kind(ONE, CUTS, SD, "gaussian", False, 0.5)
    edges = [0.0, *CUTS]
    for cell in range(2):
        found, curve = life.quantile(share, cell, 0.95), [1.0, *life.survival[cell].tolist()]
        ends = [life.ends(place, 0.95) for place in range(3)]
        low, high = ([1.0, *np.minimum.accumulate([end[side][cell] for end in ends]).tolist()] for side in (0, 1))
        assert found.value == pytest.approx(crossing(edges, curve, share, even=even), rel=1e-9)
        assert found.low == pytest.approx(crossing(edges, low, share, even=even), rel=1e-9)
        assert found.high == pytest.approx(crossing(edges, high, share, even=even), rel=1e-9)
        if math.isinf(found.value):
            assert (found.standard_error, found.sampling_error, found.reliable) == (math.inf, math.inf, False)
            continue
        at = next(place for place in range(3) if life.survival[cell, place] <= share)
        read = life.read(at)
        for error, of in (
            (found.standard_error, math.hypot(read.sampling_error[cell], read.privacy_error[cell])),
            (found.sampling_error, float(read.sampling_error[cell])),
        ):
            first, last = (crossing(edges, curve, share + sign * of, even=even) for sign in (1.0, -1.0))
            assert error == pytest.approx((last - first) / 2.0, rel=1e-9)
        assert found.reliable is (bool(life.reliable[cell, at]) and math.isfinite(found.standard_error))


@pytest.mark.parametrize(
    ("row", "sd", "share", "clear", "finite"),
    [
        ([10.0, 40.0, 30.0, 0.0, 0.0, 0.0, 20.0], 0.5, 0.6, True, True),
        ([10.0, 28.0, 0.0, 0.0, 0.0, 0.0, 62.0], 0.5, 0.65, True, False),  # it falls below by less than an error
        ([1e3, 28e2, 0.0, 0.0, 0.0, 0.0, 62e2], 100.0, 0.63, True, False),  # by more than that of sampling alone
        ([1.0, 20.0, 0.4, 0.0, 0.0, 0.0, 0.2], 0.1, 0.6, False, True),  # less than one record is left
    ],
)
def test_a_quantile_of_time_is_reliable_where_its_error_is_known_and_records_are_at_risk(
    row: list[float], sd: float, share: float, clear: bool, finite: bool
) -> None:
    life = LifeTables(np.array([row]), CUTS, sd, "gaussian", False, 0.5)
    found, at = life.quantile(share, 0, 0.95), int(np.flatnonzero(life.survival[0] <= share)[0])
    assert (bool(life.reliable[0, at]), math.isfinite(found.standard_error)) == (clear, finite)
    assert found.reliable is (clear and finite) and math.isfinite(found.value)


@pytest.mark.parametrize("withdrawn", [0.0, 0.5])
def test_cumulative_incidence_with_its_errors_and_its_ends(withdrawn: float) -> None:
    life = LifeTables(TWO, CUTS, SD, "gaussian", False, withdrawn, 2)
    both, cell = CumulativeIncidence(life), ByHand(TWO[0], 2, withdrawn, SD)
    for cause in range(2):
        share, largest, slopes, before, of_log = 0.0, 0.0, np.zeros(10), 1.0, np.zeros(10)
        for place in range(3):
            hazard, along = cell.hazard(cause, place)
            assert life.hazards[0][cause, 0, place] == pytest.approx(hazard, rel=1e-12)
            assert life.hazards[1][cause, 0, place] == pytest.approx(along, rel=1e-12)
            share += before * (hazard - SD**2 * float(of_log @ along))
            slopes = slopes + before * (hazard * of_log + along)
            largest = max(largest, min(max(share, 0.0), 1.0))
            read = both.read(cause, place)
            assert read.value[0] == pytest.approx(largest, rel=1e-12)
            assert read.sampling_error[0] == pytest.approx(math.sqrt(slopes**2 @ TWO[0]), rel=1e-9)
            assert read.privacy_error[0] == pytest.approx(SD * math.sqrt(slopes @ slopes), rel=1e-9)
            low, high = both.ends(cause, place, 0.95)
            exact = cell.score(largest, slopes, place, "gaussian", False).ends(0.95)
            assert (low[0], high[0]) == pytest.approx(exact, rel=1e-9)
            before, of_log = cell.survival()[place], cell.slopes(place)
    # What is computed of both causes has the covariance of their slopes.
    first, second = (column.row(0) for column in both.joint(2))
    gap = first - second
    along = both.slopes[0, 0, 2] - both.slopes[1, 0, 2]
    assert gap.estimate == pytest.approx(float(both.shares[0, 0, 2] - both.shares[1, 0, 2]))
    assert gap.privacy_error == pytest.approx(SD * math.sqrt(along @ along), rel=1e-6)


def test_where_a_share_of_a_cause_cannot_be_read_it_is_at_least_what_could() -> None:
    counts = np.array([[20.0, 10.0, 1.0, 10.0, 56.0, 2.0, 1.0]])
    both = CumulativeIncidence(LifeTables(counts, (1.0, 2.0, 3.0), 2.0, "laplace", False, 0.0))
    assert both.reliable.tolist() == [[True, True, False]]
    low, high = both.ends(0, 2, 0.95)
    assert (low[0], high[0]) == (both.ends(0, 1, 0.95)[0][0], 1.0) and low[0] > 0.0


def test_errors_have_independent_directions_from_which_numbers_are_made_again() -> None:
    life = LifeTables(ONE, CUTS, SD, "gaussian", False, 0.5)
    slopes = np.random.default_rng(2).normal(size=(2, 3, 7)) / 50.0
    totals, roots = life.errors_of(slopes)
    assert totals.count == pytest.approx(life.records) and not totals.sums.any()
    for cell in range(2):
        noise = roots[cell] @ totals.mixing[1:4] @ totals.mixing[1:4].T @ roots[cell].T
        assert noise == pytest.approx(SD**2 * slopes[cell] @ slopes[cell].T, rel=1e-9, abs=1e-12)
        sampling = roots[cell] @ totals.products[cell] @ roots[cell].T
        assert sampling == pytest.approx((slopes[cell] * ONE[cell]) @ slopes[cell].T, rel=1e-9, abs=1e-12)
    assert not totals.mixing[0].any() and not totals.mixing[4:].any() and totals.mixing.shape == (10, 3)
    still = LifeTables(ONE, CUTS, 0.0, "gaussian", False, 0.5)
    totals, roots = still.errors_of(slopes)
    assert not totals.mixing.any()
    # Features lie in [−1, 1]: no record adds more than 1 to the square of one.
    squares = np.diagonal(totals.products, axis1=1, axis2=2)
    assert (squares <= ONE.sum(axis=1)[:, None] * (1.0 + 1e-9)).all()
    sampling = roots[0] @ totals.products[0] @ roots[0].T
    assert sampling == pytest.approx((slopes[0] * ONE[0]) @ slopes[0].T, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", [LifeTables, EvenLifeTables])
@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("sd", [0.0, 4.0])
def test_the_log_rank_test_of_three_cells(kind: type[LifeTables], census: bool, sd: float) -> None:
    counts = np.vstack([ONE, [20.0, 10.0, 12.0, 3.0, 8.0, 9.0, 120.0]])
    if census and not sd:
        return  # nothing varies
    life, result = kind(counts, CUTS, sd, "gaussian", census, 0.5), None
    result = log_rank(life)
    assert result is not None
    exposed, events = life.exposed, life.events
    total, every = exposed.sum(axis=0), events.sum(axis=0)

    def moved(exposed: np.ndarray, events: np.ndarray) -> np.ndarray:
        share = exposed / exposed.sum(axis=0)
        return np.asarray((events - events.sum(axis=0) * share).sum(axis=1))

    # The slopes of U by differences along the exposure and the events of each cell and interval.
    by_counts, step = np.zeros((3, 3, 7)), 1e-5
    for h in range(3):
        for j in range(3):
            unit = np.zeros((3, 3))
            unit[h, j] = step
            along_exposed = (moved(exposed + unit, events) - moved(exposed - unit, events)) / (2.0 * step)
            along_events = (moved(exposed, events + unit) - moved(exposed, events - unit)) / (2.0 * step)
            by_counts[:, h] += np.outer(along_exposed, life.slopes_of_exposed[h, j])
            by_counts[:, h] += np.outer(along_events, life.forms_of_events.sum(axis=0)[j])
    sampling, shift = np.zeros((3, 3)), np.zeros(3)
    for j in range(3):
        d, r = every[j], total[j]
        v = d if kind is EvenLifeTables else d * (r - d) / (r - 1.0)
        share = exposed[:, j] / r
        sampling += v * (np.diag(share) - np.outer(share, share))
        # Half of the second derivatives of U along the noise of D and r: of D_j r_gj/r_j.
        forms = [(life.forms_of_events.sum(axis=0)[j], life.slopes_of_exposed[g, j]) for g in range(3)]
        common = np.array([sd**2 * float(a @ b) - d / r * sd**2 * float(b @ b) for a, b in forms])
        shift += (common - share * common.sum()) / r
    covariance = (0.0 if census else sampling) + sd**2 * by_counts.reshape(3, -1) @ by_counts.reshape(3, -1).T
    u = (moved(exposed, events) + shift)[:2]
    statistic = float(u @ np.linalg.solve(covariance[:2, :2], u))
    assert result.statistic == pytest.approx(statistic, rel=1e-7)
    assert (result.df, result.until) == (2, 4.0)
    assert result.pvalue == pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-6)
    assert result.observed == pytest.approx(events.sum(axis=1)) and sum(result.expected) == pytest.approx(every.sum())
    assert result.expected == pytest.approx((every * exposed / total).sum(axis=1))
    assert log_rank(kind(counts[:1], CUTS, sd, "gaussian", census, 0.5)) is None
    assert log_rank(kind(counts, CUTS, 400.0, "gaussian", census, 0.5)) is None


def test_the_log_rank_test_ends_where_a_cell_cannot_be_read() -> None:
    counts = np.array([[20.0, 10.0, 1.0, 10.0, 56.0, 2.0, 1.0], ONE[0].tolist()])
    result = log_rank(LifeTables(counts, (1.0, 2.0, 3.0), 2.0, "laplace", False, 0.0))
    assert result is not None and result.until == 2.0 and result.observed == (30.0, 54.0)


# Records that leave evenly.
def chiang(r: float, after: float) -> float:
    return 1.0 / r if r == after else math.log(r / after) / (r - after)


def moved_by_noise(life: EvenLifeTables, cause: int | None) -> np.ndarray:
    """What independent parts of the noise move the fall of log S, or h_c, by: half of second differences, by loops."""
    moved = np.zeros((len(life.counts), life.intervals))
    for cell, counts in enumerate(life.counts):
        by = ByHand(counts, life.causes, 0.0, life.noise_sd)
        for j in range(life.intervals):
            start_form = by.form(j, 0.0)
            end_form = start_form - by.events(j)
            end_form[life.causes * life.intervals + j] -= 1.0
            start, end = (max(by.value(form), 2.0 * by.sd_of(form)) for form in (start_form, end_form))
            own = float(by.events(j, cause or 0) @ counts)
            others = float(by.events(j) @ counts) - own

            def function(own: float, others: float, start: float, end: float) -> float:
                rate = chiang(start, end)
                if cause is None:
                    return (own + others) * rate
                fall = (own + others) * rate
                return own * rate * -math.expm1(-fall) / fall

            one, rest = life.noise_sd, by.sd_of(end_form)
            several = one * math.sqrt(life.causes - 1.0)
            steps = ((one, 0.0, one, 0.0), (0.0, several, several, 0.0), (0.0, 0.0, one, 0.0), (0.0, 0.0, rest, rest))
            here = (own, others, start, end)
            for step in steps:
                up, down = (function(*(a + sign * b for a, b in zip(here, step, strict=True))) for sign in (1.0, -1.0))
                moved[cell, j] += (up + down) / 2.0 - function(*here)
    return moved


@pytest.mark.parametrize("counts", [ONE, TWO])
def test_constant_hazards_less_what_noise_moves(counts: np.ndarray) -> None:
    causes = 1 if counts is ONE else 2
    life = ConstantHazards(counts, CUTS, SD, "gaussian", False, 0.5, causes)
    start, end = life.divisors
    rates = np.vectorize(chiang)(start, end)
    falls = life.events * rates
    assert life.exposed == pytest.approx(1.0 / rates, rel=1e-12)
    steps = np.cumsum(moved_by_noise(life, None) - falls, axis=1)
    assert np.log(life.survival) == pytest.approx(steps, rel=1e-9)
    for cause in range(causes):
        own = life.events_by_cause[cause] * rates
        exact = own * -np.expm1(-falls) / falls - moved_by_noise(life, cause)
        assert life.hazards[0][cause] == pytest.approx(exact, rel=1e-9)


def test_hazards_bend_by_the_slope_that_the_intervals_beside_show() -> None:
    edges = np.array([0.0, 1.0, 2.5, 4.0])
    middles, widths = (edges[1:] + edges[:-1]) / 2.0, np.diff(edges)
    falls = np.array([0.2, 0.5, 0.1])
    for read in (3, 2):
        hazards = falls / widths
        last = read - 1
        slopes = np.zeros(3)
        for j in range(3):
            right, left = min(j + 1, last), min(max(j - 1, 0), min(j + 1, last))
            slopes[j] = (hazards[right] - hazards[left]) / (middles[right] - middles[left]) if right > left else 0.0
        assert curving(edges, read) @ falls == pytest.approx(widths**2 / 12.0 * slopes, rel=1e-12)
    assert not (curving(edges, 1) @ falls).any() and not (curving(edges, 0) @ falls).any()
    life = EvenLifeTables(ONE, CUTS, 0.0, "gaussian", False, 0.5)
    for cell in range(2):
        start, end = (part[cell] for part in life.divisors)
        rate = np.array([chiang(a, b) for a, b in zip(start, end, strict=True)])
        own, every = life.events[cell] * rate, (start - end) * rate
        m = curving(edges, 3)
        falls = own + every * (m @ own) - own * (m @ every)
        assert np.log(life.survival[cell]) == pytest.approx(-np.cumsum(falls), rel=1e-12)


def test_a_mean_of_records_that_leave_evenly_is_an_integral_of_bent_exponential_curves() -> None:
    """Of an exponential curve, and of h'u(b − u)/2 times the curve in the middle of the part."""
    edges = [0.0, *CUTS]
    for until in (0.6, 1.0, 2.2, 4.0):
        life = ConstantHazards(ONE, CUTS, 0.0, "gaussian", False, 0.5)
        mean = life.combined(life.weights_of_mean(until)[0], start=life.weights_of_mean(until)[1])
        last = next(j for j in range(1, 4) if edges[j] >= until)
        for cell in range(2):
            logs = np.log(np.append(1.0, life.survival[cell]))

            def at(t: float, logs: np.ndarray = logs) -> float:
                return math.exp(float(np.interp(t, edges, logs)))

            # The slopes of the hazard as the intervals up to this time show them.
            of_read = np.array(edges[: last + 1])
            slopes = curving(of_read, last) @ -np.diff(logs[: last + 1]) / (np.diff(of_read) ** 2 / 12.0)
            exact = 0.0
            for j in range(last):
                start, width = edges[j], edges[j + 1] - edges[j]
                reached = min(until - start, width)
                exact += integrate.quad(at, start, start + reached, epsrel=1e-12)[0]
                exact += at(start + reached / 2.0) * slopes[j] * (width * reached**2 / 4.0 - reached**3 / 6.0)
            assert mean.value[cell] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("x", [0.0, 1e-4, -0.015, 0.0199, 0.0201, 0.3, -0.7, 2.0])
def test_quotients_are_the_same_by_their_series(x: float) -> None:
    exact = 1.0 if x == 0.0 else -math.expm1(-x) / x
    assert float(part_of_fall(np.array([x]))[0]) == pytest.approx(exact, rel=1e-8)


def test_late_entry_has_the_variance_of_multinomial_exits() -> None:
    """Given who is at risk and who enters: of each group the exits of every class are multinomial."""
    counts = np.array([[20.0, 18.0, 15.0, 8.0, 9.0, 7.0, 95.0, 100.0, 40.0, 20.0, 12.0]])
    life = LateLifeTables(counts, (1.0, 2.0, 3.0), 0.0, "gaussian", False, 0.5)
    slopes = life.slopes[:, 2]
    r = life.counts @ life.began[:-1].T
    leaving = life.counts @ life.forms_of_leaving.T
    x, exact = (leaving * life.rates)[0], 0.0
    later = slopes[0, 6]
    for j in (2, 1, 0):
        left = np.maximum(counts[0, :6].reshape(2, 3)[:, j], 0.0)
        gained = slopes[0, :6].reshape(2, 3)[:, j] - later
        chance = float(r[0, j] * life.rates[0, j] * -math.expm1(-x[j]) / x[j])
        stayed = later
        for number, share in ((r[0, j], chance), (life.entered[0, j], 1.0 - chance)):
            p = left * share / number
            mean = float(gained @ p)
            exact += number * (float(gained**2 @ p) - mean**2)
            if share == chance:
                stayed = later + mean
        later = stayed
    assert life.sampling_variance(slopes)[0] == pytest.approx(exact, rel=1e-9)
    # The records without late entry that tell as much as those at risk.
    fewest, most = life.range_of_records(2)
    share = life.survival[0, 2]
    assert fewest[0] == pytest.approx(min(life.cautious_divisors[0][0]))
    assert most[0] == pytest.approx(max(life.divisors[0][0]) * (1.0 / share - 1.0) / -math.log(share))
    assert life.records[0] == pytest.approx(max(life.divisors[0][0]))
    nobody = np.array([[0.0] * 6 + [100.0, 60.0, 20.0, 20.0, 0.0]])
    never = LateLifeTables(nobody, (1.0, 2.0, 3.0), 0.0, "gaussian", False, 0.5)
    assert never.survival.tolist() == [[1.0, 1.0, 1.0]]
    assert never.range_of_records(2)[1] == pytest.approx(never.divisors[0].max(axis=1), rel=1e-6)


@pytest.mark.parametrize("tables", [LifeTables, EvenLifeTables])
def test_a_curve_that_does_not_fall_reaches_a_share_at_the_end_of_its_interval(tables: type[LifeTables]) -> None:
    """No event in the first interval: with a standard error, the share .98 begins there at the latest."""
    life = tables(np.array([[0.0, 8.0, 0.0, 0.0, 0.0, 0.0, 92.0]]), CUTS, 0.0, "gaussian", False, 0.5)
    found, curve = life.quantile(0.98, 0, 0.95), life.survival[0]
    error = float(life.read(1).sampling_error[0])
    assert curve[0] == 1.0 < 0.98 + error and 0.98 - error > curve[1]
    part = (1.0 - 0.98 + error) / (1.0 - curve[1])
    if tables is EvenLifeTables:
        part = math.log(0.98 - error) / math.log(curve[1])
    assert found.standard_error == pytest.approx(part * (CUTS[1] - CUTS[0]) / 2.0, rel=1e-9)


def test_counts_below_0_have_no_sampling_variance() -> None:
    """Noise leaves nothing but negative counts: Σ g² c is below 0, and the error is 0."""
    life = LifeTables(np.array([[-8.0, 1.0, 1.0, -2.0, 0.0, 0.0, -9.0]]), CUTS, 5.0, "gaussian", False, 0.5)
    assert life.sampling_variance(life.slopes[:, 0])[0] < 0.0
    for read in (life.read(0), CumulativeIncidence(life).read(0, 0)):
        assert read.sampling_error.tolist() == [0.0] and read.privacy_error[0] > 0.0


def test_numbers_to_compute_with_lie_in_what_is_possible() -> None:
    life = LifeTables(ONE, CUTS, SD, "gaussian", False, 0.5)
    (share,), mean = life.joint([1]), life.joint_of(np.array([0.5, 0.5, 0.0]), 1.0, 4.0)
    assert (share.row(0).low, share.row(0).high) == (0.0, 1.0)
    assert (mean.row(1).low, mean.row(1).high) == (0.0, 4.0)


def test_numbers_that_are_the_same_have_a_joint_law_too() -> None:
    life = LifeTables(ONE, CUTS, SD, "gaussian", False, 0.5)
    first, again = (column.row(0) for column in life.joint([1, 1]))
    assert (first - again).standard_error == pytest.approx(0.0, abs=1e-5 * first.standard_error)
    assert (first + again).standard_error == pytest.approx(2.0 * first.standard_error, rel=1e-5)


def test_there_is_no_log_rank_test_of_one_cell_or_of_cells_that_cannot_be_read() -> None:
    assert log_rank(LifeTables(ONE[:1], CUTS, SD, "gaussian", False, 0.5)) is None
    assert log_rank(LifeTables(ONE, CUTS, 1e4, "gaussian", False, 0.5)) is None
    found = log_rank(LifeTables(ONE, CUTS, SD, "gaussian", False, 0.5))
    assert found is not None and found.df == 1
    assert found.pvalue == pytest.approx(stats.chi2.sf(found.statistic, 1), rel=1e-9)
    record = found.to_dict()
    assert record == {
        "statistic": found.statistic, "df": 1, "pvalue": found.pvalue, "until": found.until,
        "observed": list(found.observed), "expected": list(found.expected),
    }  # fmt: skip
    assert str(found).startswith(f"Log-rank test up to {found.until:.15g}: Q = {found.statistic:.3g} on 1 degrees")
