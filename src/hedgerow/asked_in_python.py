"""`hedgerow.request`: what a command of the shell would release, asked for from Python."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.keywords import takes

if TYPE_CHECKING:
    from hedgerow.approval.written_request import WrittenRequest


@takes()
def request(
    command: str,
    *,
    facts: str | Path | Mapping[str, Any] | None = None,
    n: int | None = None,
    asked_by: str,
    purpose: str,
    until: str,
) -> WrittenRequest:
    """Ask for a result that another person approves, from public facts alone. Nothing is read or spent.

    The price of the request is an upper bound on ε at its δ. A ledger with approvers releases what they signed, once.

    Parameters
    ----------
    command : str
        The command of the shell without ``hedgerow`` and without data: ``"release --count --by sex=0,1 --epsilon 1"``.
        Every command that spends can be asked for: ``release``, ``table``, ``margins``, ``ols``, ``logit``, ``find``.
    facts : path or mapping, optional
        The facts file (``hedgerow.toml``), or its content. The paths of data and ledger in it are left out.
    n : int, optional
        The number of records, under replace-one. Under add-remove it is a guess for the forecast.
    asked_by, purpose : str
        Who asks, and what the result is for.
    until : str
        The last day (UTC) on which the request may run, such as ``"2026-12-31"``.

    Returns
    -------
    WrittenRequest
        The request: ``.in_words``, ``.epsilon`` and ``.expected`` say what is asked, the price and the errors to
        expect. ``.to_json()`` is the text of the file that `hedgerow approve` signs.

    Raises
    ------
    ParameterError
        HG116: the command cannot be understood. HG321: it names data or asks for nothing, or a text is missing.
    HedgerowError
        The errors that the command raises before data are read.

    Examples
    --------
    >>> import hedgerow as hg
    >>> about = {"asked_by": "bob", "purpose": "monthly report", "until": "2999-12-31"}
    >>> asked = hg.request("release --count --by sex=0,1 --relation add-remove --epsilon 0.5", **about)
    >>> asked.in_words, asked.epsilon <= 0.5
    (('number of records', 'by sex: 0, 1'), True)
    """
    # All commands are loaded here, not with the interface.
    from hedgerow.cli.verbs.asking import make_request
    from hedgerow.facts.facts_file import record_of_file

    verb, *words = shlex.split(command) or [""]
    declared = facts if facts is None or isinstance(facts, Mapping) else record_of_file(facts)
    return make_request(verb, words, facts=declared, n=n, asked_by=asked_by, purpose=purpose, until=until)
