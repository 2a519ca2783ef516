"""Shardings as maps: which element of an array lies on which device, and what must move between devices.

Read :mod:`hlomap.shardings.assignment` first: every form of a sharding becomes tiles in an order of devices.
:mod:`~hlomap.shardings.device_maps` writes that as indexing maps.
"""
