//! The methods by which a [`Map`] is simplified, composed, counted and compared.
//!
//! Each hands its question to the module that answers it, so that the public face of the algebra reads in one place.

use crate::answer::Answer;
use crate::decide::coalesce::{plainly_contains, Counting};
use crate::decide::common_element::CommonElement;
use crate::decide::contains::contains;
use crate::decide::count::{distinct, touched, Count};
use crate::decide::eliminate::{compose_elements, eliminate_ranges};
use crate::decide::equal::{equivalent, is_empty};
use crate::decide::image::{for_any_runtime, image, unconditional};
use crate::decide::injective::is_injective;
use crate::decide::inverse::inverse;
use crate::decide::ranges::compact_ranges_by;
use crate::error::Result;
use crate::map::compose::then;
use crate::map::Map;
use crate::options::Options;
use crate::simplify::{compose, simplify, simplify_traced};
use crate::span::Interval;
use crate::trace::Step;

/// Simplification and composition.
impl Map {
    /// Simplifies the map: the result has the same image at every point of the domain, and as few divisions and
    /// remainders as the rules find. Simplifying it again changes nothing.
    ///
    /// ```
    /// use quasiaffine::{Map, Options};
    /// let map: Map = "(d0) -> ((d0 * 8 + 5) floordiv 8), domain: d0 in [0, 3]".parse()?;
    /// assert_eq!(map.simplify(Options::default()).to_string(), "(d0) -> (d0), domain: d0 in [0, 3]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn simplify(&self, options: Options) -> Map {
        simplify(self, options)
    }

    /// As [`simplify`](Map::simplify), with the rules that fired, in order. No shortcut is taken, so every rule shows.
    ///
    /// ```
    /// use quasiaffine::{Map, Options};
    /// let map: Map = "(d0) -> ((d0 * 8 + 5) floordiv 8), domain: d0 in [0, 3]".parse()?;
    /// let (_, steps) = map.simplify_traced(Options::default());
    /// assert_eq!(steps[0].to_string(), "multiples: (d0 * 8 + 5) floordiv 8 => d0");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn simplify_traced(&self, options: Options) -> (Map, Vec<Step>) {
        simplify_traced(self, options)
    }

    /// This map, then `second` at its results. Points whose image lies outside the domain of `second` leave the domain.
    /// The result is not simplified, see [`compose`](Map::compose).
    ///
    /// ```
    /// use quasiaffine::Map;
    /// let twice: Map = "(d0) -> (d0 * 2), domain: d0 in [0, 4]".parse()?;
    /// let half: Map = "(d0) -> (d0 floordiv 2), domain: d0 in [0, 9]".parse()?;
    /// assert_eq!(twice.then(&half)?.to_string(), "(d0) -> ((d0 * 2) floordiv 2), domain: d0 in [0, 4]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Arity`](crate::Error::Arity) if this map has not one result for each dimension of `second`;
    /// [`Error::Overflow`](crate::Error::Overflow) if a constant leaves 64 bits.
    pub fn then(&self, second: &Map) -> Result<Map> {
        then(self, second)
    }

    /// [`then`](Map::then) and [`simplify`](Map::simplify) at once, without the map between.
    ///
    /// ```
    /// use quasiaffine::{Map, Options};
    /// let twice: Map = "(d0) -> (d0 * 2), domain: d0 in [0, 4]".parse()?;
    /// let half: Map = "(d0) -> (d0 floordiv 2), domain: d0 in [0, 9]".parse()?;
    /// assert_eq!(twice.compose(&half, Options::default())?.to_string(), "(d0) -> (d0), domain: d0 in [0, 4]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`then`](Map::then).
    pub fn compose(&self, second: &Map, options: Options) -> Result<Map> {
        compose(self, second, options)
    }

    /// As [`compose`](Map::compose) if only the elements reached matter, not how often: the result has few ranges.
    ///
    /// ```
    /// use quasiaffine::{Map, Options};
    /// let domain = "domain: d0 in [0, 8], s0 in [0, 2]";
    /// let strided: Map = format!("(d0)[s0] -> ((d0 - s0) floordiv 2), {domain}, (d0 + s0) mod 2 in [0, 0]").parse()?;
    /// let window: Map = format!("(d0)[s0] -> (d0 - s0), {domain}").parse()?;
    /// assert_eq!(strided.compose_elements(&window, Options::default())?.domain().n_ranges, 1);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`then`](Map::then).
    pub fn compose_elements(&self, second: &Map, options: Options) -> Result<Map> {
        compose_elements(self, second, options)
    }

    /// Removes ranges that other ranges, with wider bounds, can replace: each point reaches the same elements, possibly
    /// fewer times. `options` are those of the simplification; unused variables are dropped in any case.
    ///
    /// ```
    /// use quasiaffine::{Map, Options};
    /// let window: Map = "(d0)[s0, s1] -> (d0 + s0 + s1), domain: d0 in [0, 5], s0 in [0, 2], s1 in [0, 2]".parse()?;
    /// let longer = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 5], s0 in [0, 4]";
    /// assert_eq!(window.eliminate_ranges(Options::default()).to_string(), longer);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn eliminate_ranges(&self, options: Options) -> Map {
        eliminate_ranges(self, options)
    }

    /// Joins ranges that adjoin, cuts them where their digits are independent, and puts them into a canonical order and
    /// position, in which each begins at the smallest constant of its first result. The map is simplified with
    /// `options` and those that this needs: [`drop_unused`](Options::drop_unused) and [`rescale`](Options::rescale).
    ///
    /// ```
    /// use quasiaffine::{Map, Options};
    /// let rows: Map = "(d0)[s0, s1] -> (s0 * 4 + s1 + 1), domain: d0 in [0, 5], s0 in [0, 2], s1 in [-1, 2]".parse()?;
    /// let joined = "(d0)[s0] -> (s0), domain: d0 in [0, 5], s0 in [0, 11]";
    /// assert_eq!(rows.compact_ranges(Options::default()).to_string(), joined);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn compact_ranges(&self, options: Options) -> Map {
        compact_ranges_by(self, options)
    }

    /// Turns the runtime variables into ranges, after the others, so that each may have any of its values: the image at
    /// a point is the union of the images for all those values.
    ///
    /// ```
    /// use quasiaffine::Map;
    /// let offset: Map = "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 2], rt0 in [0, 5], runtime: rt0 = #7()".parse()?;
    /// let any = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 2], s0 in [0, 5]";
    /// assert_eq!(offset.for_any_runtime()?.to_string(), any);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Map::new`].
    pub fn for_any_runtime(&self) -> Result<Map> {
        for_any_runtime(self)
    }

    /// The map without its conditions on runtime values: constraints such as "some index is inside", which ranges and
    /// runtime variables decide without any dimension or result. `None` if it has none. The result has every element
    /// that this map has, for all runtime values.
    ///
    /// ```
    /// use quasiaffine::{Map, Options};
    /// let inside = "rt0 in [-1, 9], rt0 * 1 in [0, 8], runtime: rt0 = #1(s1)";
    /// let map: Map = format!("(d0)[s0, s1]{{rt0}} -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 5], s1 in [0, 2], {inside}").parse()?;
    /// let always = "(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 5]";
    /// assert_eq!(map.unconditional(Options::default()).unwrap().to_string(), always);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn unconditional(&self, options: Options) -> Option<Map> {
        unconditional(self, options)
    }

    /// The map with the image of this one over the points whose first dimensions lie in `bounds`; those dimensions
    /// become ranges, and the others stay. Its ranges are [compact](Map::compact_ranges).
    ///
    /// ```
    /// use quasiaffine::{Interval, Map};
    /// let map: Map = "(d0, d1) -> (d0 * 4 + d1), domain: d0 in [0, 7], d1 in [0, 3]".parse()?;
    /// let rows = map.image(&[Interval::new(2, 3)])?;
    /// assert_eq!(rows.to_string(), "(d0)[s0] -> (d0 + s0 * 4), domain: d0 in [0, 3], s0 in [2, 3]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Arity`](crate::Error::Arity) for more bounds than dimensions.
    pub fn image(&self, bounds: &[Interval]) -> Result<Map> {
        image(self, bounds)
    }

    /// The inverse of a map without ranges: its dimensions are the results of this map, in their bounds.
    ///
    /// `None` if the map has ranges or is undefined, or if its results are not known to determine its dimensions.
    ///
    /// ```
    /// use quasiaffine::Map;
    /// let map: Map = "(d0, d1) -> (d0 * 4 + d1), domain: d0 in [0, 2], d1 in [0, 3]".parse()?;
    /// let back = map.inverse().expect("strides that do not overlap");
    /// assert_eq!(back.to_string(), "(d0) -> (d0 floordiv 4, d0 mod 4), domain: d0 in [0, 11]");
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn inverse(&self) -> Option<Map> {
        inverse(self)
    }
}

