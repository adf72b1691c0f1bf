"""The server's end: the journal of commands, exactly-once, and supervision of engines. It never imports the engine's end."""
