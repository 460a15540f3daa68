"""What crosses between Python and Rust, as types: the plan, both ends of a load, the events of a run."""
