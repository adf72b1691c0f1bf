"""The engine's end: receives orders, steps a session, reports results. It never imports the server's end."""
