"""The command line, apart so that no other module depends on arguments, printing or exit codes."""
