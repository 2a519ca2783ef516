//! Tiles: what a map reads for a block of its dimensions, and when that is a box.
//!
//! A tile of sizes `n` is the set of points with `t*n <= x < (t+1)*n` in every dimension, cut off at the dimension's
//! end; its image is a *box* if it is a product of arithmetic progressions, one for each result. Which sizes give
//! boxes is decided for all tiles at once: the tiles of a dimension fall into at most three classes of equal length
//! (`class.rs`), and within a class the results are sums of digits whose base is known up to a gap (`image.rs`). Results
//! that share a dimension belong to one group (`group.rs`); groups are independent, so their numbers multiply.
//!
//! Laws:
//! * a tile that is called a box is one, and consists of exactly the elements read;
//! * any other tile has a bounding box with all elements read;
//! * a number is exact or an upper bound, and says which.
//!
//! XLA's symbolic tiles (`symbolic_tile.cc`) answer the same question for powers of two.

pub(crate) mod class;
mod constraints;
mod cut_runs;
pub(crate) mod evaluate;
pub(crate) mod group;
pub(crate) mod image;
pub(crate) mod runs;
pub(crate) mod symbolic;

pub use evaluate::{Memo, TileBox, TiledMap};
pub use image::Refusal;
pub use runs::{BoxRun, TileCount};
pub use symbolic::{Clause, SymbolicRun, SymbolicTile};
