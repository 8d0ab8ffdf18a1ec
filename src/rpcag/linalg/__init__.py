"""Linear algebra for the terms: singular values, shifted Laplacians, blocks."""
