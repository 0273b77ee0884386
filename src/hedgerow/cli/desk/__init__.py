"""`hedgerow desk`: a local page on which one person asks and another approves; files and ledger stay what they are.

`form` turns what was filled in into the words of a command, `papers` keeps the requests and their signatures as files,
`desk_server` shows both in a browser, and `opening` is the command.
"""
