"""
Digits behind blocks
====================

Test.
"""

print(1)
