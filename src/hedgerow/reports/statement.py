"""A record under bootstrap differential privacy, as `hedgerow verify` meets it: read, and refused for what it is."""

from __future__ import annotations

from hedgerow.errors import UncertifiedError
from hedgerow.mechanisms.bootstrap_statement import GUARANTEE, BootstrapStatement


def refuse_statement(record: object) -> None:
    """Do nothing for any other record; a statement of bootstrap-dp cannot be priced anew from itself alone.

    Raises
    ------
    UncertifiedError
        HG415: it is a statement, well formed.
    VerificationError
        HG502: it is one that was altered.

    Examples
    --------
    >>> refuse_statement({"mechanism": {}})
    """
    stated = record.get("certificate", record) if isinstance(record, dict) else record
    about = record.get("table") if isinstance(record, dict) else None
    named = [part.get("guarantee") for part in (stated, about) if isinstance(part, dict)]
    if GUARANTEE not in named:
        return
    statement = BootstrapStatement.from_dict(stated)
    raise UncertifiedError(
        "HG415",
        rule="A price is verified by computing it anew from the record alone.",
        finding=f"This record states epsilon = {statement.epsilon:.6g} of bootstrap-dp, {statement.relation}: that is "
        "NOT differential privacy, and the scale of its noise follows from the data, which the record must not tell.",
        remedy="Only D's custodian can check it, with the data; whoever has the record has the custodian's word.",
    )
