"""HTML pages, each a single self-contained file.

A page needs no server, network or library. All data are embedded, and a content
security policy forbids it to load anything or to run any other script.
"""
