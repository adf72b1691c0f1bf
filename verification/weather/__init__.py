"""Weather spread from stations, beside stations left out and published means (shared data, `weather` and `normals`)."""
