"""Reserve, run, record: the order holds whatever is released, and a failure in the middle stays spent."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hedgerow.engines.reading import unreachable
from hedgerow.errors import BudgetExceeded, DataError, LedgerError, SpentError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import Composition, GeometricCounts
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.spend import Account, InLedger, NoLedger, Receivable, Spending, run_unpriced, spend
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
