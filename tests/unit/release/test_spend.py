"""Reserve, run, record: the order holds whatever is released, and a failure in the middle stays spent."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from inspect import currentframe
from pathlib import Path
from typing import Any

import pytest

from hedgerow.engines.reading import unreachable
from hedgerow.errors import BudgetExceeded, DataError, HedgerowWarning, LedgerError, SpentError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.interrupts import interrupted, nothing_is_spent
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GaussianNoise, GeometricCounts
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.spend import (
    Account,
    InLedger,
    InOpenLedger,
    NoLedger,
    OnlyAsked,
    Receivable,
    Spending,
    not_on_record,
    price_together,
    receipts,
    run_unpriced,
    spend,
)
from hedgerow.testset import TestSet

PRICE = 0.500001  # 1/2, stated in whole millionths, rounded up


def price(epsilon: float = 0.5) -> Certificate:
    return certify(GeometricCounts(1.0 / epsilon, 1), Relation.ADD_REMOVE, unit="row", delta=0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "d.ledger"
    Ledger.create(place, dataset="d", budget=Budget(1.2, 0.0), relation="add-remove", unit="row").close()
    return place


@dataclass(frozen=True)
class Counted(Receivable):
    """A result: a number, and what the ledger knows of it."""

    value: int
    ledger_head: str | None = None
    replayed: bool = False
    unrecorded: bool = False
    notes: tuple[str, ...] = ()


class Once:
    """A product that counts how often data were read."""

    def __init__(
        self,
        what: str = "count",
        reading: Callable[[], AbstractContextManager[Any]] = nullcontext,
        step: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.runs, self.step, self.reading = 0, step, reading
        self.price, self.request = price(), {"what": what}

    def draw(self, source: Any, noise: NoiseSource) -> int:
        self.step("draw")
        self.runs += 1
        return 41

    def read(self, noisy: int) -> Counted:
        return Counted(noisy)

    def write(self, result: Counted) -> str:
        self.step("written")
        return str(result.value)

    def from_record(self, text: str) -> Counted:
        return Counted(int(text))


def ask(spending: Spending, product: Once, *, request_id: str | None = "a") -> Counted:
    return spend(product, Account(None, spending, request_id))


def spent(path: Path) -> float:
    with Ledger.open(path) as ledger:
        return ledger.spent()


def test_the_same_request_under_the_same_id_reads_no_data_again(path: Path) -> None:
    run = Once()
    first, again = ask(InLedger(path), run), ask(InLedger(path), run)
    assert (first.value, first.replayed, again.value, again.replayed) == (41, False, 41, True)
    assert (run.runs, spent(path)) == (1, PRICE)
    assert first.ledger_head == again.ledger_head is not None


def test_another_request_under_the_same_id_is_refused_before_data_are_read(path: Path) -> None:
    ask(InLedger(path), Once())
    run = Once("mean")
    with pytest.raises(LedgerError):
        ask(InLedger(path), run)
    assert (run.runs, spent(path)) == (0, PRICE)


def test_beyond_the_budget_nothing_is_read(path: Path) -> None:
    for name in "ab":
        ask(InLedger(path), Once(), request_id=name)
    run = Once()
    with pytest.raises(BudgetExceeded):
        ask(InLedger(path), run, request_id="c")
    assert run.runs == 0


def test_a_failure_after_the_reservation_stays_spent_and_quotes_nothing(path: Path) -> None:
    def fails(step: str) -> None:
        raise ValueError("cell 8151")

    with pytest.raises(SpentError) as caught:
        ask(InLedger(path), Once(step=fails))
    assert caught.value.code == "HG601"
    assert caught.value.__context__ is None and "8151" not in str(caught.value)
    assert spent(path) == PRICE


def test_the_price_is_durable_when_the_run_begins(path: Path) -> None:
    seen: list[float] = []

    ask(InLedger(path), Once(step=lambda _: seen.append(spent(path))))
    assert seen == [PRICE, PRICE]


def test_the_source_is_reached_before_the_price_and_left_after_the_run(path: Path) -> None:
    steps: list[tuple[str, float]] = []

    @contextmanager
    def reading() -> Iterator[None]:
        steps.append(("reached", spent(path)))
        yield
        steps.append(("left", spent(path)))

    product = Once(reading=reading, step=lambda step: steps.append((step, spent(path))))
    assert spend(product, Account(None, path, "a")).value == 41
    assert steps == [("reached", 0.0), ("draw", PRICE), ("left", PRICE), ("written", PRICE)]


def test_a_source_that_cannot_be_reached_costs_nothing(path: Path) -> None:
    @contextmanager
    def away() -> Iterator[None]:
        raise unreachable(ValueError("cell 8151"))
        yield

    run = Once(reading=away)
    with pytest.raises(DataError, match="HG207") as caught:
        spend(run, Account(None, path, "a"))
    assert (run.runs, spent(path)) == (0, 0.0) and "8151" not in str(caught.value)


def test_without_a_ledger_every_call_runs() -> None:
    run = Once()
    assert [ask(NoLedger(), run).ledger_head, ask(NoLedger(), run).replayed, run.runs] == [None, False, 2]


def test_what_costs_nothing_is_kept_in_no_ledger(path: Path) -> None:
    free = certify(Composition(()), Relation.REPLACE_ONE, unit="row", delta=0.0)
    assert isinstance(Account(None, path).spending(free), NoLedger)
    assert isinstance(Account(None, path).spending(price()), InLedger)
    assert isinstance(Account(None, None).spending(price()), NoLedger)


def test_more_than_the_whole_budget_of_the_facts_is_refused_before_anything_is_reserved(path: Path) -> None:
    run = Once()
    for total in (Budget(0.5, 0.0), Budget(0.4, 1e-9)):
        with pytest.raises(BudgetExceeded, match="HG706"):
            spend(run, Account(total, path, "a"))
    assert (run.runs, spent(path)) == (0, 0.0)
    assert spend(run, Account(Budget(0.6, 0.0), path, "a")).value == 41


def test_what_has_no_price_is_refused_where_the_facts_set_a_budget() -> None:
    run = Once()
    with pytest.raises(BudgetExceeded, match="HG706"):
        run_unpriced(Account(Budget(100.0, 1e-6), None), lambda: run.draw(None, SecureNoise()))
    assert run.runs == 0 and run_unpriced(Account(None, None), lambda: 41) == 41


def test_a_ledger_that_belongs_to_a_test_set_pays_for_its_looks_alone(path: Path) -> None:
    TestSet(None, [0, 1] * 500, relation="add-remove", epsilon=1.2, n_looks=2, ledger=path.parent / "ts.ledger").close()
    run, before = Once(), spent(path.parent / "ts.ledger")
    with pytest.raises(LedgerError, match="HG318"):
        ask(InLedger(path.parent / "ts.ledger"), run)
    assert (run.runs, spent(path.parent / "ts.ledger")) == (0, before)


@pytest.mark.parametrize(
    ("on_disk", "readable", "code"), [(True, True, "HG607"), (False, True, "HG307"), (False, False, "HG607")]
)
def test_a_reservation_whose_end_failed_is_spent_where_it_is_on_the_disk_or_nobody_can_say(
    path: Path, monkeypatch: pytest.MonkeyPatch, on_disk: bool, readable: bool, code: str
) -> None:
    reserve = InOpenLedger.reserve

    def fails(held: InOpenLedger, *asked: Any) -> Any:
        if on_disk:
            reserve(held, *asked)
        if not readable:
            path.write_bytes(b"no ledger")
        raise LedgerError("HG307", rule="A rule.", finding="A finding.", remedy="A remedy.")

    monkeypatch.setattr(InOpenLedger, "reserve", fails)
    run = Once()
    with pytest.raises((LedgerError, SpentError)) as caught:
        ask(InLedger(path), run)
    assert (caught.value.code, run.runs) == (code, 0)
    if readable:
        assert spent(path) == (PRICE if on_disk else 0.0)


def test_a_call_that_only_asks_spends_and_reads_nothing(path: Path) -> None:
    run = Once()
    with pytest.raises(OnlyAsked) as caught:
        spend(run, Account(None, path, "a", asking=True))
    assert caught.value.product is run
    assert (run.runs, spent(path)) == (0, 0.0)
    with pytest.raises(BudgetExceeded, match="HG706"):
        spend(run, Account(Budget(0.1, 0.0), path, "a", asking=True))


def test_a_price_at_a_larger_delta_than_the_budget_is_compared_at_that_of_the_budget(path: Path) -> None:
    run = Once()
    # Geometric noise costs ε = ½ at every δ; Gaussian noise has no price at δ = 0.
    run.price = certify(GeometricCounts(2.0, 1), Relation.ADD_REMOVE, unit="row", delta=1e-6)
    assert spend(run, Account(Budget(0.6, 0.0), path, "a")).value == 41
    with pytest.raises(BudgetExceeded, match="HG706"):
        spend(run, Account(Budget(0.4, 0.0), path, "b"))
    run.price = certify(GaussianNoise(20.0, 1.0), Relation.ADD_REMOVE, unit="row", delta=1e-6)
    with pytest.raises(BudgetExceeded, match="more than every"):
        spend(run, Account(Budget(50.0, 0.0), path, "c"))
    assert (run.runs, spent(path)) == (1, PRICE)


def test_a_price_is_rounded_up_before_it_is_compared_with_the_budget(path: Path) -> None:
    """ε = ½ is stated as .500001: a budget of .5000005 does not cover what the certificate would say."""
    run = Once()
    run.price = certify(GeometricCounts(2.0, 1), Relation.ADD_REMOVE, unit="row", delta=1e-6)
    with pytest.raises(BudgetExceeded, match="HG706") as caught:
        spend(run, Account(Budget(0.5000005, 0.0), path, "a"))
    assert (caught.value.requested, caught.value.remaining, run.runs) == (PRICE, 0.5000005, 0)
    assert spend(run, Account(Budget(PRICE, 0.0), path, "a")).value == 41


def test_an_interruption_says_that_a_price_is_spent_from_the_reservation_on(path: Path) -> None:
    nothing_is_spent()
    unspent, told = interrupted(130), []
    with pytest.raises(BudgetExceeded):
        spend(Once(), Account(Budget(0.1, 0.0), path, "a"))
    assert interrupted(130) == unspent
    ask(InLedger(path), Once(step=lambda _: told.append(interrupted(130))))
    assert len(told) == 2 and unspent not in told
    nothing_is_spent()
    assert ask(InLedger(path), Once()).replayed and interrupted(130) == unspent


def test_a_result_that_cannot_be_recorded_warns_where_the_public_function_was_called(path: Path) -> None:
    def fails(step: str) -> None:
        if step == "written":
            raise ValueError("cell 8151")

    def public(product: Once) -> Counted:
        return spend(product, Account(None, path, "a"))

    with pytest.warns(HedgerowWarning, match="HG606") as warned:
        result, line = public(Once(step=fails)), currentframe().f_lineno
    assert [(one.filename, one.lineno) for one in warned] == [(__file__, line)]
    assert result.unrecorded and result.ledger_head is None and "HG606" in result.notes[0] and spent(path) == PRICE


def test_prices_together_are_those_of_one_composition() -> None:
    both = price_together([], 0.0, [price(0.5), price(0.25)])
    assert 0.75 <= both <= 0.75 + 2e-6
    assert price(0.5).epsilon < price_together([], 1e-3, [price(0.5), price(0.25)]) < both
    assert price_together([], 0.0, [price(0.5)]) == price(0.5).epsilon
    assert price_together([], 1e-6) == 0.0
    gaussian = certify(GaussianNoise(20.0, 1.0), Relation.ADD_REMOVE, unit="row", delta=1e-6)
    assert price_together([], 0.0, [gaussian]) == math.inf


def test_an_account_is_that_of_the_facts_and_a_receipt_says_what_is_missing(path: Path) -> None:
    assert Account.of(None, path, "a") == Account(None, path, "a")
    on_record, uncounted = receipts()
    assert "HG606" in on_record and on_record == str(not_on_record())
    without = spend(Once(), Account(Budget(0.6, 0.0), None))
    assert uncounted in without.notes
    assert uncounted not in spend(Once(), Account(Budget(0.6, 0.0), path, "a")).notes
