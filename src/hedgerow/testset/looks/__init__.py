"""Looks: asked, counted, remembered."""
