"""Fishman, Mugunthan and Garrett Tanzer, *Privacy-preserving post-processing for multicalibration*, done again.

Their Figure 2 on UCI Adult, their two private oracles as printed (they live here only, for they are not private), the
audit that shows it, and the same table for sound mechanisms. One file an exhibit, each with the figures it expects and
its tolerance at the top; `run` writes one page of them all.
"""
