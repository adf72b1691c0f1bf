"""The room `kernels`."""
