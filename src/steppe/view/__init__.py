"""The room `view`."""
