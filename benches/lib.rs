//! What the benches share: the sample modules and the map cases.
