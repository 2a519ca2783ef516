"""Shardings as maps: the elements of an array on each device, and the data that must move between devices.

:mod:`hlomap.shardings.assignment` turns every form of a sharding into tiles in an order of devices (``orders.py``).
``device_maps.py`` writes these as indexing maps, ``tiles.py`` as arrays.  ``moves.py`` compares the shardings of many
arrays, ``reshard.py`` has the answer for one change, ``reshards.py`` the answers for many; ``program.py``,
``partition.py`` and ``columns.py`` answer questions about a module.
The answers hold for any partitioner, not only XLA's.
"""
