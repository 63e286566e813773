//! The composition root: the only place that names both an adapter and what it serves.

pub mod identity;
