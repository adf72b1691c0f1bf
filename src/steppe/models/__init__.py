"""The room `models`."""
