"""What is asked: study and workload files, read, validated, written."""
