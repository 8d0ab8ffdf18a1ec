"""The paper's other experiments: runs of the same kind as those of the clustering.

Every module has a frozen run, ``plan(**options)`` that lists tasks for
`rpcag_study.run`, ``tables(records)``, and in QUICK the options of a taste of it.
"""
