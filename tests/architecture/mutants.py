"""Deliberate faults, each in a copy of the source, and whether a test of the suite finds it.

Run ``python -m tests.architecture.mutants`` (about half an hour), or with numbers of mutants (``--list`` prints them).
A fault is one replacement of a text that stands in its file exactly once; the tests named with it run until the first
failure.
The exit status is 1 where a mutant survives, or its text is not found. The tree itself is never written to.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MUTANTS", "Mutant", "copied", "main", "mutated"]

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "conftest.py", "docs", "reproduction", "pyproject.toml", "README.md", "CONTRIBUTING.md")
NOISE = "tests/statistical/test_released_noise.py"
CATEGORIES = "tests/unit/mechanisms/test_stable_categories.py"
WEIGHTS = "tests/unit/mechanisms/test_joint_weights.py"
MOMENTS = "tests/unit/mechanisms/test_joint_moments.py"
FUNCTIONS = "tests/statistical/test_joint_moments.py tests/unit/inference/test_joint_arithmetic.py"
REGRESSION = "tests/unit/regression/test_regression.py"
ROBUST = "tests/unit/regression/test_robust.py"
PARTS = "tests/unit/testset/test_parts.py"
SERVER = "tests/unit/testset/test_server.py"
STORE = "tests/unit/ledger/test_ledger_store.py"
DURABLE = "tests/unit/ledger/test_ledger_durability.py"
ENGINES = "tests/contracts/test_engines.py"
PRICES = "tests/unit/accounting/test_certificate.py tests/references/test_accounting.py"
HOSTILE = "tests/unit/approval/test_hostile.py"
DESK = "tests/unit/approval/test_desk.py"
CURVES = "tests/unit/accounting/test_rounding.py"
TOTAL = "tests/unit/ledger/test_ledger_total.py tests/laws/test_ledger.py"


@dataclass(frozen=True)
class Mutant:
    """One fault: what it is, the file under ``src/hedgerow``, the text replaced, and the tests that should see it."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    Mutant(
        "margins are priced by the records that differ in every column alone",
        "mechanisms/residual_margins.py",
        "return float(over.min()), largest",
        "return float(over.flat[-1]), largest",
        "tests/unit/mechanisms/test_residual_margins.py",
    ),
    Mutant(
        "the intercept's count is left out of the price of joint moments",
        "mechanisms/joint/joint_moments.py",
        'for number in of_kind["count"]',
        "for number in ()",
        REGRESSION,
    ),
    Mutant(
        "products of columns in a ball cost nothing, however heavy",
        "mechanisms/joint/joint_sensitivity.py",
        "return 2.0 * omega**2 * (1.0 + a**2 / (2.0 * omega**2)) ** 2",
        "return 4.0 * a**2",
        REGRESSION,
    ),
    Mutant(
        "squared residuals are added up with noise for records that count whole",
        "mechanisms/joint/joint_numbers.py",
        "sum(degrees)) * (self.shares or 1)",
        "sum(degrees))",
        ROBUST,
    ),
    Mutant(
        "the second step of a regression is not paid for",
        "regression/linear_model.py",
        "return self.mechanism(first), self.second.mechanism(second, self.weighing())",
        "return (self.mechanism(precision),)",
        ROBUST,
    ),
    Mutant(
        "the interval of a ratio leaves the noise out",
        "inference/joint/estimates.py",
        "(cells.noise, factor)",
        "(0.0 * cells.noise, factor)",
        FUNCTIONS,
    ),
    Mutant(
        "means of the same people are read as if they were of different people",
        "inference/joint/totals.py",
        "covariance[:, sums, sums] = block.positive_count[:, None, None] * block.feature_covariance()",
        "covariance[:, sums, sums] = block.count[:, None, None] * block.feature_covariance() * np.eye(block.features)",
        FUNCTIONS,
    ),
    Mutant(
        "squares of joint moments cost nothing, however heavy",
        "mechanisms/joint/joint_sensitivity.py",
        "np.where(equal[i], sums - _slope(sums, squares, power), sums)",
        "np.where(equal[i], 0.0, sums)",
        WEIGHTS,
    ),
    Mutant(
        "a weight a fifth above the free limit is accepted as free",
        "mechanisms/joint/joint_sensitivity.py",
        "_largest(movable.total, movable.square, turned, power)",
        "_largest(movable.total, movable.square, turned / 1.2**power, power)",
        WEIGHTS,
    ),
    Mutant(
        "one product of joint moments is forgotten in the sensitivity",
        "mechanisms/joint/joint_sensitivity.py",
        "np.bincount(listed.at, weight[listed.of_at], rows << bits)",
        "np.bincount(listed.at, weight[listed.of_at] * (listed.at >> bits != 1 + 2 * self.d), rows << bits)",
        WEIGHTS,
    ),
    Mutant(
        "the presence of one feature leaks through the count of another",
        "mechanisms/joint/joint_sensitivity.py",
        "*(((), of) for of in counts)",
        "*(((), of[:1]) for of in counts)",
        WEIGHTS,
    ),
    Mutant(
        "a sum restricted to records with another column is priced as if it were not",
        "mechanisms/joint/joint_sensitivity.py",
        "tuple(sorted({*of, *present}))",
        "tuple(sorted({*of}))",
        WEIGHTS,
    ),
    Mutant(
        "a sum is not 0 for a record that misses the other column it is restricted to",
        "mechanisms/joint/joint_numbers.py",
        "_product([self._polynomial(coordinate), *present])",
        "_product([self._polynomial(coordinate), *present[1:]])",
        MOMENTS,
    ),
    Mutant(
        "the noise of a restricted sum is 5 % too narrow",
        "mechanisms/joint/joint_moments.py",
        "float(number.noise.width), len(sums))",
        'float(number.noise.width) * (0.95 if "where" in number.name else 1.0), len(sums))',
        MOMENTS,
    ),
    Mutant(
        "sums asked apart for what is present count what is not",
        "engines/dialects/held.py",
        "sums[at] or 0 if mask & needs == needs else 0 for",
        "sums[at] or 0 for",
        ENGINES,
    ),
    Mutant(
        "exact sums forget the presence of a second value",
        "engines/dialects/held.py",
        '[(1, f"there_{i}")]',
        '[(1, "one")]',
        ENGINES,
    ),
    Mutant(
        "the generator of bootstrap weights has a constant key",
        "noise/secure.py",
        'key = int.from_bytes(os.urandom(16), "little")\n        counter = int.from_bytes(os.urandom(16), "little")',
        "key = 7\n        counter = 9",
        "tests/statistical/test_noise_law.py",
    ),
    Mutant(
        "which rows of a unit are kept depends on a constant key",
        "engines/dialects/units.py",
        "return os.urandom(16)",
        "return bytes(16)",
        "tests/contracts/test_unit_engines.py tests/unit/release/test_unit_release.py tests/unit/engines",
    ),
    Mutant(
        "a unit has its limit of rows in each cell, and its spread over cells is not priced",
        "engines/dialects/units.py",
        "(PARTITION BY unit ORDER BY priority)",
        "(PARTITION BY {keys} ORDER BY priority)",
        "tests/unit/release/test_units_by_moments.py",
    ),
    Mutant(
        "a unit in other cells than the one that it replaces is priced as if it were in the same",
        "mechanisms/joint/joint_sensitivity.py",
        "(2.0 if cells > 1 else 1.0) * convex",
        "1.0 * convex",
        "tests/unit/mechanisms/test_joint_units.py",
    ),
    Mutant(
        "a record that leaves one cell for another is priced as if it left the data",
        "mechanisms/joint/joint_sensitivity.py",
        "(2.0 if cells > 1 else 1.0) * self.alone(power)",
        "1.0 * self.alone(power)",
        "tests/unit/mechanisms/test_joint_moments.py",
    ),
    Mutant(
        "a commit of the ledger does not wait for the folder",
        "ledger/file.py",
        '"PRAGMA synchronous = EXTRA",',
        '"PRAGMA synchronous = FULL",',
        DURABLE,
    ),
    Mutant(
        "a writer reads the ledger before it has the lock",
        "ledger/file.py",
        '"BEGIN IMMEDIATE" if write else "BEGIN"',
        '"BEGIN"',
        "tests/unit/ledger/test_ledger_races.py",
    ),
    Mutant(
        "data are read before the price is reserved",
        "release/spend.py",
        "        with held_back():\n            reservation = account.spending(",
        "        early = whatever_fails_is_spent(lambda: product.draw(source, SecureNoise()))\n"
        "        with held_back():\n            reservation = account.spending(",
        "tests/unit/release/test_spend.py tests/unit/release/test_ledger_in_release.py",
    ),
    Mutant(
        "a replaced record touches one cell of a table of counts",
        "mechanisms/noisy_counts.py",
        "each = (self.rows or 1) * (2 if relation is Relation.REPLACE_ONE else 1)",
        "each = self.rows or 1",
        PRICES,
    ),
    Mutant(
        "a record that enters late counts in one table",
        "mechanisms/noisy_counts.py",
        "return min(self.cells, each * (self.tables or 1))",
        "return min(self.cells, each)",
        "tests/unit/release/test_late_entry.py",
    ),
    Mutant(
        "a replaced record changes one cell of a table of moments",
        "mechanisms/noisy_moments.py",
        "max(same, 2 * alone if self.cells > 1 else alone)",
        "max(same, alone)",
        "tests/unit/mechanisms/test_layout.py tests/references/test_accounting.py",
    ),
    Mutant(
        "Gaussian noise on moments is 3 % too narrow",
        "mechanisms/laws.py",
        "        return source.discrete_gaussian(width, size)",
        "        return source.discrete_gaussian(0.97 * width, size)",
        NOISE,
    ),
    Mutant(
        "geometric noise is 3 % too narrow",
        "mechanisms/laws.py",
        "source.two_sided_geometric(width, self.draws * size)",
        "source.two_sided_geometric(0.97 * width, self.draws * size)",
        NOISE,
    ),
    Mutant(
        "values are clamped one step above the upper bound",
        "engines/frames.py",
        "nw.lit(float(value.grid.steps))",
        "nw.lit(float(value.grid.steps) + 1.0)",
        ENGINES,
    ),
    Mutant(
        "NaN counts as a value",
        "engines/dialects/computed.py",
        "return value * 0.0 == 0.0",
        "return ~value.is_null()",
        ENGINES,
    ),
    Mutant(
        "a unit keeps a row too many",
        "engines/dialects/units.py",
        "WHERE place <= {limit} GROUP",
        "WHERE place <= {limit + 1} GROUP",
        "tests/contracts/test_unit_engines.py",
    ),
    Mutant(
        "of questions that are asked together the query that is shown has the first alone",
        "release/plan.py",
        "sent += as_sent(sums) if sums else [query]",
        "sent += sums[:1] if sums else [query]",
        "tests/contracts/test_shown_query.py",
    ),
    Mutant(
        "the largest of the Gaussian costs in a ledger counts, not their sum",
        "ledger/total.py",
        "_squares=_added(self._squares, *filter(None, gaussian)),",
        "_squares=max([self._squares, *filter(None, gaussian)]),",
        TOTAL,
    ),
    Mutant(
        "the largest of the Gaussian costs of a composition counts, not their root sum of squares",
        "accounting/compose.py",
        "mu = math.sqrt(sum(gaussian**2 for gaussian in (term.exact_mu() for term in terms) if gaussian is not None))",
        "mu = max([gaussian for gaussian in (term.exact_mu() for term in terms) if gaussian is not None], default=0.0)",
        PRICES,
    ),
    Mutant(
        "normal quantiles are .5 % too small",
        "inference/interval.py",
        "return NormalDist().inv_cdf((1 + parse_level(level)) / 2)",
        "return 0.995 * NormalDist().inv_cdf((1 + parse_level(level)) / 2)",
        "tests/unit/inference tests/laws/test_intervals.py",
    ),
    Mutant(
        "intervals of means leave out the noise on the total",
        "release/designs/sums.py",
        'total_sd=table.sd("total") / reach,',
        "total_sd=0.0,",
        "tests/statistical/test_testset.py tests/statistical/test_tables.py tests/unit/tables",
    ),
    Mutant(
        "a forked child uses its parent's connection",
        "ledger/file.py",
        "(self._owner, self._file) == (os.getpid(), identity)",
        "self._file == identity",
        "tests/unit/ledger tests/unit/release/test_ledger_in_release.py",
    ),
    Mutant("a ledger with a second name is taken", "ledger/file.py", "if status.st_nlink != 1:", "if False:", STORE),
    Mutant(
        "a new ledger is made beside the journal of an old one",
        "ledger/file.py",
        "if journal_of(path).exists():",
        "if False:",
        STORE,
    ),
    Mutant(
        "an error after spending carries its cause",
        "release/spend.py",
        "    # Raised outside the handlers: inside them __context__ would carry the cause, which may quote a cell.\n"
        "    raise failure",
        "    try:\n        run()\n    except Exception:\n        raise failure\n    raise failure",
        "tests/unit/release/test_spend.py tests/unit/release/test_release.py",
    ),
    Mutant(
        "a test set grants a look too many",
        "testset/testset.py",
        "before.used >= settings.conditions.n_looks:",
        "before.used > settings.conditions.n_looks:",
        "tests/unit/testset/test_test_set.py tests/unit/testset/test_careless_use.py",
    ),
    Mutant(
        "the width of lattice noise is rounded down",
        "noise/lattice.py",
        "LatticeNoise(math.ceil(width * 2.0**bits), bits)",
        "LatticeNoise(math.floor(width * 2.0**bits), bits)",
        "tests/statistical/test_noise_law.py tests/unit/noise tests/references/test_accounting.py",
    ),
    Mutant(
        "what a ledger spent is rounded down",
        "ledger/total.py",
        "return round(round_up(epsilon) * 1e6) if",
        "return int(epsilon * 1e6) if",
        f"{TOTAL} {STORE}",
    ),
    Mutant(
        "verifying a ledger leaves out its head",
        "ledger/store.py",
        "            check_head(chain, wanted)\n",
        "",
        f"tests/unit/cli/test_ledger.py {STORE}",
    ),
    Mutant(
        "the last batch of records is left out of a bootstrap",
        "resampling/replicates.py",
        "range(0, max(len(keys), 1), BATCH)",
        "range(0, max(len(keys) - BATCH, 1), BATCH)",
        "tests/statistical/test_streamed.py",
    ),
    Mutant(
        "data that changed meanwhile are released",
        "release/execute.py",
        "if facts.n is not None and facts.n != count:",
        "if False and facts.n != count:",
        "tests/unit/release/test_a_source_that_changes.py tests/unit/release/test_facts_in_release.py",
    ),
    Mutant(
        "the noise of a look by parts is five percent too small",
        "testset/parts/look.py",
        "SHAVED = 1.0 - 1e-6",
        "SHAVED = 1.05",
        PARTS,
    ),
    Mutant(
        "ranks in a look by parts are longer than the price allows",
        "testset/parts/look.py",
        "return math.sqrt((1.0 - _OF_COUNT**2) / (d - 1))",
        "return 1.0",
        PARTS,
    ),
    Mutant(
        "looks by parts forget that a model may be fitted to earlier answers",
        "testset/parts/look.py",
        "    if not look.earlier:",
        "    if look.earlier >= 0:",
        PARTS,
    ),
    Mutant(
        "under add-remove another value of a record is taken for one neighbour, not two",
        "testset/mechanisms/noisy_sum.py",
        "both = 2.0 if relation",
        "both = 1.0 if relation",
        "tests/unit/testset/test_adaptive_bounds.py",
    ),
    Mutant(
        "what earlier answers tell counts a tenth in the bound by their likelihood",
        "testset/adaptive_bounds.py",
        "growth = 2.0 * _ORDERS",
        "growth = 0.2 * _ORDERS",
        "tests/unit/testset/test_likelihood_bound.py",
    ),
    Mutant(
        "parts of a private number of records have the noise of a plain look",
        "testset/parts/counted_parts.py",
        "mu * _PLACES",
        "mu",
        "tests/unit/testset/test_private_number_of_records.py",
    ),
    Mutant(
        "everybody may read the secret of a test set",
        "testset/looks.py",
        "os.open(path, flags, 0o600)",
        "os.open(path, flags, 0o644)",
        DURABLE,
    ),
    Mutant(
        "a server goes on with a look that somebody else reserved",
        "testset/looks.py",
        'marked = {**request, "served": True} if self.resumes else request',
        "marked = request",
        SERVER,
    ),
    Mutant(
        "a server sends a score that is on no record",
        "testset/server/service.py",
        "if score.unrecorded:",
        "if score.unrecorded and not score.value:",
        SERVER,
    ),
    Mutant(
        "a server reads whatever size is announced",
        "transport/local_server.py",
        "if int(length) > self.server.limits.most_bytes else None",
        "if int(length) > 2**40 else None",
        SERVER,
    ),
    Mutant(
        "a server takes any number of requests",
        "transport/local_server.py",
        "if seconds := self.server.rate.wait():",
        "if seconds := 0:",
        SERVER,
    ),
    Mutant(
        "a ledger that is opened again is not compared with what was read",
        "ledger/store.py",
        "compare=new)",
        "compare=False)",
        STORE,
    ),
    Mutant(
        "a checkpoint is believed whatever bytes the ledger has",
        "ledger/chain.py",
        ' or record["bytes"] != bytes_hash()',
        "",
        "tests/unit/ledger/test_checkpoint.py",
    ),
    Mutant(
        "everybody may read and write a ledger",
        "ledger/file.py",
        "os.close(os.open(path, flags, 0o600))",
        "os.close(os.open(path, flags, 0o666))",
        DURABLE,
    ),
    Mutant(
        "DuckDB may reach files after the data are loaded",
        "engines/files.py",
        '_LOCKED: dict[str, Any] = {"enable_external_access": False, "lock_configuration": True}',
        "_LOCKED: dict[str, Any] = {}",
        "tests/unit/engines/test_engine_files.py",
    ),
    Mutant(
        "Poisson weights have a rate 2 % too low",
        "resampling/replicates.py",
        "= Fraction(rate) * units\n",
        "= Fraction(rate) * units * Fraction(98, 100)\n",
        "tests/statistical/test_resampling.py tests/unit/resampling",
    ),
    Mutant(
        "categories are shown one record below their threshold",
        "mechanisms/noisy_counts.py",
        "np.where(noisy >= self.threshold,",
        "np.where(noisy >= self.threshold - 1,",
        CATEGORIES,
    ),
    Mutant(
        "the value of a single record is priced as if the threshold were one higher",
        "mechanisms/noisy_counts.py",
        "math.exp((1 - self.threshold) / self.scale)",
        "math.exp(-self.threshold / self.scale)",
        CATEGORIES,
    ),
    Mutant(
        "the noise of categories is 5 % too narrow",
        "mechanisms/noisy_counts.py",
        "source.two_sided_geometric(self.scale, counts.size)",
        "source.two_sided_geometric(0.95 * self.scale, counts.size)",
        CATEGORIES,
    ),
    Mutant(
        "a replaced record is priced as one that moves a single category",
        "mechanisms/noisy_counts.py",
        "return 2 if relation is Relation.REPLACE_ONE else 1",
        "return 1",
        CATEGORIES,
    ),
    Mutant(
        "bounds are found by counts without noise",
        "find/search.py",
        'self.query.labels, features=("count",))\n        return self.answer(drawn.values[:, 0].astype(np.int64))',
        'self.query.labels, features=("count",))\n        return self.answer(counts[:, 0])',
        "tests/unit/find/test_find.py",
    ),
    Mutant(
        "one level of a tree of counts is not priced",
        "mechanisms/histograms.py",
        "        for width, times in zip(self.widths, self.touched(relation), strict=True):\n",
        "        for width, times in [*zip(self.widths, self.touched(relation), strict=True)][1:]:\n",
        "tests/unit/mechanisms/test_tree_counts.py",
    ),
    Mutant(
        "the interval of a quantile is not inverted at x−",
        "inference/distribution/noisy_distribution.py",
        "self.edges[last[-1] + 2] if len(last)",
        "self.edges[last[-1] + 1] if len(last)",
        "tests/unit/inference/distribution/test_distribution.py",
    ),
    Mutant(
        "a signature of anybody counts",
        "approval/keys.py",
        "except (ValueError, InvalidSignature):\n            return False",
        "except (ValueError, InvalidSignature):\n            return True",
        HOSTILE,
    ),
    Mutant(
        "a signed request runs on data that it was not signed for",
        "ledger/approved.py",
        "if (request_id, fingerprint) != (approval.request.id, canonical(approval.request.asked)):",
        "if request_id != approval.request.id:",
        HOSTILE,
    ),
    Mutant(
        "two signatures of one person are two people",
        "approval/approval.py",
        "return {signature.by for signature in self.signatures}",
        "return [signature.by for signature in self.signatures]",
        HOSTILE,
    ),
    Mutant(
        "a request may declare that no value is missing",
        "cli/verbs/asking.py",
        "    refuse_declared_complete(product.request)\n",
        "",
        HOSTILE,
    ),
    Mutant(
        "a signed request may declare that no value is missing",
        "cli/verbs/asking.py",
        "    refuse_declared_complete(request.asked)\n",
        "",
        HOSTILE,
    ),
    Mutant(
        "the sentences of a request are silent on missing values",
        "release/plan.py",
        "*selected, *weighted, *missing, *outside)",
        "*selected, *weighted, *outside)",
        "tests/unit/approval/test_two_people.py",
    ),
    Mutant(
        "an approver signs beside a forged signature",
        "cli/verbs/approving.py",
        "        approval.check_signatures(known, identity)\n",
        "",
        HOSTILE,
    ),
    Mutant(
        "a form from another port of this machine counts",
        "transport/local_server.py",
        'all(origin == f"http://{host}" for origin in origins)',
        'all(origin.startswith("http://127.0.0.1") for origin in origins)',
        DESK,
    ),
    Mutant(
        "a desk answers under every host name",
        "transport/local_server.py",
        'own_host = host in {f"{name}:{self.server.address.port}" for name in LOCAL}',
        "own_host = bool(host)",
        DESK,
    ),
    Mutant(
        "a form needs no secret of its session",
        "cli/desk/desk_server.py",
        'if not hmac.compare_digest(text_of(fields, "csrf").encode(), session.csrf.encode()):',
        "if not session.csrf:",
        DESK,
    ),
    Mutant(
        "a session of one role opens the other",
        "cli/desk/desk_server.py",
        "return session if session is not None and session.role == role else None",
        "return session",
        DESK,
    ),
    Mutant(
        "a desk signs a request that was denied",
        "cli/desk/papers.py",
        'if paper.state != "waiting" or self.key is None:',
        "if self.key is None:",
        DESK,
    ),
    Mutant(
        "the clock of a ledger with approvers may go back",
        "approval/approval.py",
        'if now.isoformat(timespec="seconds") < last:',
        'if now.isoformat(timespec="seconds") < "":',
        HOSTILE,
    ),
    Mutant(
        "a signature holds for every ledger",
        "approval/approval.py",
        "if signature.ledger != ledger:",
        "if not signature.ledger:",
        HOSTILE,
    ),
    Mutant(
        "a ledger with approvers takes what nobody signed",
        "ledger/approved.py",
        "        if header.approvers:\n            raise",
        "        if not header.salt:\n            raise",
        HOSTILE,
    ),
    Mutant(
        "many equal Gaussian releases cost less than one",
        "accounting/dominating_pairs.py",
        "GaussianProfile(self.mu * times**0.5 * ROUND_UP)",
        "GaussianProfile(self.mu / times**0.5 * ROUND_UP)",
        CURVES,
    ),
    Mutant(
        "a third of the losses of a Laplace number is forgotten",
        "accounting/dominating_pairs.py",
        "shares = -np.expm1((low - high) / 2) / 2",
        "shares = -np.expm1((low - high) / 2) / 3",
        CURVES,
    ),
    Mutant(
        "squares of a ball are forgotten where sums are heavy",
        "mechanisms/joint/joint_sensitivity.py",
        "    if 2.0 * omega**2 <= a**2:",
        "    if 2.0 * omega <= a**2:",
        WEIGHTS,
    ),
)


