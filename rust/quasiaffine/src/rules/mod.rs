//! Every law of the simplifier, grouped by where it applies.
//!
//! A rule is a named law with a side condition; it does nothing where it does not apply. Laws on the way up work on
//! affine forms ([`div`], [`nonlinear`]) or on the domain ([`constraint`]); laws on the way back ([`mod@extraction`]) choose the
//! shortest expression for a form; [`dependent_divs`], [`irrelevant_variables`] and [`digital_line`]
//! look at the values of a whole result. The measure: on the way up
//! each step lowers (number of divs, size of numerators and divisors), on the way back each step lowers (div/mod
//! nodes, nodes) of what is written.
//! [`NAMES`] is the list that the coverage check of the rule tests goes by.

pub mod constraint;
pub mod dependent_divs;
pub mod digital_line;
pub mod div;
pub mod extraction;
pub mod irrelevant_variables;
pub mod nonlinear;
pub mod related_divs;

use crate::affine::context::AffineContext;

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
    NonlinearCollapse,
    NonlinearMultiple,
    ProductContent,
    Order,
    Related,
    Equality,
    RemainderDiv,
    ExtractMod,
    ExtractDigit,
    AbsorbConstant,
    AbsorbTerm,
    FlipSign,
    ConstraintContent,
    ConstraintDiv,
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
    IrrelevantVariable,
    Complement,
    TwoPieces,
    BalancedTerms,
    DigitalLine,
    DependentDiv,
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
    "nonlinear-collapse",
    "nonlinear-multiple",
    "product-content",
    "order",
    "related",
    "equality",
    "remainder-div",
    "extract-mod",
    "extract-digit",
    "absorb-constant",
    "absorb-term",
    "flip-sign",
    "constraint-content",
    "constraint-div",
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
    "irrelevant-variable",
    "complement",
    "two-pieces",
    "balanced-terms",
    "digital-line",
    "dependent-div",
];

impl AffineContext {
    /// Notes that a rule fired.
    pub(crate) fn fire(&mut self, rule: Rule) {
        self.tally.fired |= 1 << rule as u8;
    }
}
