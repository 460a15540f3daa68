"""An archive at sixteen times the rows: what was claimed before it was loaded, and what came of it.

`growth.toml` is the study and `work.toml` its table. It was trained with the rows of the file, the claims were frozen and
committed, then it was run with 3,200,000 rows. `claims` has the claims and, once they are proven, their scores.
"""
