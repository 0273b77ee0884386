"""Requests of one person that another person approves: documents, keys and signatures."""
