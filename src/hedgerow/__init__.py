"""hedgerow: private statistics with honest error bars.

Data enter as a histogram, leave as a noisy additive table, and everything else is post-processing::

    file / frame / Spark ──engines──▶ histogram ──resampling──▶ integers ──noise──▶ noisy table ──inference──▶ estimates
                                          ▲                                     │
             privacy: what was promised ──┴──── accounting: what it costs ──────┴──▶ certificate

A folder is a noun, a file is one idea, imports point down only::

    cli | demo                            verbs for the terminal · the embedded population
    reports | audit                       pages for people · tries to break everything below
    testing                               seeded stand-ins, for studies: marked, never certified
    survey                                hg.open and its methods
    tables | testset | multicalibration   what people come for; never import each other
    release                               the one place that spends budget and touches data
    statistics                            one file a statistic: features, function, limits, words
    inference | ledger | engines          read noise back · remember spending · fetch histograms
    accounting | noise | resampling | plots   price · draw · repeat · numbers in, axes out
    privacy                               who is protected, how much, by what mechanism
    keywords                              what a call takes, and the nearest name of what it does not
    errors

>>> import hedgerow as hg
>>> hg.mean("age", bounds=(0, 100), step=1)
Mean(column='age', bounds=(0, 100), step=1)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow.version import __version__

if TYPE_CHECKING:
    from hedgerow.errors import (
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
    from hedgerow.facts.declared import ColumnFacts, Facts
    from hedgerow.inference.estimate import Estimate, Interval
    from hedgerow.release.combine import combine
    from hedgerow.release.result import Release
    from hedgerow.statistics.bootstrap import bootstrap
    from hedgerow.statistics.count import count
    from hedgerow.statistics.mean import mean
    from hedgerow.statistics.proportion import proportion
    from hedgerow.statistics.quantile import quantile
    from hedgerow.statistics.ratio import ratio
    from hedgerow.statistics.standard_deviation import standard_deviation
    from hedgerow.statistics.sum import sum
    from hedgerow.statistics.variance import variance
    from hedgerow.survey import Survey, open

__all__ = [
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
    "bootstrap",
    "combine",
    "count",
    "mean",
    "open",
    "proportion",
    "quantile",
    "ratio",
    "standard_deviation",
    "sum",
    "variance",
]

# Where each name is defined; a statistic in the file of its name, an error among the errors. It is imported when it
# is asked for: the command line must be able to end quietly, on a signal, before all of hedgerow is imported.
_HOMES = {
    "combine": "hedgerow.release.combine",
    "Release": "hedgerow.release.result",
    "ColumnFacts Facts": "hedgerow.facts.declared",
    "Estimate Interval": "hedgerow.inference.estimate",
    "Survey open": "hedgerow.survey",
}

if not TYPE_CHECKING:  # a type checker would let every name pass

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        homes = [home for names, home in _HOMES.items() if name in names.split()]
        errors = "hedgerow.errors" if name[0].isupper() else f"hedgerow.statistics.{name}"
        return getattr(import_module(homes[0] if homes else errors), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
