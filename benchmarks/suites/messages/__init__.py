"""`steppe measure messages` beside plain C programs, and beside the OSU micro-benchmarks where somebody has them."""
