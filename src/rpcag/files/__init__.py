"""Matrices, graphs and decompositions in files."""
