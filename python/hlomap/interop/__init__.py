"""The only place where packages are imported that not everybody has, or that are slow to import."""
