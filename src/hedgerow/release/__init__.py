"""The one place that spends budget and touches data."""
