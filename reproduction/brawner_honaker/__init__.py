"""Brawner and Honaker (2018), *Bootstrap Inference and Differential Privacy: Standard Errors for Free*, done again.

One file an exhibit, each with the figures it expects and its tolerance at the top; `run` writes one page of them all.
Only hedgerow's public interface and `hedgerow.testing` are used, but for `theory` and `general_bound`: these compute
prices that no release states, with the accountant's own engine.
"""
