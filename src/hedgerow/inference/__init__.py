"""Read noise back: plain numbers in, estimates and intervals out. Post-processing, so it costs nothing."""
