"""Mechanisms that find corrections: one file each."""
