"""What was measured: figures of runs, and what can be said of many numbers. Pure."""
