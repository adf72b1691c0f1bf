"""The room `comm`."""
