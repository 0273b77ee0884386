"""The law of released noise: the truth accepted (p > 1e-9), a named sabotage rejected (p < 1e-12). n as stated."""

import multiprocessing
import os
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hedgerow.noise.inversion import Inversion
from hedgerow.noise.lattice import FINE, NoiseSource, lattice_noise, on_lattice
from hedgerow.noise.secure import MANY, SecureNoise
from hedgerow.testing.simulated import SimulatedNoise

N = 100_000
ACCEPT, REJECT = 1e-9, 1e-12
pytestmark = pytest.mark.entropy


class Few(SecureNoise):
    """What few numbers are drawn by: OpenDP's samplers. The others are drawn by the table of `noise.inversion`."""

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        return np.concatenate([super(Few, self).discrete_gaussian(width, MANY) for _ in range(-(-size // MANY))])[:size]

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        return np.concatenate([super(Few, self).two_sided_geometric(scale, MANY) for _ in range(-(-size // MANY))])[
            :size
        ]


SOURCES = {"few": Few(), "many": SecureNoise(), "simulated": SimulatedNoise(20261120)}


def discrete_pmf(kind: str, width: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    z = np.arange(-int(40 * width) - 5, int(40 * width) + 6)
    log_law = -(z**2) / (2 * width**2) if kind == "gaussian" else -np.abs(z) / width
    law = np.exp(log_law)
    return z, law / law.sum()


def chi_square_p(drawn: NDArray[np.int64], kind: str, width: float) -> float:
    """Goodness of fit on cells of at least 50 expected draws, the tails in one cell each."""
    z, law = discrete_pmf(kind, width)
    common = z[law * len(drawn) >= 50]
    low, high = common.min(), common.max()
    observed = [np.count_nonzero(drawn < low), *(np.count_nonzero(drawn == v) for v in range(low, high + 1))]
    observed.append(np.count_nonzero(drawn > high))
    expected = [law[z < low].sum(), *law[(z >= low) & (z <= high)], law[z > high].sum()]
    return float(stats.chisquare(observed, np.array(expected) * len(drawn) / np.sum(expected)).pvalue)


def draw(source: NoiseSource, kind: str, width: float) -> NDArray[np.int64]:
    return source.discrete_gaussian(width, N) if kind == "gaussian" else source.two_sided_geometric(width, N)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(
    ("kind", "width"), [("gaussian", 0.7), ("gaussian", 4.2), ("geometric", 1.0), ("geometric", 6.5)]
)
def test_small_integer_noise_has_its_exact_law(name: str, kind: str, width: float) -> None:
    drawn = draw(SOURCES[name], kind, width)
    assert chi_square_p(drawn, kind, width) > ACCEPT
    assert chi_square_p(drawn, kind, width / 0.9) < REJECT, "noise 10 % low must be seen"


@pytest.mark.parametrize("name", SOURCES)
def test_wide_gaussian_noise_has_its_law(name: str) -> None:
    width = float(FINE)
    drawn = SOURCES[name].discrete_gaussian(width, N) / width

    def p_value(scaled: NDArray[np.float64]) -> float:
        spread = 2 * min(stats.chi2.cdf((scaled**2).sum(), N), stats.chi2.sf((scaled**2).sum(), N))
        return float(min(spread, stats.kstest(scaled, "norm").pvalue))

    assert p_value(drawn) > ACCEPT
    assert p_value(drawn * 0.97) < REJECT, "noise 3 % low must be seen"
    assert p_value(np.repeat(drawn[: N // 2], 2)[:N] * 0.7) < REJECT


@pytest.mark.parametrize("name", SOURCES)
def test_wide_geometric_noise_has_its_law(name: str) -> None:
    scale = float(FINE)
    drawn = SOURCES[name].two_sided_geometric(scale, N) / scale
    assert stats.kstest(drawn, "laplace").pvalue > ACCEPT
    assert stats.kstest(drawn * 0.9, "laplace").pvalue < REJECT, "noise 10 % low must be seen"


def same_law(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """The χ² test of two samples in 40 classes of about equal frequency."""
    cuts = np.unique(np.quantile(other, np.linspace(0, 1, 41)[1:-1], method="lower"))
    table = [np.bincount(np.searchsorted(cuts, each), minlength=len(cuts) + 1) for each in (one, other)]
    return float(stats.chi2_contingency(np.array(table)[:, np.sum(table, axis=0) > 0]).pvalue)


@pytest.mark.parametrize(
    ("kind", "width"), [("gaussian", 5.3), ("gaussian", 1e3), ("geometric", 2.5), ("geometric", 1e5)]
)
def test_many_numbers_have_the_law_of_few(kind: str, width: float) -> None:
    """OpenDP's sampler is the oracle."""
    few, many = (draw(SOURCES[name], kind, width) for name in ("few", "many"))
    assert same_law(many, few) > ACCEPT
    assert same_law(draw(SOURCES["many"], kind, 0.9 * width), few) < REJECT


@pytest.mark.long
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("width", [0.4, 3.0, 40.0, 200.0, float(FINE)])
def test_ten_million_numbers_have_their_law(power: Literal[1, 2], width: float) -> None:
    kind = {1: "geometric", 2: "gaussian"}[power]
    drawn = Inversion(power, width).draw(10_000_000)
    if width <= 200:
        assert chi_square_p(drawn, kind, width) > ACCEPT
        assert chi_square_p(drawn, kind, width * 1.01) < REJECT
    else:
        law = "laplace" if power == 1 else "norm"
        assert stats.kstest(drawn / width, law).pvalue > ACCEPT
        assert stats.kstest(drawn / width * 0.99, law).pvalue < REJECT


@pytest.mark.parametrize("name", ["few", "many"])
def test_draws_are_independent_of_each_other(name: str) -> None:
    """Serial correlation of n draws; a source that reuses every second draw is seen."""
    drawn = SOURCES[name].discrete_gaussian(float(FINE), N).astype(float)
    bound = stats.norm.isf(ACCEPT / 2) / np.sqrt(N)
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < bound
    reused = np.repeat(drawn[: N // 2], 2)
    assert abs(np.corrcoef(reused[:-1], reused[1:])[0, 1]) > stats.norm.isf(REJECT / 2) / np.sqrt(N)


def _child(queue: "multiprocessing.Queue[list[int]]") -> None:
    source = SecureNoise()
    queue.put(
        [
            *source.discrete_gaussian(float(FINE), 50).tolist(),
            *source.discrete_gaussian(float(FINE), MANY + 50)[:50].tolist(),
            *source.generator().integers(0, 2**60, 50).tolist(),
        ]
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # forking with threads about is the point here
def test_forked_children_do_not_repeat_each_other_or_their_parent() -> None:
    context = multiprocessing.get_context("fork")
    parent = SecureNoise().discrete_gaussian(float(FINE), 50).tolist()
    queue = context.Queue()
    children = [context.Process(target=_child, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    drawn = [queue.get(timeout=60) for _ in children]
    for child in children:
        child.join()
    everything = [*parent, *drawn[0], *drawn[1]]
    # 250 draws 2^20 wide and 100 of 60 bits: some 0.01 chance coincidences are expected, a shared state repeats dozens.
    assert len(everything) - len(set(everything)) < 3


def test_nothing_in_a_release_can_be_seeded() -> None:
    np.random.seed(7)  # the global state, which must not matter
    first = SecureNoise().discrete_gaussian(float(FINE), 20).tolist()
    np.random.seed(7)
    assert SecureNoise().discrete_gaussian(float(FINE), 20).tolist() != first
    with pytest.raises(TypeError):
        SecureNoise(7)  # type: ignore[call-arg]  # the point of the test


@pytest.mark.parametrize("width", [1e-3, 0.7, 8.9, 1234.5, 3e6, 1e12])
def test_the_lattice_is_fine_and_rounds_up(width: float) -> None:
    noise = lattice_noise(width)
    assert noise.width >= 1000 and noise.in_units >= width
    assert noise.in_units <= width * (1 + 2 / FINE)


def test_every_output_lies_on_the_lattice() -> None:
    noise = lattice_noise(8.9)
    sums = np.arange(20_000)
    released = on_lattice(sums, SecureNoise().discrete_gaussian(float(noise.width), 20_000), noise.bits)
    assert np.all(released * 2.0**noise.bits == np.rint(released * 2.0**noise.bits))
    off = released + np.random.default_rng(1).normal(0, 1e-3, 20_000)
    assert not np.all(off * 2.0**noise.bits == np.rint(off * 2.0**noise.bits)), "float noise off the lattice is seen"


def test_sums_beyond_64_bits_do_not_wrap() -> None:
    huge = np.array([2**70], dtype=object)
    assert on_lattice(huge, np.array([-1]), 10)[0] == pytest.approx(2.0**70)
    assert on_lattice(np.array([2**60]), np.array([0]), 10)[0] == 2.0**60
