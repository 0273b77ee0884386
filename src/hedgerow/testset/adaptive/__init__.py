"""Intervals that hold for models fitted to earlier answers, what attacks gain, and plans of looks."""
