"""A server that keeps the labels of a test set: submitters send predictions and get noisy scores, and nothing else.

`service` answers a request, whatever carries it, and refuses files that others can read; `over_http` carries it over
HTTP, on a Unix socket or on this machine alone; `client` asks from Python. See ``docs/how_to/serve_a_test_set.md``.
"""
