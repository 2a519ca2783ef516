"""What a compiler changed: two modules side by side, and the stages of a dump one after another."""
