"""hedgerow: private statistics with honest error bars.

An engine counts the data into a histogram, and a mechanism makes a noisy table from it. Everything that is computed
from the noisy table is post-processing, which costs no privacy::

    file or frame ──engines──▶ histogram ──resampling──▶ integers ──noise──▶ noisy table ──inference──▶ estimates
                                                                    ▲
         facts: what is declared ──▶ mechanisms: what is drawn ─────┴──accounting: its price──▶ certificate

Each layer imports only from layers below it; modules on one line do not import each other::

    asked_in_python                       `hg.request`: a command that is asked for, not run
    cli                                   the commands of the terminal
    demo                                  a synthetic survey, and a release of it
    reports                               a release as an HTML page; `verify` recomputes the price of a record
    audit                                 attacks on every mechanism
    testing                               seeded noise for studies: not private, never certified
    survey                                `open`, and the methods of an opened source
    tables | testset | multicalibration | find   tables; scores on a test set; calibrated classifiers; bounds found
    synthetic                             files of synthetic rows from released margins, and how to pool what they tell
    release                               plans, prices, reads data, adds noise, certifies, writes results
    statistics                            one file per statistic: features, function, limits, how users ask for it
    inference | ledger | engines          estimates from noisy tables; what was spent; histograms of any source
    mechanisms                            one frozen description per mechanism, for the sampler and the accountant
    accounting | noise | resampling | plots   privacy curves; integer noise; bootstrap weights; figures
    approval                              requests of one person that another person signs
    facts                                 what is public and declared: relation, unit, budget, columns
    formats                               one file per file format that can be read
    keywords                              refuses unknown keywords and names the nearest known one
    errors                                errors and their codes
    inputs | interrupts | user_code       files not to overwrite; signals; functions of the user

>>> import hedgerow as hg
>>> hg.mean("age", bounds=(0, 100), step=1)
Mean(column='age', bounds=(0, 100), step=1)
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow.version import __version__

if TYPE_CHECKING:
    from hedgerow.asked_in_python import request
    from hedgerow.errors import (
        ApprovalError,
        BudgetExceeded,
        DataError,
        FactsError,
        ForbiddenError,
        HedgerowError,
        HedgerowWarning,
        LedgerError,
        ParameterError,
        SpentError,
        UncertifiedError,
        UnknownKeywordError,
        VerificationError,
    )
    from hedgerow.facts.columns import bands, column
    from hedgerow.facts.declared import ColumnFacts, Facts
    from hedgerow.inference.estimate import Estimate
    from hedgerow.inference.interval import Interval
    from hedgerow.regression.model_table import models
    from hedgerow.release import bootstrap_dp
    from hedgerow.release.combine import combine
    from hedgerow.release.result import Release
    from hedgerow.statistics.covariance import correlation, covariance
    from hedgerow.statistics.distribution.cdf import cdf
    from hedgerow.statistics.distribution.gini import gini
    from hedgerow.statistics.distribution.histogram import histogram
    from hedgerow.statistics.distribution.lorenz import lorenz
    from hedgerow.statistics.distribution.quantile import quantile
    from hedgerow.statistics.distribution.share_below import share_below
    from hedgerow.statistics.mean import count, mean, sum
    from hedgerow.statistics.own_functions import bootstrap, function
    from hedgerow.statistics.proportion import proportion
    from hedgerow.statistics.ratio import ratio
    from hedgerow.statistics.survival import survival
    from hedgerow.statistics.variance import standard_deviation, variance
    from hedgerow.survey import Survey, open
    from hedgerow.synthetic.pooling import pool

__all__ = [
    "ApprovalError",
    "BudgetExceeded",
    "ColumnFacts",
    "DataError",
    "Estimate",
    "Facts",
    "FactsError",
    "ForbiddenError",
    "HedgerowError",
    "HedgerowWarning",
    "Interval",
    "LedgerError",
    "ParameterError",
    "Release",
    "SpentError",
    "Survey",
    "UncertifiedError",
    "UnknownKeywordError",
    "VerificationError",
    "__version__",
    "bands",
    "bootstrap",
    "bootstrap_dp",
    "cdf",
    "column",
    "combine",
    "correlation",
    "count",
    "covariance",
    "function",
    "gini",
    "histogram",
    "lorenz",
    "mean",
    "models",
    "open",
    "pool",
    "proportion",
    "quantile",
    "ratio",
    "request",
    "share_below",
    "standard_deviation",
    "sum",
    "survival",
    "variance",
]

# Where each name is defined; a statistic in the file of its name, an error among the errors. It is imported when it
# is asked for: the command line must be able to end quietly, on a signal, before all of hedgerow is imported.
_HOMES = {
    "combine": "hedgerow.release.combine",
    "Release": "hedgerow.release.result",
    "bootstrap_dp": "hedgerow.release",
    "bands column": "hedgerow.facts.columns",
    "ColumnFacts Facts": "hedgerow.facts.declared",
    "Estimate": "hedgerow.inference.estimate",
    "Interval": "hedgerow.inference.interval",
    "models": "hedgerow.regression.model_table",
    "Survey open": "hedgerow.survey",
    "request": "hedgerow.asked_in_python",
    "pool": "hedgerow.synthetic.pooling",
    # Statistics that share a file, or stand in a folder.
    "bootstrap function": "hedgerow.statistics.own_functions",
    "cdf": "hedgerow.statistics.distribution.cdf",
    "correlation": "hedgerow.statistics.covariance",
    "count sum": "hedgerow.statistics.mean",
    "gini": "hedgerow.statistics.distribution.gini",
    "histogram": "hedgerow.statistics.distribution.histogram",
    "lorenz": "hedgerow.statistics.distribution.lorenz",
    "quantile": "hedgerow.statistics.distribution.quantile",
    "share_below": "hedgerow.statistics.distribution.share_below",
    "standard_deviation": "hedgerow.statistics.variance",
}

# Names that moved: they work, with a warning, for as long as docs/versions.md says.
_MOVED = ("maximum", "minimum", "own_function")

if not TYPE_CHECKING:  # a type checker would let every name pass

    def __getattr__(name: str) -> Any:
        if name in _MOVED:
            message = f"hedgerow.{name} is now hedgerow.bootstrap_dp.{name}; the old name will be removed."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(import_module("hedgerow.release.bootstrap_dp"), name)
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        homes = [home for names, home in _HOMES.items() if name in names.split()]
        errors = "hedgerow.errors" if name[0].isupper() else f"hedgerow.statistics.{name}"
        home = homes[0] if homes else errors
        return import_module(f"{home}.{name}") if name == "bootstrap_dp" else getattr(import_module(home), name)

    def __dir__() -> list[str]:
        return sorted(__all__)
