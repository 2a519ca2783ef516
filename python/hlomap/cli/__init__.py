"""The command line; a separate package, so that no other module depends on arguments, printing or exit codes."""
