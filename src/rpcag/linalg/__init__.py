"""Linear algebra under the terms: thresholded spectra, shifted Laplacians, blocks."""
