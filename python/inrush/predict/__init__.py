"""From measured results to frozen claims, and from claims to scores: `model` does the mathematics."""
