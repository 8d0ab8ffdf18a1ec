"""Pages to look at in a browser: one HTML file each, complete in itself.

No server, no network, no library: what a page shows is embedded in it, and a content
security policy forbids it to load anything or to run any script but its own.
"""
