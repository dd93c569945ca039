"""
Stub
====
"""

print(1)
