"""Client processes of a run on other hosts, one on each worker of a Dask cluster."""
