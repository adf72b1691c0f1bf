"""Results of a run on their way to the disk: the store, its arrays, and the writer behind the run."""
