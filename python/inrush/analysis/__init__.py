"""From the runs of a study to its answer: points, what makes them comparable, the answer, published claims. Pure."""
