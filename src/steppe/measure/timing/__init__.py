"""What every measurement needs: the clock and its cost, the machine, the places of ranks, passes over all series."""
