//! The pacer: walks the timetable, sends what is due, counts what comes back. It never waits for the server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hdrhistogram::CreationError;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::lane::Lane;
use super::link::PING;
use super::notice::{Inbox, Notice, What};
use super::plan::{GRACE, Plan};
use super::report::Report;
use super::signal;
use super::tally::{Phase, Snapshot, Tally, count, record, total};
use super::wire::framed;
use crate::client::message;
use crate::client::pace::{CHUNK, Schedule};

/// One turn: the resolution of the runtime's timers. What comes due within it is sent at its end.
const TURN: Duration = Duration::from_millis(1);
/// How often the counts are shown.
const WATCH: Duration = Duration::from_millis(250);
/// Sends in one go before connections and readers get their turn.
const BATCH: u32 = 64;

/// Walks the timetable.
pub(super) struct Pacer {
    plan: Arc<Plan>,
    start: Instant,
    chunks: Schedule,
    next_chunk: u64,
    events: Schedule,
    next_event: u64,
    signal: Vec<Bytes>,
    lanes: Vec<Lane>,
    live: u64,
    phase: Phase,
    steady: Option<Instant>,
    tally: Tally,
}

impl Pacer {
    pub(super) fn new(plan: Arc<Plan>, start: Instant) -> Result<Self, CreationError> {
        let lanes = (0..plan.streams).map(|_| Lane::default()).collect();
        Ok(Self {
            start,
            chunks: plan.chunks_from(start),
            next_chunk: 0,
            events: plan.events_from(start),
            next_event: 0,
            signal: signal::chunks(plan.chunk_bytes),
            lanes,
            live: 0,
            phase: Phase::Ramp,
            steady: None,
            tally: Tally::new()?,
            plan,
        })
    }

    pub(super) async fn run(
        mut self,
        mut inbox: Inbox,
        mut watch: impl FnMut(&Snapshot),
    ) -> Report {
        let mut turns = interval(TURN);
        turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut shown = self.start;
        while self.phase != Phase::Finish {
            turns.tick().await;
            self.hear(&mut inbox);
            self.pace().await;
            let now = Instant::now();
            self.turn_phase(now);
            if now.duration_since(shown) >= WATCH {
                shown = now;
                watch(&self.snapshot(now));
            }
        }
        let measured = self
            .steady
            .map_or(Duration::ZERO, |steady| steady.elapsed());
        self.finish(&mut inbox).await;
        watch(&self.snapshot(Instant::now()));
        Report::new(&self.plan, &self.tally, measured)
    }

    /// Takes every notice there is.
    fn hear(&mut self, inbox: &mut Inbox) {
        while let Ok(notice) = inbox.try_recv() {
            self.take(notice);
        }
    }

    fn take(&mut self, Notice { stream, what }: Notice) {
        let Some(lane) = usize::try_from(stream)
            .ok()
            .and_then(|index| self.lanes.get_mut(index))
        else {
            return;
        };
        match what {
            What::Opened(uplink) => {
                lane.open(uplink);
                self.live += 1;
                self.tally.opened += 1;
            }
            What::Refused(value) => count(&mut self.tally.refused, value),
            What::Failed(status) => count(&mut self.tally.failed, status),
            What::Pong { id, at } if lane.expects(id) => self.take_pong(id, at),
            What::Pong { .. } | What::Other => self.tally.others += 1,
            What::Ended(status) => {
                if lane.close() {
                    self.live -= 1;
                }
                let finished = self.phase == Phase::Finish;
                let table = if finished {
                    &mut self.tally.ended
                } else {
                    &mut self.tally.ended_early
                };
                count(table, status);
            }
        }
    }

    fn take_pong(&mut self, id: u64, at: Instant) {
        let due = self.events.due(id);
        if self.steady.is_some_and(|steady| due >= steady) {
            self.tally.events_back += 1;
            record(&mut self.tally.round_trip, due, at);
        }
    }

    /// Sends everything that has come due until now; what comes due meanwhile is for the next turn, so that a
    /// machine that cannot keep up is still told the time.
    async fn pace(&mut self) {
        let until = Instant::now();
        if self.plan.content.audio() {
            self.pace_chunks(until).await;
        }
        if self.plan.content.events() {
            self.pace_events(until).await;
        }
    }

