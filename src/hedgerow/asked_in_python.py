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
    """Write a request for a result that another person must approve, from public facts alone.

    Writing a request reads no data and spends no budget.

    The price of the request is an upper bound on the privacy loss: ε at a stated δ. A ledger with approvers runs each
    request that the approvers signed, and runs it only once.

    Parameters
    ----------
    command : str
        The command of the shell without the word ``hedgerow`` and without the data file: ``"release --count --by
        sex=0,1 --epsilon 1"``. A request can hold every command that spends budget: ``release``, ``table``,
        ``margins``, ``ols``, ``logit``, ``find``.
    facts : path or mapping, optional
        The public facts about the data: a path of a facts file (``hedgerow.toml``), or the content of a facts file. The
        request leaves out the paths of the data and of the ledger that the facts name.
    n : int, optional
        The public number of records, under the neighbouring relation replace-one. Under add-remove the number is
        private, and `n` is a guess that the forecast of errors uses.
    asked_by, purpose : str
        The person who asks, and the purpose of the result.
    until : str
        The last day (UTC) on which the request may run, such as ``"2026-12-31"``.

    Returns
    -------
    WrittenRequest
        The request, with its words (``.in_words``), its price (``.epsilon``) and the errors to expect (``.expected``).
        The method ``.to_json()`` returns the text of the file that the command `hedgerow approve` signs.

    Raises
    ------
    ParameterError
        HG116: the command cannot be understood. HG321: the command names data or asks for no result, or a text is
        missing.
    HedgerowError
        The errors that the command itself raises before it reads data.

    Examples
    --------
    >>> import hedgerow as hg
    >>> about = {"asked_by": "bob", "purpose": "monthly report", "until": "2999-12-31"}
    >>> asked = hg.request("release --count --by sex=0,1 --relation add-remove --epsilon 0.5", **about)
    >>> asked.in_words, asked.epsilon <= 0.5
    (('number of records', 'by sex: 0, 1', 'Records outside the declared categories are left out.'), True)
    """
    # All commands are loaded here, not with the interface.
    from hedgerow.cli.verbs.asking import make_request
    from hedgerow.facts.facts_file import record_of_file

    verb, *words = shlex.split(command) or [""]
    declared = facts if facts is None or isinstance(facts, Mapping) else record_of_file(facts)
    return make_request(verb, words, facts=declared, n=n, asked_by=asked_by, purpose=purpose, until=until)
