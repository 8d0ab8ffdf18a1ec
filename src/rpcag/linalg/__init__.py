"""Linear algebra the terms stand on: thresholded spectra, shifted Laplacians, blocks."""