/// Counts and comparisons.
impl Map {
    /// The number of points of the domain: values of dimensions and ranges for which some value of the runtime
    /// variables satisfies the constraints. An undefined map may have any number.
    ///
    /// ```
    /// use quasiaffine::{Count, Map};
    /// let windows: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 2]".parse()?;
    /// assert_eq!(windows.touched(), Count::exact(30));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn touched(&self) -> Count {
        touched(self)
    }

    /// The number of different elements that the points reach.
    ///
    /// ```
    /// use quasiaffine::{Count, Map};
    /// let windows: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 2]".parse()?;
    /// assert_eq!(windows.distinct(), Count::exact(12));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn distinct(&self) -> Count {
        distinct(self)
    }

    /// Whether the map has no point.
    ///
    /// ```
    /// use quasiaffine::{Answer, Map};
    /// let even: Map = "(d0) -> (d0), domain: d0 in [0, 9], d0 * 2 in [5, 5]".parse()?;
    /// assert_eq!(even.is_empty(), Answer::Yes);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn is_empty(&self) -> Answer {
        is_empty(self)
    }

    /// Whether different points reach different elements. If not, two points that reach the same one.
    ///
    /// ```
    /// use quasiaffine::{Answer, Map};
    /// let map: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 2]".parse()?;
    /// let Answer::No(common) = map.is_injective() else { panic!("windows overlap") };
    /// assert_eq!(common.element, [common.first.dims[0] + common.first.ranges[0]]);
    /// assert_ne!(common.first, common.second);
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn is_injective(&self) -> Answer<Box<CommonElement>> {
        is_injective(self)
    }

    /// Whether two maps are the same function: each point has the same image under both, an image being the set of
    /// elements over all ranges, and empty outside the domain. If not, values of the dimensions and then of the runtime
    /// variables at which the images differ.
    ///
    /// ```
    /// use quasiaffine::{Answer, Map};
    /// let a: Map = "(d0) -> (d0 mod 4 + (d0 floordiv 4) * 4), domain: d0 in [0, 99]".parse()?;
    /// let b: Map = "(d0) -> (d0), domain: d0 in [0, 99]".parse()?;
    /// let c: Map = "(d0) -> (d0 mod 8), domain: d0 in [0, 99]".parse()?;
    /// assert_eq!(a.equivalent(&b), Answer::Yes);
    /// assert!(matches!(a.equivalent(&c), Answer::No(point) if point[0] >= 8));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn equivalent(&self, other: &Map) -> Answer<Vec<i64>> {
        equivalent(self, other)
    }

    /// Whether this map relates every point to all elements to which `inner` relates it. A point outside the domain is
    /// related to nothing.
    ///
    /// ```
    /// use quasiaffine::{Answer, Map};
    /// let window: Map = "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 2]".parse()?;
    /// let next: Map = "(d0) -> (d0 + 1), domain: d0 in [2, 5]".parse()?;
    /// assert_eq!((window.contains(&next), next.contains(&window)), (Answer::Yes, Answer::No(())));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn contains(&self, inner: &Map) -> Answer {
        contains(self, inner)
    }

    /// Whether this map [contains](Map::contains) `inner` as their expressions show, without a search: each condition is
    /// one of the other map's, and each result is the other's expression, or a range of its own with all values that the
    /// other's result may have. `false` says nothing.
    ///
    /// ```
    /// use quasiaffine::{Counting, Map};
    /// let row: Map = "(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]".parse()?;
    /// let diagonal: Map = "(d0) -> (d0), domain: d0 in [0, 4]".parse()?;
    /// assert!(row.plainly_contains(&diagonal, Counting::Pairs) && !row.plainly_contains(&diagonal, Counting::Reads));
    /// # Ok::<(), quasiaffine::Error>(())
    /// ```
    pub fn plainly_contains(&self, inner: &Map, counting: Counting) -> bool {
        plainly_contains(self, inner, counting)
    }
}
