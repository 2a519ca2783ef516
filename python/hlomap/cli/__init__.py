"""The command line, in its own package so that no other module depends on arguments, printing or exit codes."""
