"""Weather for a run: stores of packed cells or of fields, made, scanned, read ahead and spread among ranks."""
