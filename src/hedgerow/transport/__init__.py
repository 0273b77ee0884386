"""HTTP for servers of this machine: addresses, limits, and the server that holds every size and time.

`address` says where a server listens, `limits` how much it takes, and `local_server` carries requests and answers. The
server of a test set and the desk of two people say what they answer.
"""