def mutated(mutant: Mutant, root: Path = ROOT) -> str | None:
    """Return the text of the mutant's file with the fault in it; None where the old text is not there exactly once."""
    text = (root / "src" / "hedgerow" / mutant.file).read_text(encoding="utf-8")
    return text.replace(mutant.old, mutant.new) if text.count(mutant.old) == 1 else None


def copied(folder: Path) -> Path:
    """Copy what tests need into a folder."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "out"))
        elif source.exists():
            shutil.copy(source, folder / name)
    return folder


def main(wanted: list[int], *, timeout: float = 600.0) -> int:
    """Print each mutant with the test that failed, and how many were caught; return the exit status."""
    caught = 0
    with tempfile.TemporaryDirectory() as name:
        root = copied(Path(name))
        for place in wanted:
            mutant, start = MUTANTS[place], time.monotonic()
            seen = _tested(mutant, root, timeout)
            caught += seen[0]
            print(f"{place:2}  {mutant.name}: {seen[1]}  ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{caught} of {len(wanted)} caught")
    return int(caught < len(wanted))


def _tested(mutant: Mutant, root: Path, timeout: float) -> tuple[bool, str]:
    """Run the tests on a copy with the fault in it, and take the fault out again."""
    text, path = mutated(mutant, root), root / "src" / "hedgerow" / mutant.file
    if text is None:
        return False, "NOT APPLICABLE: its text is not there exactly once"
    before = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not long", "--no-header"]
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *mutant.tests.split()],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"NO ANSWER in {timeout:.0f} s"
    finally:
        path.write_text(before, encoding="utf-8")
    failed = re.search(r"^FAILED (\S+)", run.stdout, re.MULTILINE)
    if run.returncode == 1 and failed:
        return True, f"caught by {failed[1]}"
    return False, f"SURVIVED (pytest ended with {run.returncode})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("places", nargs="*", type=int, metavar="NUMBER", help="which mutants; all by default")
    parser.add_argument("--list", action="store_true", help="print them, and run nothing")
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{place:2}  {mutant.name}" for place, mutant in enumerate(MUTANTS)))
        sys.exit(0)
    sys.exit(main(given.places or list(range(len(MUTANTS)))))
