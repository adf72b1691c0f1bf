"""Run folders: their files, locks and progress, what may be removed, and ensembles of runs."""
