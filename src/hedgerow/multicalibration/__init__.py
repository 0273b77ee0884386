"""Multicalibration with privacy: a classifier's scores made right in every group."""
