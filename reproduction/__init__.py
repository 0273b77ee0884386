"""The papers that hedgerow builds on, done again: one folder a paper, one file an exhibit, one page of them all.

What the folders share stands here: `exhibit` (figures beside figures, a verdict), `drawing`, `page`, `run`, `source`.
"""
