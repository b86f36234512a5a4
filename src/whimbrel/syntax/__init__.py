"""From bytes to a lossless tree that knows no directive."""
