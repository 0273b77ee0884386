"""Bounds and categories that nobody declared, found by releases of their own."""
