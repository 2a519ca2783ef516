"""Changes by a compiler: two modules side by side, and the stages of a dump one after another."""
