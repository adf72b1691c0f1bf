"""The room `api`."""
