"""Files: requests of one process, common files and output of many ranks."""
