"""What threads do to memory: sectors and bytes of accesses, and the elements that are read at all.

``coalescing`` and ``utilization`` hold the questions.  Both are answered from maps and shapes alone.
"""
