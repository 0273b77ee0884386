"""The price of resampled releases."""
