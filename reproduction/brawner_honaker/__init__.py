"""Brawner and Honaker (2018), *Bootstrap Inference and Differential Privacy: Standard Errors for Free*, done again.

One file an exhibit, each with the figures it expects and its tolerance at the top; `run` writes one page of them all.
Only hedgerow's public interface and `hedgerow.testing` are used, but where prices are computed that no release states
(`theory`, `general_bound`, `naive`), the paper's estimates (`alpha_prime`), and seeded regressions (`regression`).
`partition` is the paper's construction of section 6.3 as it stands.
"""
