"""Air chemistry: mechanisms, which are species and their reactions, are read from files, and their rates are computed for many cells."""
