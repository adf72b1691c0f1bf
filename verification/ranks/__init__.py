"""The same run on many processes: the same bytes, whoever computes, stops or is killed."""
