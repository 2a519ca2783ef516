//! What a program costs: operations, requests of memory, tiles, and the table of a module.
//!
//! Costs are counts of the maps that [`flow`] composes. A [`arithmetic::Counter`] counts arithmetic operations,
//! [`requests`] what the threads of a grid move, and [`tile_table`] what tiles of given sizes move; [`rows`] tabulates a
//! module, [`columns`] gives its values, and [`arrow`] writes them. A count that is not exact says so, and is then a bound.
//!
//! Each module imports only modules that `lib.rs` declares before it.

mod tuning;

pub mod requests;

pub mod tiles;

pub mod tile_table;

mod bitcasts;
mod trip_counts;

pub mod operations;

pub mod rules;

pub mod arithmetic;

pub mod rows;

pub mod columns;

pub mod arrow;
