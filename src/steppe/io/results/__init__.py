"""Results of runs, and forcing stores, as xarray datasets or plain arrays; every chunk is verified when it is read."""
