"""Checkpoints: the state of a run, written by all ranks and verified when it is read."""
