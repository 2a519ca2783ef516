//! The constraints of a domain as facts, found by what they share with a form.
//!
//! A fact says something of a form `f` if `f - q*fact` has fewer terms, so that the two share more than half of the
//! fact's atoms, and at least one of any half of them. Each of many facts therefore stands under the rarest half of its
//! atoms: constraints that all have one variable in common cost no more than those that have none.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::affine::form::{AffineForm, AtomId};
use crate::error::Stop;
use crate::meter::Meter;
use crate::span::Interval;
use crate::tuning::FEW_KEYS;

/// A constraint of the domain as a fact: the form lies in the interval.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The form; its constant is 0.
    pub form: AffineForm,
    /// Its values.
    pub interval: Interval,
}

/// Facts by number.
#[derive(Default)]
pub struct Facts {
    facts: Vec<Fact>,
    /// The numbers of facts by atom, once there are many facts. A form that is taken away still stands here.
    by_atom: FxHashMap<AtomId, SmallVec<[u32; 2]>>,
    n_indexed: usize,
}

impl Facts {
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// All facts; with the effort of looking at each.
    ///
    /// # Errors
    /// [`Stop`] if no effort is left.
    pub fn all(&self, meter: &mut Meter) -> Result<std::slice::Iter<'_, Fact>, Stop> {
        meter.spend(self.facts.len())?;
        Ok(self.facts.iter())
    }

    pub fn get(&self, i: usize) -> &Fact {
        &self.facts[i]
    }

    pub fn clear(&mut self) {
        self.facts.clear();
        if self.n_indexed > 0 {
            self.by_atom.clear();
            self.n_indexed = 0;
        }
    }

    pub fn extend(&mut self, facts: impl IntoIterator<Item = Fact>) {
        self.facts.extend(facts);
    }

    /// Takes a fact away, so that it says nothing of itself. A fact without a form stands in its place until it is put
    /// back.
    pub fn take(&mut self, i: usize) -> Fact {
        std::mem::replace(&mut self.facts[i], Fact { form: AffineForm::default(), interval: Interval::ALL })
    }

    /// Puts back a fact that was taken away.
    pub fn put_back(&mut self, i: usize, fact: Fact) {
        self.facts[i] = fact;
    }

    /// The numbers of all facts that may leave a form fewer terms, each once, in order.
    ///
    /// # Errors
    /// [`Stop`] if no effort is left.
    pub fn sharing(&mut self, form: &AffineForm, meter: &mut Meter) -> Result<SmallVec<[u32; 16]>, Stop> {
        if self.facts.len() <= FEW_KEYS {
            return Ok((0..self.facts.len() as u32).collect());
        }
        self.index(meter)?;
        let of_atom = form.terms.iter().filter_map(|t| self.by_atom.get(&t.atom));
        let mut found: SmallVec<[u32; 16]> = SmallVec::new();
        for facts in of_atom {
            meter.spend(facts.len())?;
            found.extend_from_slice(facts);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn index(&mut self, meter: &mut Meter) -> Result<(), Stop> {
        for (i, fact) in self.facts.iter().enumerate().skip(self.n_indexed) {
            meter.spend(fact.form.terms.len())?;
            let n_facts = |atom: AtomId| self.by_atom.get(&atom).map_or(0, SmallVec::len);
            // Of equally rare atoms the last: the first one is more likely to be shared.
            let mut atoms: SmallVec<[(usize, AtomId); 8]> =
                fact.form.terms.iter().rev().map(|t| (n_facts(t.atom), t.atom)).collect();
            atoms.sort_by_key(|(n, _)| *n);
            let half = atoms.len().div_ceil(2);
            for (_, atom) in &atoms[..half] {
                self.by_atom.entry(*atom).or_default().push(i as u32);
            }
            self.n_indexed = i + 1;
        }
        Ok(())
    }
}

/// `x` has one of `len` residues modulo `n`, from `start` on, where `0 <= start < n` and `0 < len < n`.
#[derive(Clone, PartialEq, Eq)]
pub struct Residues {
    pub(crate) x: AffineForm,
    pub(crate) n: i64,
    pub(crate) start: i64,
    pub(crate) len: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affine::form::AffineTerm;

    fn form(atoms: &[AtomId]) -> AffineForm {
        let terms = atoms.iter().map(|atom| AffineTerm { coefficient: 1, atom: *atom }).collect();
        AffineForm { constant: 0, terms }
    }

    fn facts(forms: &[Vec<AtomId>]) -> Facts {
        let mut facts = Facts::default();
        facts.extend(forms.iter().map(|atoms| Fact { form: form(atoms), interval: Interval::new(0, 1) }));
        facts
    }

    #[test]
    fn every_fact_that_shares_more_than_half_of_its_atoms_is_found() {
        // All sets of up to four of seven atoms, against all sets of atoms.
        let sets: Vec<Vec<AtomId>> =
            (1u32..128).map(|bits| (0..7).filter(|i| bits >> i & 1 == 1).collect::<Vec<_>>()).collect();
        let known: Vec<Vec<AtomId>> = sets.iter().filter(|s| s.len() <= 4).cloned().collect();
        let mut facts = facts(&known);
        for set in &sets {
            let found = facts.sharing(&form(set), &mut Meter::new(99_999)).unwrap();
            for (i, fact) in known.iter().enumerate() {
                let n_shared = fact.iter().filter(|atom| set.contains(atom)).count();
                assert!(n_shared * 2 <= fact.len() || found.contains(&(i as u32)), "{fact:?} for {set:?}");
            }
        }
    }

    #[test]
    fn what_all_have_in_common_is_no_key() {
        let mut facts = facts(&(1..1000).map(|i| vec![0, i]).collect::<Vec<_>>());
        assert_eq!(facts.sharing(&form(&[0, 7]), &mut Meter::new(99_999)).unwrap().as_slice(), [6]);
        assert_eq!(facts.sharing(&form(&[0]), &mut Meter::new(99_999)).unwrap().as_slice(), []);
        let taken = facts.take(6);
        assert!(facts.get(6).form.terms.is_empty());
        facts.put_back(6, taken);
        assert_eq!(facts.sharing(&form(&[0, 7]), &mut Meter::new(99_999)).unwrap().as_slice(), [6]);
    }

    #[test]
    fn no_fact_is_seen_without_effort() {
        let mut facts = facts(&(1..1000).map(|i| vec![0, i]).collect::<Vec<_>>());
        assert!(facts.all(&mut Meter::new(999)).is_err() && facts.all(&mut Meter::new(1000)).is_ok());
        // The next question goes on where the effort ended.
        assert!(facts.sharing(&form(&[0, 7]), &mut Meter::new(2000)).is_err());
        assert_eq!(facts.sharing(&form(&[0, 7]), &mut Meter::new(2000)).unwrap().as_slice(), [6]);
    }
}
