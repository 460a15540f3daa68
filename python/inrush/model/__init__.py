"""What a few small loads say of a large one: laws, models, their intervals, and the score of what was claimed. Pure.

queues     what holds of every queue: Little, Erlang
network    exact throughput of a closed network of pooled and partitioned stations
pipeline   that network, calibrated by small loads: overlap, growing demand, a stage that was not measured
fits       non-negative least squares of relative errors, which every law below is fitted by
scaling    rate against workers: contention and coherency (Amdahl, USL), and rate against batch
work       time against volume, time against machines
curve      the one rule that chooses between laws, and a forecast with its interval
intervals  noise, parameters, and the discrepancy that scored predictions have shown
score      how good a claim was
"""
