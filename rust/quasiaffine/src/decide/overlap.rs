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

/// An element that two points reach, with the maps of the points.
///
/// ```
/// use quasiaffine::{are_disjoint, Answer, Map};
/// let [even, odd, third] = ["d0 * 2", "d0 * 2 + 1", "d0 * 3"].map(|e| format!("(d0) -> ({e}), domain: d0 in [0, 9]").parse::<Map>());
/// let Answer::No(meeting) = are_disjoint(&[even?], &[odd?, third?])? else { panic!("6 is even") };
/// assert_eq!((meeting.first, meeting.second, meeting.common.element[0] % 6), (0, 1, 0));
/// # Ok::<(), quasiaffine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The number of the first map, in its list.
    pub first: usize,
    /// The number of the second map.
    pub second: usize,
    /// The element, and the points.
    pub common: CommonElement,
}

/// Whether the union of the images of the first maps has no element in common with that of the second ones; if it has, one
/// such element.
///
/// ```
/// use quasiaffine::{are_disjoint, Answer, Map};
/// let even: Map = "(d0) -> (d0 * 2), domain: d0 in [0, 9]".parse()?;
/// let odd: Map = "(d0) -> (d0 * 2 + 1), domain: d0 in [0, 9]".parse()?;
/// assert_eq!(are_disjoint(&[even], &[odd])?, Answer::Yes);
/// # Ok::<(), quasiaffine::Error>(())
/// ```
///
/// # Errors
/// [`Error::Arity`] if the numbers of results differ.
pub fn are_disjoint(first: &[Map], second: &[Map]) -> Result<Answer<Box<Meeting>>> {
    expect_one_array(first.iter().chain(second))?;
    let (a, b) = (Operand::new(first), Operand::new(second));
    if a.is_empty() || b.is_empty() {
        return Ok(Answer::Yes);
    }
    let unknown = a.unknown.or(b.unknown);
    Ok(match meeting(&a, &b, |_, _| true, &mut Meter::new(TOTAL_EFFORT)) {
        Answer::Yes => unknown.map_or(Answer::Yes, Answer::Unknown),
        found => found,
    })
}

/// Whether no two of the maps, each to one array, have a common element, within the effort of a meter.
pub(crate) fn are_apart(maps: &[Map], meter: &mut Meter) -> Result<Answer<Box<Meeting>>> {
    expect_one_array(maps.iter())?;
    let all = Operand::new(maps);
    Ok(match meeting(&all, &all, |x, y| x < y, meter) {
        Answer::Yes if maps.len() > 1 => all.unknown.map_or(Answer::Yes, Answer::Unknown),
        found => found,
    })
}

/// # Errors
/// [`Error::Arity`] if the numbers of results differ.
fn expect_one_array<'m>(maps: impl Iterator<Item = &'m Map>) -> Result<()> {
    let mut defined = maps.filter(|m| m.state() == State::Defined);
    let n_results = defined.next().map_or(0, |m| m.results().len());
    defined.find(|m| m.results().len() != n_results).map_or(Ok(()), |other| {
        let what = "results of every map, so that all images lie in one array";
        Err(Error::Arity { what, expected: n_results, found: other.results().len() })
    })
}

/// Whether no image of one side meets one of the other, of those whose numbers are to be compared.
fn meeting(
    a: &Operand,
    b: &Operand,
    compares: impl Fn(usize, usize) -> bool,
    meter: &mut Meter,
) -> Answer<Box<Meeting>> {
    let boxes = b.boxes();
    let mut unknown = None;
    for x in &a.images {
        for y in boxes.meeting(&x.bounds).map(|at| &b.images[at as usize]) {
            if meter.spend(x.bounds.len()).is_err() {
                return Answer::Unknown(NOT_DECIDED);
            }
            let meets = || x.bounds.iter().zip(&y.bounds).all(|(x, y)| !x.intersect(*y).is_empty());
            if !compares(x.number, y.number) || !meets() {
                continue;
            }
            match meter.part(EFFORT, |own| find(&x.side, &y.side, Pairs::All, own)) {
                Ok(None) => {}
                Err(reason) => unknown = unknown.or(Some(reason)),
                Ok(Some(common)) => {
                    let meeting = Meeting { first: x.number, second: y.number, common: *common };
                    return Answer::No(Box::new(meeting));
                }
            }
        }
    }
    unknown.map_or(Answer::Yes, Answer::Unknown)
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
