"""Laws of times: t0 + n / r_inf for sizes, families in the number of ranks p, predictions, weaknesses. They know numbers alone."""
