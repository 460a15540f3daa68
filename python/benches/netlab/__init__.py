"""Hosts of a cluster on one machine, with names and clocks of their own and slow, lossy ways between them.

Namespaces of the kernel, because containers have the machine's clock and need a daemon, many kernels lack netem, and a
proxy between two sockets loses no packets.
"""
