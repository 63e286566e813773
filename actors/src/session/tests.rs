//! Sessions as their clients and operators see them, with the clock stopped.

mod ending;
mod orders;
mod panics;
mod talking;
mod watching;
