"""Shardings as maps: which element of an array lies on which device, and what must move between devices.

:mod:`hlomap.shardings.assignment`: every form of a sharding becomes tiles in an order of devices
(``orders.py``).  ``device_maps.py`` writes that as indexing maps, ``tiles.py`` as arrays.  ``moves.py`` compares
the shardings of many arrays, ``reshard.py`` has the answer for one, ``reshards.py`` those for many; ``program.py``,
``partition.py`` and ``columns.py`` ask a module.
What XLA's partitioner does is not here: the answers hold for any.
"""
