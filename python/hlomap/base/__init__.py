"""What every other package uses: arguments and their errors, answers, element types, devices, text, files, children.

``types`` is the module to read first.  Nothing here knows of HLO or of maps but by their compiled classes.
"""
