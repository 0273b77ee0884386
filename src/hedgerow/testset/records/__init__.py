"""Labels, predictions and what they score."""
