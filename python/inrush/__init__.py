"""inrush: how much data a database can take in and give back, predicted and proven."""
