//! The directory of live sessions: who is here, how many may be, and how to reach each of them.
//!
//! Owns the count of places. The reception takes a place for each stream, the session lists itself once it runs, and
//! both leave when they are dropped, so that a panic cannot leak a place. Operators read it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::Addr;
use callwright_domain::audio::AudioFormat;
use callwright_domain::identity::TenantId;
use callwright_domain::protocol::{ErrorValue, Refusal};
use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::session::Session;

/// How many sessions may live at once.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// On this server, streams that have not started included.
    pub server: usize,
    /// Of one tenant.
    pub tenant: usize,
    /// What a refused client is told to wait, in milliseconds.
    pub retry_after_msec: u64,
}

/// One live session, as operators see it.
#[derive(Debug)]
pub struct LiveSession {
    /// Its id.
    pub id: Uuid,
    /// Whose it is.
    pub tenant: TenantId,
    /// The project it runs.
    pub project: String,
    /// The OAuth client or user whose token started it.
    pub subject: String,
    /// Where the client is, `address:port`.
    pub peer: String,
    /// `CallProperties.ExternalId`, if the client gave one.
    pub external_id: Option<String>,
    /// The audio of the call.
    pub format: AudioFormat,
    /// When Start was accepted.
    pub started_at: DateTime<Utc>,
    /// Bytes of call audio received.
    pub audio_bytes: AtomicU64,
    /// Events sent to the client.
    pub events_sent: AtomicU64,
}

/// A live session and how to reach it.
#[derive(Debug, Clone)]
pub struct Listing {
    /// What is known of it.
    pub session: Arc<LiveSession>,
    /// Its actor.
    pub address: Addr<Session>,
}

/// Counts since the service started.
#[derive(Debug, Default)]
pub struct Totals {
    /// Sessions that were started.
    pub started: AtomicU64,
    /// Bytes of call audio of sessions that ended.
    pub audio_bytes: AtomicU64,
    /// Events sent by sessions that ended.
    pub events_sent: AtomicU64,
}

#[derive(Debug, Default)]
struct Inside {
    listings: HashMap<Uuid, Listing>,
    per_tenant: HashMap<TenantId, usize>,
    places: usize,
}

/// The directory; cheap to share.
#[derive(Debug)]
pub struct Directory {
    capacity: Capacity,
    draining: AtomicBool,
    inside: Mutex<Inside>,
    /// What has passed through.
    pub totals: Totals,
}

/// A place on this server, given back when dropped.
#[derive(Debug)]
pub struct Place {
    directory: Arc<Directory>,
}

/// A place of a tenant, given back when dropped.
#[derive(Debug)]
pub struct TenantPlace {
    directory: Arc<Directory>,
    tenant: TenantId,
    /// Kept for as long as the tenant's.
    _place: Place,
}

/// A listed session; unlisted when dropped.
#[derive(Debug)]
pub struct Listed {
    /// What operators see.
    pub session: Arc<LiveSession>,
    place: TenantPlace,
}

impl Directory {
    /// An empty directory.
    #[must_use]
    pub fn new(capacity: Capacity) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            draining: AtomicBool::new(false),
            inside: Mutex::default(),
            totals: Totals::default(),
        })
    }

    /// Takes a place on this server for a stream that has not started yet.
    ///
    /// # Errors
    /// `draining` or `capacity-exceeded`.
    pub fn enter(self: &Arc<Self>) -> Result<Place, Refusal> {
        self.refuse_while_draining()?;
        let mut inside = self.lock();
        if inside.places >= self.capacity.server {
            return Err(self.full("the server"));
        }
        inside.places += 1;
        drop(inside);
        Ok(Place {
            directory: Arc::clone(self),
        })
    }

    /// Turns a place on this server into a place of `tenant`.
    ///
    /// # Errors
    /// `draining` when the server began to shut down since the stream came in, `capacity-exceeded` when the tenant is full.
    pub fn enter_tenant(
        self: &Arc<Self>,
        place: Place,
        tenant: &TenantId,
    ) -> Result<TenantPlace, Refusal> {
        self.refuse_while_draining()?;
        let mut inside = self.lock();
        let count = inside.per_tenant.entry(tenant.clone()).or_default();
        if *count >= self.capacity.tenant {
            return Err(self.full(&format!("tenant `{tenant}`")));
        }
        *count += 1;
        drop(inside);
        Ok(TenantPlace {
            directory: Arc::clone(self),
            tenant: tenant.clone(),
            _place: place,
        })
    }

    /// Lists a session that runs.
    #[must_use]
    pub fn list(
        self: &Arc<Self>,
        place: TenantPlace,
        session: LiveSession,
        address: Addr<Session>,
    ) -> Listed {
        let session = Arc::new(session);
        let listing = Listing {
            session: Arc::clone(&session),
            address,
        };
        self.lock().listings.insert(session.id, listing);
        self.totals.started.fetch_add(1, Ordering::Relaxed);
        Listed { session, place }
    }

    /// Every live session, oldest first.
    #[must_use]
    pub fn listings(&self) -> Vec<Listing> {
        let mut all: Vec<_> = self.lock().listings.values().cloned().collect();
        // Ids are UUID v7: their order is the order of starting.
        all.sort_by_key(|listing| listing.session.id);
        all
    }

    /// The live session `id`.
    #[must_use]
    pub fn find(&self, id: Uuid) -> Option<Listing> {
        self.lock().listings.get(&id).cloned()
    }

    /// Places taken: live sessions and streams that have not started.
    #[must_use]
    pub fn places_taken(&self) -> usize {
        self.lock().places
    }

    /// Refuses every new stream from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Whether new streams are refused.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    fn refuse_while_draining(&self) -> Result<(), Refusal> {
        if self.is_draining() {
            return Err(Refusal::new(
                ErrorValue::Draining,
                "the server is shutting down; connect again to reach another",
            ));
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn tenants_counted(&self) -> usize {
        self.lock().per_tenant.len()
    }

    fn full(&self, who: &str) -> Refusal {
        Refusal::new(
            ErrorValue::CapacityExceeded,
            format!("{who} has as many sessions as it may; try again later"),
        )
        .retry_after(self.capacity.retry_after_msec)
    }

    /// A panic while the lock is held cannot leave the maps half changed: each change is one call.
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.directory.lock();
        inside.places = inside.places.saturating_sub(1);
    }
}

impl Drop for TenantPlace {
    fn drop(&mut self) {
        let mut inside = self.directory.lock();
        if let Some(count) = inside.per_tenant.get_mut(&self.tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                inside.per_tenant.remove(&self.tenant);
            }
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let directory = &self.place.directory;
        directory.lock().listings.remove(&self.session.id);
        let totals = &directory.totals;
        totals.audio_bytes.fetch_add(
            self.session.audio_bytes.load(Ordering::Relaxed),
            Ordering::Relaxed,
        );
        totals.events_sent.fetch_add(
            self.session.events_sent.load(Ordering::Relaxed),
            Ordering::Relaxed,
        );
    }
}

#[cfg(test)]
mod tests;
