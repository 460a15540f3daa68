"""A pipeline run: input files → client processes → load server → shards, timed file by file, watched by role, proven.

`place` fills in addresses where the study runs; in the worker `drive` is the whole run, made of `inputs` (files before
the clock), `ends` (the processes), `proofs` and `tables` (the border out). `host` is a program of its own.
"""
