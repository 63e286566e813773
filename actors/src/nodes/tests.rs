//! The node types of the product, each in a running session.

mod hearing;
mod recording;
