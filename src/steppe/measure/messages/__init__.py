"""Messages between ranks: what is sent, the timed loops, clocks of ranks beside each other, recipes of two papers."""
