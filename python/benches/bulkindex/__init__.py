"""Loads of a key index file by file, beside the published one of LSST Qserv."""
