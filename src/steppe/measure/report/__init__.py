"""Measurements for readers: texts for a terminal, comparisons, pictures, one HTML file."""
