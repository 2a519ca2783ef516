//! Arithmetic operations: how a rule says that those of an instruction are counted, and what comes of it. Who counts them
//! stands above this crate.

named! {
    /// How the arithmetic operations of an instruction are counted.
    #[derive(Default)]
    Work {
        /// No operations are known.
        #[default]
        Unknown = "unknown";
        /// Elements are moved or made, and nothing is computed.
        Moves = "moves";
        /// One flop for each element of the output.
        Each = "each";
        /// One transcendental operation for each element of the output.
        Transcendental = "transcendental";
        /// The called computation for each element of the output.
        Applied = "applied";
        /// Two flops for each read of operand 0.
        MultiplyAdds = "multiply-adds";
        /// The called computation for each read of operand 0 but the first of every output element.
        Reduced = "reduced";
        /// As a function of the operation counts them.
        Counted = "counted";
        /// The called computation, once.
        Once = "once";
        /// Computations that run repeatedly.
        Loop = "loop";
        /// One of some computations.
        Branch = "branch";
    }
}

impl Work {
    /// The way of counting with a name.
    pub fn named(name: &str) -> Work {
        Work::ALL.iter().copied().find(|work| work.name() == name).unwrap_or_default()
    }
}

/// The arithmetic of an instruction outside fused computations. `None` is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arithmetic {
    /// Arithmetic operations on the elements that are needed.
    pub flops: Option<i64>,
    /// Functions such as `exp`, which take several operations each.
    pub transcendentals: Option<i64>,
    /// The number of evaluated operations per needed one.
    pub recomputed: Option<f64>,
}
