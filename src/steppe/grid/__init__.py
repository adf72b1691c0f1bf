"""The room `grid`."""