    async fn pace_chunks(&mut self, until: Instant) {
        let mut sends = 0;
        let mut now = until;
        loop {
            let due = self.chunks.due(self.next_chunk);
            if due > until {
                return;
            }
            self.send_chunks(self.next_chunk, due, now);
            self.next_chunk += 1;
            sends += 1;
            if sends % BATCH == 0 {
                tokio::task::yield_now().await;
                now = Instant::now();
            }
        }
    }

    /// Sends the chunk `index` and those its call still owes, as far as flow control goes.
    fn send_chunks(&mut self, index: u64, due: Instant, now: Instant) {
        let steady = self.steady;
        let measured = |due: Instant| steady.is_some_and(|steady| due >= steady);
        let Some(lane) = lane_of(&mut self.lanes, index, self.plan.streams) else {
            return;
        };
        lane.owed_chunks += 1;
        self.tally.due += u64::from(measured(due));
        let round = index / self.plan.streams;
        while lane.owed_chunks > 0 {
            let behind = lane.owed_chunks - 1;
            let Some(chunk) = signal::chunk_of(&self.signal, round.saturating_sub(behind)) else {
                return;
            };
            if !lane.try_send(chunk) {
                return;
            }
            lane.owed_chunks = behind;
            self.tally.sent_ever += 1;
            let was_due = due - CHUNK * u32::try_from(behind).unwrap_or(u32::MAX);
            if measured(was_due) {
                self.tally.sent += 1;
                record(&mut self.tally.lateness, was_due, now);
            }
        }
    }

    async fn pace_events(&mut self, until: Instant) {
        let mut sends = 0;
        while self.events.due(self.next_event) <= until {
            self.send_event(self.next_event);
            self.next_event += 1;
            sends += 1;
            if sends % BATCH == 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Sends the event `id` and those its call still owes, as far as flow control goes.
    fn send_event(&mut self, id: u64) {
        let due = self.events.due(id);
        let measured = self.steady.is_some_and(|steady| due >= steady);
        let Some(lane) = lane_of(&mut self.lanes, id, self.plan.streams) else {
            return;
        };
        self.tally.events_due += u64::from(measured);
        lane.owe_event(id);
        while let Some(owed) = lane.owed_events.pop_front() {
            if !lane.try_send(&ping(owed)) {
                lane.owed_events.push_front(owed);
                return;
            }
        }
    }

    /// Measuring begins once the ramp is over and every call is either open or known not to be.
    fn turn_phase(&mut self, now: Instant) {
        let ramp_end = self.start + self.plan.ramp;
        match self.steady {
            None if now < ramp_end => {}
            None if self.tally.resolved() >= self.plan.streams || now >= ramp_end + GRACE => {
                self.phase = Phase::Steady;
                self.steady = Some(now);
            }
            None => {}
            Some(_) if self.live == 0 => self.phase = Phase::Finish,
            Some(steady) if now >= steady + self.plan.duration => self.phase = Phase::Finish,
            Some(_) => {}
        }
    }

    /// Ends every call and waits a little for what it still says.
    async fn finish(&mut self, inbox: &mut Inbox) {
        let finalize = framed(&message::request(message::FINALIZE));
        for lane in &mut self.lanes {
            lane.finish(&finalize);
        }
        let deadline = Instant::now() + GRACE;
        while self.live > 0 {
            match tokio::time::timeout_at(deadline, inbox.recv()).await {
                Ok(Some(notice)) => self.take(notice),
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn snapshot(&self, now: Instant) -> Snapshot {
        let elapsed = now.duration_since(self.start).as_millis();
        Snapshot {
            phase: self.phase,
            elapsed_msec: u64::try_from(elapsed).unwrap_or(u64::MAX),
            live: self.live,
            sent: self.tally.sent_ever,
            refused: total(&self.tally.refused),
            failed: total(&self.tally.failed),
            ended_early: total(&self.tally.ended_early),
        }
    }
}

/// The call whose turn it is at `index`, if it is open.
fn lane_of(lanes: &mut [Lane], index: u64, streams: u64) -> Option<&mut Lane> {
    let stream = usize::try_from(index % streams.max(1)).ok()?;
    lanes.get_mut(stream).filter(|lane| lane.is_live())
}

fn ping(id: u64) -> Bytes {
    let json = format!(r#"{{"Event":{{"Name":"{PING}","Data":{{"Id":{id}}}}}}}"#);
    framed(&message::event(json))
}
