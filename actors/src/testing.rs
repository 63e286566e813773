//! What the actors' tests stand on: ports in memory, nodes that misbehave, and calls that are watched from outside.

pub(crate) mod call;
pub(crate) mod nodes;
pub(crate) mod outlet;
pub(crate) mod recordings;

use std::sync::Arc;

use crate::directory::{Capacity, Directory};

/// Lets every task that can go on do so, without the clock moving.
pub(crate) async fn settle() {
    // Far more turns than any of these sessions needs; a turn costs nothing.
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}

/// A directory with room for everybody.
pub(crate) fn roomy() -> Arc<Directory> {
    Directory::new(Capacity {
        server: 100,
        tenant: 50,
        retry_after_msec: 2_000,
    })
}

/// Holds when nobody is here any more: no place, no tenant's place, no listing.
#[track_caller]
pub(crate) fn assert_empty(directory: &Directory) {
    assert_eq!(directory.places_taken(), 0, "places are left");
    assert_eq!(directory.listings().len(), 0, "listings are left");
    assert_eq!(directory.tenants_counted(), 0, "tenants' places are left");
}
