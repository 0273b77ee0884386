"""The step before data are read: reserve the price. Without a ledger it does nothing, behind the same interface."""

from __future__ import annotations

from typing import Protocol

from hedgerow.accounting.certificate import Certificate

__all__ = ["NoLedger", "Reservation", "Spending"]


class Reservation(Protocol):
    """A price that is spent from here on, whatever happens."""

    def record(self, result: str) -> None:
        """Keep the released bytes beside the entry."""
        ...


class Spending(Protocol):
    """Where prices are reserved."""

    def reserve(self, certificate: Certificate) -> Reservation:
        """Make the price durable, or refuse it with `BudgetExceeded`; nothing was read yet."""
        ...


class NoLedger:
    """No budget is kept: every call carries its own certificate, and their prices add up."""

    def reserve(self, certificate: Certificate) -> NoLedger:
        """Do nothing."""
        return self

    def record(self, result: str) -> None:
        """Do nothing."""
