"""O'Keefe and Charest (2019), *Bootstrap Differential Privacy*, done again: their rice farms, and what is true of them.

One file an exhibit, each with the figures it expects and its tolerance at the top; `run` writes one page of them all.
Only hedgerow's public interface, `hedgerow.audit` and `hedgerow.testing` are used.
"""
