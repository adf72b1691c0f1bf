"""The store: reading, writing, checkpoints, beside what others offer."""
