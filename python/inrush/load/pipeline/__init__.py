"""Loads: input files → client processes → load server → tables or shards, timed file by file, watched by role, proven.

`addresses` fills in where the study runs; in the worker `run` is the whole run, with a `loading` for each load, made of
`inputs` (files before the clock), `ends` (the processes), `proofs` and `tables` (the border out).
"""
