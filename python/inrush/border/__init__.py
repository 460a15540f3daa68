"""What crosses between Python and Rust, as types: the plan, both ends of a load, events, the tables of a run."""
