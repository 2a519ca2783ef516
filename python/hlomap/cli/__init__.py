"""The command line: arguments, records of what to show, printing, exit codes; nothing imports it."""
