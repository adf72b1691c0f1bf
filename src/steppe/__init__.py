"""Steppe runs gridded environmental models in parallel and lets people steer and see them while they run."""
