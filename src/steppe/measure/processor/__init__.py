"""The processor and its memory: streams, random reads, arithmetic, functions."""
