//! The columns of a table of tiles, each declared once.

/// A column of one number for each candidate, or for each candidate and array.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// The columns of a table, row by row; those of arrays have one value for each read. A count that does not fit into
        /// 64 bits is -1.
        #[derive(Clone, Debug, Default)]
        pub struct Columns {
            $($(#[$doc])* pub $name: Vec<$kind>,)*
        }

        /// The requested columns. The others stay empty.
        #[derive(Clone, Debug, Default)]
        pub struct Wanted {
            $($(#[$doc])* pub $name: bool,)*
        }

        impl Wanted {
            /// The columns with these names, or all.
            pub fn of(names: Option<&[String]>) -> Wanted {
                let is_wanted = |name: &str| names.is_none_or(|names| names.iter().any(|wanted| wanted == name));
                Wanted { $($name: is_wanted(stringify!($name)),)* }
            }
        }

        impl Columns {
            /// Allocates the rows of `n` candidates.
            pub(super) fn with_capacity(n: usize, n_reads: usize, wanted: &Wanted) -> Columns {
                let n = n.saturating_mul(n_reads.max(1));
                Columns { $($name: Vec::with_capacity(if wanted.$name { n } else { 0 }),)* }
            }

            pub(super) fn append(&mut self, mut other: Columns) {
                $(self.$name.append(&mut other.$name);)*
            }
        }
    };
}

columns! {
    /// Whether every read is a box and every rule holds.
    legal: bool,
    /// 0, or the number of the first reason against the candidate.
    reason: i16,
    /// Tiles of the output.
    grid: i64,
    /// Steps of the innermost loops over sequential parameters.
    steps: i64,
    /// Bytes of the box of the largest tile.
    tile_bytes: i64,
    /// Whether `tile_bytes` is exact.
    tile_bytes_exact: bool,
    /// Elements of tight boxes per element read.
    waste: f64,
    /// Whether `waste` is exact.
    waste_exact: bool,
    /// Bytes that all tiles read, each counted in every tile.
    read_bytes: i64,
    /// Whether `read_bytes` is exact.
    read_bytes_exact: bool,
    /// Bytes that tiles read, each counted once.
    distinct_bytes: i64,
    /// Whether `distinct_bytes` is exact.
    distinct_bytes_exact: bool,
    /// `read_bytes / distinct_bytes`.
    reread: f64,
    /// Bytes of the longest contiguous run of any tile in memory.
    run_bytes: i64,
    /// Whether `run_bytes` is exact.
    run_bytes_exact: bool,
    /// Sectors of the largest tile, read run by run, averaged over the places where runs begin.
    sectors: i64,
    /// Whether `sectors` is that number at every place.
    sectors_exact: bool,
    /// `tile_bytes` per byte of these sectors.
    efficiency: f64,
    /// Bytes that all tiles write.
    write_bytes: i64,
    /// Bytes of the largest tiles of everything that is read and written.
    live_bytes: i64,
    /// Bytes of shared memory.
    smem_bytes: i64,
    /// Bytes that must come from memory, each once.
    dram_bytes_lower: i64,
    /// Bytes of all sectors of all tiles, without any caching.
    dram_bytes_upper: i64,
    /// Rounds of blocks on the device; 0 if the device is unknown.
    waves: i64,
    /// Blocks of the last round.
    tail: i64,
    /// Blocks that a multiprocessor holds at once.
    occupancy: i64,
}
