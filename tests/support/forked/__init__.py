"""Programs of gpudb, forked from a process that has imported what they import: their start costs nothing else."""
