"""A server that keeps the labels of a test set: submitters send predictions and get noisy scores, and nothing else.

`service` answers a request, whatever carries it; `transport` carries it over HTTP, on a Unix socket or on this machine
alone; `custody` refuses files that others can read; `client` asks from Python. See ``docs/how_to/serve_a_test_set.md``.
"""
