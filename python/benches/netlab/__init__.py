"""Hosts of a cluster on one machine, with names and clocks of their own and slow, lossy ways between them."""
