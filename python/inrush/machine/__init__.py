"""The machine that inrush runs on: its facts, its noise, and probes of what it can do."""
