//! The modes of a propagation: by reads, elements, iterations, tiles or devices.

use crate::devices::DeviceTable;
use crate::parameters::Parameters;
use crate::tuning::{MAX_ITERATION_MAPS, MAX_MAPS};

/// What the maps of a propagation tell.
#[derive(Clone, Copy)]
pub enum Mode<'p> {
    /// The elements that are read, and how often each is.
    Reads,
    /// The elements that are read: ranges of maps are eliminated.
    Elements,
    /// The elements that an iteration of a loop reads that runs any number of times: runtime variables have any of their
    /// values, and an array has at most as many maps as in a [closure](crate::closure).
    Iteration,
    /// The elements that a tile reads: ranges of rules are dimensions, and dimensions have the names of parameters.
    Tiles(&'p Parameters),
    /// The elements that are read, and on which device: the rules give maps with a group and a position.
    Devices(&'p DeviceTable),
    /// The same for an [iteration](Mode::Iteration).
    DeviceIteration(&'p DeviceTable),
}

impl<'p> Mode<'p> {
    pub(crate) fn devices(self) -> Option<&'p DeviceTable> {
        match self {
            Mode::Devices(table) | Mode::DeviceIteration(table) => Some(table),
            Mode::Reads | Mode::Elements | Mode::Iteration | Mode::Tiles(_) => None,
        }
    }

    pub(crate) fn parameters(self) -> Option<&'p Parameters> {
        match self {
            Mode::Tiles(parameters) => Some(parameters),
            Mode::Reads | Mode::Elements | Mode::Iteration | Mode::Devices(_) | Mode::DeviceIteration(_) => None,
        }
    }

    pub(crate) fn max_maps(self) -> usize {
        match self {
            Mode::Iteration | Mode::DeviceIteration(_) => MAX_ITERATION_MAPS,
            Mode::Reads | Mode::Elements | Mode::Tiles(_) | Mode::Devices(_) => MAX_MAPS,
        }
    }

    /// Whether maps tell how often an element is read.
    pub(crate) fn counts_reads(self) -> bool {
        match self {
            Mode::Elements | Mode::Iteration => false,
            Mode::Reads | Mode::Tiles(_) | Mode::Devices(_) | Mode::DeviceIteration(_) => true,
        }
    }

    /// Whether maps to the same elements stay apart, since they differ in device or tile.
    pub(crate) fn keeps_apart(self) -> bool {
        match self {
            Mode::Tiles(_) | Mode::Devices(_) | Mode::DeviceIteration(_) => true,
            Mode::Reads | Mode::Elements | Mode::Iteration => false,
        }
    }
}
