"""Mechanisms that answer a look: one file each."""
