//! Blocks from deltas.
