"""Where a server is and in what state: addresses, own instances, shards, locks, marks, what rows survive."""
