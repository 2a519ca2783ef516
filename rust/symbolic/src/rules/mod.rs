//! Every law of the simplifier, grouped by where it applies.
//!
//! A rule is a named law with a side condition; it does nothing where it does not apply. Laws on the way up work on
//! linear forms ([`div`], [`other`]) or on the domain ([`constraint`]); laws on the way back ([`mod@write`]) choose the
//! shortest expression for a form; [`dependent`], [`free`] and [`stairs`]
//! look at the values of a whole result. The measure: on the way up
//! each step lowers (number of quotients, size of numerators and divisors), on the way back each step lowers (div/mod
//! nodes, nodes) of what is written.
//! [`NAMES`] is the list that the coverage check of the rule tests goes by.

pub mod constraint;
pub mod dependent;
pub mod div;
pub mod free;
pub mod other;
pub mod plain;
pub mod related;
pub mod stairs;
pub mod write;

use crate::work::Work;

/// The number of a rule, which is its place in [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "each name is explained at its law")]
pub enum Rule {
    Multiples,
    Collapse,
    DigitMultiples,
    FewValues,
    CommonFactor,
    Nested,
    NestedNegative,
    ReduceCoefficients,
    BalancedCollapse,
    LeadingSign,
    OtherCollapse,
    OtherMultiple,
    ProductContent,
    Order,
    Related,
    Equality,
    RemainderQuotient,
    WriteMod,
    WriteDigit,
    AbsorbConstant,
    AbsorbTerm,
    FlipSign,
    ConstraintContent,
    ConstraintQuotient,
    ConstraintResidue,
    ConstraintImplied,
    ConstraintContradicts,
    ConstraintFixed,
    Propagate,
    ResidueEnds,
    ResidueRounds,
    MergeResidues,
    Rescale,
    PointVariable,
    MergeRuntime,
    FreeVariable,
    Complement,
    TwoPieces,
    BalancedTerms,
    Stairs,
    DependentQuotient,
}

/// The names of all rules, in the order of [`Rule`].
pub const NAMES: [&str; 41] = [
    "multiples",
    "collapse",
    "digit-multiples",
    "few-values",
    "common-factor",
    "nested",
    "nested-negative",
    "reduce-coefficients",
    "balanced-collapse",
    "leading-sign",
    "other-collapse",
    "other-multiple",
    "product-content",
    "order",
    "related",
    "equality",
    "remainder-quotient",
    "write-mod",
    "write-digit",
    "absorb-constant",
    "absorb-term",
    "flip-sign",
    "constraint-content",
    "constraint-quotient",
    "constraint-residue",
    "constraint-implied",
    "constraint-contradicts",
    "constraint-fixed",
    "propagate",
    "residue-ends",
    "residue-rounds",
    "merge-residues",
    "rescale",
    "point-variable",
    "merge-runtime",
    "free-variable",
    "complement",
    "two-pieces",
    "balanced-terms",
    "stairs",
    "dependent-quotient",
];

impl Work {
    /// Notes that a rule fired.
    pub(crate) fn fire(&mut self, rule: Rule) {
        self.tally.fired |= 1 << rule as u8;
    }
}
