"""Doing it: targets, workers, their events, resume, the machine they ran on."""
