"""The room `io`."""
