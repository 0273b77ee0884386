"""`hedgerow ols` and `hedgerow logit`."""
