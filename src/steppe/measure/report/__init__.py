"""Measurements as people read them: texts for a terminal, comparisons, pictures, one HTML file."""
