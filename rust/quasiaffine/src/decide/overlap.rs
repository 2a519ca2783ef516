//! Decides whether the images of maps meet.
//!
//! Bounds of the results keep most pairs of maps apart; the others are decided by a search for two points that reach
//! one element (`common_element.rs`). Never wrong. Yes is a proof, no has a checked witness.

use crate::answer::Answer;
use crate::limits::{EFFORT, TOTAL_EFFORT};

use crate::decide::boxes::{Bounds, Boxes};
use crate::decide::common_element::{find, CommonElement, Pairs, Side, NOT_DECIDED};
use crate::error::{Error, Result};
use crate::map::{Map, State};
use crate::meter::Meter;
use crate::span::Interval;

/// An element in the image of a map on either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The number of the first side's map.
    pub first: usize,
    /// The number of the second side's map.
    pub second: usize,
    /// The element, and a point of either map that reaches it.
    pub common: CommonElement,
}

/// Whether the union of the images of the first maps has no element in common with that of the second ones; if it has, one
/// such element.
///
/// # Errors
/// [`Error::Arity`] if the numbers of results differ.
pub fn are_disjoint(first: &[Map], second: &[Map]) -> Result<Answer<Box<Meeting>>> {
    let mut defined = first.iter().chain(second).filter(|m| m.state() == State::Defined);
    let n_results = defined.next().map_or(0, |m| m.results().len());
    if let Some(other) = defined.find(|m| m.results().len() != n_results) {
        let what = "results of every map, so that all images lie in one array";
        return Err(Error::Arity { what, expected: n_results, found: other.results().len() });
    }
    let (a, b) = (Operand::new(first), Operand::new(second));
    if a.is_empty() || b.is_empty() {
        return Ok(Answer::Yes);
    }
    let boxes = b.boxes();
    let mut unknown = a.unknown.or(b.unknown);
    let mut meter = Meter::new(TOTAL_EFFORT);
    for x in &a.images {
        for y in boxes.meeting(&x.bounds).map(|at| &b.images[at as usize]) {
            if meter.spend(x.bounds.len()).is_err() {
                return Ok(Answer::Unknown(NOT_DECIDED));
            }
            if !x.bounds.iter().zip(&y.bounds).all(|(x, y)| !x.intersect(*y).is_empty()) {
                continue;
            }
            match meter.part(EFFORT, |own| find(&x.side, &y.side, Pairs::All, own)) {
                Ok(None) => {}
                Err(reason) => unknown = unknown.or(Some(reason)),
                Ok(Some(common)) => {
                    let meeting = Meeting { first: x.number, second: y.number, common: *common };
                    return Ok(Answer::No(Box::new(meeting)));
                }
            }
        }
    }
    Ok(unknown.map_or(Answer::Yes, Answer::Unknown))
}

/// The maps of one side that may have a point.
struct Operand {
    images: Vec<Image>,
    /// The reason why some maps are left out, if any are.
    unknown: Option<&'static str>,
}

struct Image {
    number: usize,
    side: Side,
    /// Contains every value of each result.
    bounds: Bounds,
}

impl Operand {
    fn new(maps: &[Map]) -> Operand {
        let mut out = Operand { images: Vec::with_capacity(maps.len()), unknown: None };
        for (number, map) in maps.iter().enumerate() {
            match Side::new(map) {
                Ok(None) => {}
                Ok(Some(side)) => {
                    let flat = side.flat();
                    let bounds = flat.results().iter().map(|e| flat.bounds(e).unwrap_or(Interval::ALL)).collect();
                    out.images.push(Image { number, side, bounds });
                }
                Err(reason) => out.unknown = Some(reason),
            }
        }
        out
    }

    fn is_empty(&self) -> bool {
        self.images.is_empty() && self.unknown.is_none()
    }

    /// The boxes around the images, by place in the list.
    fn boxes(&self) -> Boxes {
        let mut boxes = Boxes::along(Boxes::best_axis(self.images.iter().map(|image| &image.bounds)));
        self.images.iter().enumerate().for_each(|(at, image)| boxes.insert(at as u32, &image.bounds));
        boxes
    }
}
