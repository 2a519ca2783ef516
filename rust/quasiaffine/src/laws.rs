//! Every law of the simplifier, declared once.
//!
//! Read the list below: a rule has a name, a law and the function that applies it, and the stage at which it is tried.
//! A law is a statement that can be checked: identities `a = b`, or equivalent conditions (`is`), under the condition
//! behind `where`; `;` separates them. `x`, `y`, `z` stand for any integers, other letters for constants.
//! `tests/maps/test_laws.py` proves each law with z3, except those that "hold at each value": there the rule itself
//! evaluates both sides at each value. [`Rule`] and [`Rule::ALL`] are generated from it, the list of the laws of
//! division in `rules/mod.rs`; `simplify/mod.rs` makes sure that the functions of the other stages exist. A
//! rule does nothing if its law does not apply. `SIMPLIFY.md` describes the stages, the measure that makes them stop,
//! and how to add a rule.

/// Gives the list to a macro, which makes of it what its module needs; a function is named as that module sees it.
macro_rules! laws {
    ($make:ident) => {
        $make! {
            Reading {
                PointVariable, "point-variable", "x = c  where c <= x <= c", AffineContext::add_variable;
                ExpandMod, "expand-mod", "x mod n = x - n*(x floordiv n)", AffineContext::add_div;
                MergeRuntime, "merge-runtime", "x = y  where both read the same element of the same source", constraints::sources;
                ProductContent, "product-content", "(g*x) * (h*y) = g*h * (x*y)", nonlinear::product;
                NonlinearMultiple, "nonlinear-multiple", "(k*b + r) floordiv b = k + r floordiv b; (k*b + r) mod b = r mod b", nonlinear::floor_div;
                NonlinearCollapse, "nonlinear-collapse", "a floordiv b = 0  where 0 <= a < b; a mod b = a  where 0 <= a < b; a floordiv b = -1  where -b <= a < 0; a mod b = a + b  where -b <= a < 0", nonlinear::floor_mod;
                Order, "order", "min(a, b) = a  where a <= b; max(a, b) = b  where a <= b", nonlinear::extremum;
            }
            Remainder {
                RemainderMultiples, "remainder-multiples", "(n*k*x + y) mod n = y mod n; (k*(x mod m) + y) mod n = (k*x + y) mod n  where n divides k*m", remainder::drop_multiples;
                RemainderOpen, "remainder-open", "x mod n = x - n*(x floordiv n); g*m*(y floordiv m) = g*y - g*(y mod m)", remainder::open;
                RemainderCancel, "remainder-cancel", "k*(x mod n) + k*n*(x floordiv n) = k*x", remainder::with_quotient;
                RemainderJoin, "remainder-join", "k*(x mod m) + k*m*(y mod n) = k*((x mod m + m*y) mod (m*n))", remainder::join;
                RemainderDigit, "remainder-digit", "(x mod (m*n)) floordiv m = (x floordiv m) mod n", remainder::digits;
            }
            Division {
                Collapse, "collapse", "x floordiv n = k  where k*n <= x < (k + 1)*n", div::collapse;
                Multiples, "multiples", "(n*k*x + y) floordiv n = k*x + y floordiv n", div::multiples;
                FewValues, "few-values", "(k*x + c) floordiv n = a + b*x  where that holds at each value of x", div::few_values;
                Nested, "nested", "(x floordiv m + y) floordiv n = (x + m*y) floordiv (m*n)", div::nested;
                NestedNegative, "nested-negative", "(-(x floordiv m) + y) floordiv n = (-x + m - 1 + m*y) floordiv (m*n)", div::nested_negative;
                DigitMultiples, "digit-multiples", "(n*k*(x mod m) + y) floordiv n = k*(x mod m) + y floordiv n", div::digit_multiples;
                CommonFactor, "common-factor", "(g*x + y) floordiv (g*m) = (x + k) floordiv m  where k*g <= y < (k + 1)*g", div::common_factor;
                ReduceCoefficients, "reduce-coefficients", "((q*n + r)*x + y) floordiv n = q*x + (r*x + y) floordiv n", div::reduce_coefficients;
                BalancedCollapse, "balanced-collapse", "((q*n + r)*x + y) floordiv n = q*x + k  where k*n <= r*x + y < (k + 1)*n", div::balanced_collapse;
                LeadingSign, "leading-sign", "(-x) floordiv n = -((x + n - 1) floordiv n)", div::leading_sign;
            }
            Merging {
                Related, "related", "x floordiv n = y floordiv n + z  where x - y = n*z; x floordiv n = z - 1 - y floordiv n  where x + y + 1 = n*z", related_divs::merge;
                Equality, "equality", "k*f*z + x = x - k*y  where f*z + y = 0; x floordiv n = z  where y = 0 and x + f*y = n*z", related_divs::equalities;
                ResidueQuotient, "residue-quotient", "(x + c) floordiv n = (x + d) floordiv n + k  where s <= (x + d) mod n <= t and k*n <= s + c - d and t + c - d < (k + 1)*n; (x + c) floordiv m = k*((x + d) floordiv (k*m)) + j  where s <= (x + d) mod (k*m) <= t and j*m <= s + c - d and t + c - d < (j + 1)*m", residues::moved;
                RemainderDiv, "remainder-div", "(f*(x mod n) + c) floordiv m = (k*(x mod n) + s) floordiv n  where that holds at each value of x mod n; (k*(x mod n) + s) floordiv n = (k*x + s) floordiv n - k*(x floordiv n)", related_divs::by_remainder;
            }
            Extraction {
                ExtractMod, "extract-mod", "k*x - k*n*(x floordiv n) = k*(x mod n)", extraction::fold;
                ExtractDigit, "extract-digit", "k*(x floordiv m) - k*q*(x floordiv (m*q)) = k*((x floordiv m) mod q)", extraction::fold;
                Complement, "complement", "k*((y + 1) mod 2) = k - k*(y mod 2)", extraction::complement;
                AbsorbConstant, "absorb-constant", "a*(x floordiv n) + a*c = a*((x + n*c) floordiv n)", extraction::absorb;
                AbsorbTerm, "absorb-term", "a*(x floordiv n) + a*y = a*((x + n*y) floordiv n)", extraction::absorb;
                FlipSign, "flip-sign", "-a*(x floordiv n) = a*((-x + n - 1) floordiv n)", extraction::absorb;
            }
            Domain {
                ConstraintContent, "constraint-content", "g*x in [l, u] is x in [l ceildiv g, u floordiv g]; -x in [l, u] is x in [-u, -l]", constraint::reduce;
                ConstraintDiv, "constraint-div", "x floordiv n in [l, u] is x in [l*n, u*n + n - 1]", constraint::reduce;
                ConstraintResidue, "constraint-residue", "(x + c) mod n in [l, u] is x mod n in [r, r + u - l]  where 0 <= l <= u < n and r = (l - c) mod n and r + u - l < n; x mod n in [l, u] is x mod n in [max(l, 0), min(u, n - 1)]", constraint::residue;
                ConstraintImplied, "constraint-implied", "x in [l, u] is true  where l <= x <= u; x in [l, u] is x in [max(l, p), min(u, q)]  where p <= x <= q", constraint::decide;
                ConstraintContradicts, "constraint-contradicts", "x in [l, u] is false  where u < x or x < l", constraint::decide;
                ConstraintFixed, "constraint-fixed", "k*x + y in [l, u] is k*x = k*a and y in [l - k*a, u - k*a]  where k > 0 and p <= y <= q and s <= x <= t and (a = s or k*(a - 1) + q < l) and (a = t or u < k*(a + 1) + p)", constraint::fixed_part;
                Propagate, "propagate", "k*x + y in [l, u] is k*x + y in [l, u] and x in [(l - q) ceildiv k, (u - p) floordiv k]  where p <= y <= q", constraint::propagate;
                ResidueEnds, "residue-ends", "s <= x and x mod n in [l, u] is s + (l - s) mod n <= x and x mod n in [l, u]  where 0 <= l <= u < n and (s mod n < l or u < s mod n); x <= s and x mod n in [l, u] is x <= s - (s - u) mod n and x mod n in [l, u]  where 0 <= l <= u < n and (s mod n < l or u < s mod n)", constraint::residue_ends;
                ResidueRounds, "residue-rounds", "q*x + g*y in [l, u] and x mod n = r is q*x + g*y in [l + (q*r - l) mod g, u - (u - q*r) mod g] and x mod n = r  where g divides q*n", constraint::round_ends;
                ResidueMerge, "residue-merge", "x mod n in [l, u] and x mod (k*n) in [p, q] is x mod (k*n) in [max(p, j*n + l), min(q, j*n + u)]  where 0 <= l <= u < n and (j - 1)*n + u < p and q < (j + 1)*n + l; x mod n in [l, u] and x mod (k*n) in [p, q] is x mod n in [l, u]  where 0 <= l <= u < n and p <= l and (k - 1)*n + u <= q", residues::merge;
                Solve, "solve", "x + y in [l, l] is x = l - y; -x + y in [l, l] is x = y - l; (x + y) mod n in [l, l] is x = a + (l - y - a) mod n  where 0 <= l < n and a <= x < a + n; (-x + y) mod n in [l, l] is x = a + (y - l - a) mod n  where 0 <= l < n and a <= x < a + n", variables::only_value;
                Rescale, "rescale", "x mod n = r is x = n*t + r  where t = x floordiv n and 0 <= r < n", variables::rescale;
            }
        }
    };
}

pub(crate) use laws;

/// Declares [`Rule`], its names and laws.
macro_rules! declare {
    ($($stage:ident { $($rule:ident, $name:literal, $law:literal, $function:path;)* })*) => {
        /// A rule of the simplifier.
        ///
        /// ```
        /// use quasiaffine::Rule;
        /// assert_eq!((Rule::ExpandMod.name(), Rule::ExpandMod.law()), ("expand-mod", "x mod n = x - n*(x floordiv n)"));
        /// assert!(Rule::ALL.contains(&Rule::ExpandMod));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule { $($(#[doc = concat!("`", $law, "`")] $rule,)*)* }

        impl Rule {
            /// All rules, in the order of the list.
            pub const ALL: &'static [Rule] = &[$($(Rule::$rule,)*)*];

            /// Its name in traces and tests.
            pub const fn name(self) -> &'static str {
                match self { $($(Rule::$rule => $name,)*)* }
            }

            /// The law that it states, with its side condition.
            pub const fn law(self) -> &'static str {
                match self { $($(Rule::$rule => $law,)*)* }
            }
        }
    };
}

laws!(declare);
