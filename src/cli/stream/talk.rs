//! The call of `stream` while it runs: one half sends, the other shows, until both are done.

use std::future::Future;
use std::io;
use std::time::Duration;

use callwright_proto::StreamInput;
use tokio::io::AsyncRead;
use tokio::time::{Instant, sleep_until, timeout};

use super::fault::StreamFault;
use super::show::Show;
use crate::client::call::{CallOver, Downlink, Uplink};
use crate::client::message::{self, FINALIZE, Reply, STOP};
use crate::client::pace::{CHUNK, Schedule};
use crate::client::wav::Chunker;

/// How long flow control may hold one chunk back before the server counts as gone.
const SEND_DEADLINE: Duration = Duration::from_secs(30);
/// How long the server may take from Finalize to its last event: slow nodes flush then.
const END_DEADLINE: Duration = Duration::from_secs(60);
/// The same after Stop, which flushes nothing.
const STOP_DEADLINE: Duration = Duration::from_secs(2);

/// How fast the file is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pacing {
    /// A chunk each 20 ms.
    RealTime,
    /// As fast as flow control lets it.
    Fast,
}

/// A call while it runs.
pub(super) struct Talk {
    uplink: Uplink,
    downlink: Downlink,
    show: Show,
}

/// How sending ended.
#[derive(Debug, PartialEq, Eq)]
enum Sent {
    /// All of it, and Finalize.
    All,
    /// The server ended the call before.
    Cut,
}

impl Talk {
    pub(super) const fn new(uplink: Uplink, downlink: Downlink, show: Show) -> Self {
        Self {
            uplink,
            downlink,
            show,
        }
    }

    /// Sends all of `file`, shows all that comes, and stops early when `interrupt` is done.
    pub(super) async fn run<R, I>(
        mut self,
        file: Chunker<R>,
        pacing: Pacing,
        interrupt: I,
    ) -> Result<(), StreamFault>
    where
        R: AsyncRead + Unpin,
        I: Future<Output = io::Result<()>>,
    {
        let outcome = tokio::select! {
            outcome = converse(&self.uplink, &mut self.downlink, &self.show, file, pacing) => outcome,
            // Without a handler for Ctrl-C the call still runs to its end.
            Ok(()) = interrupt => self.stop().await,
        };
        self.show.over();
        outcome
    }

    /// Tells the server to stop, and shows what it still says.
    async fn stop(&mut self) -> Result<(), StreamFault> {
        let farewell = async {
            // A call that is over needs no Stop.
            let _ = self.uplink.send(message::request(STOP)).await;
            // Whatever ends the call now, it was the interruption.
            let _ = listen(&mut self.downlink, &self.show).await;
        };
        // A server that says no more is left behind.
        let _ = timeout(STOP_DEADLINE, farewell).await;
        Err(StreamFault::Interrupted)
    }
}

/// Sends and shows at once. The call is over when the server ends it.
async fn converse<R: AsyncRead + Unpin>(
    uplink: &Uplink,
    downlink: &mut Downlink,
    show: &Show,
    file: Chunker<R>,
    pacing: Pacing,
) -> Result<(), StreamFault> {
    let sending = send_all(uplink, show, file, pacing);
    let listening = listen(downlink, show);
    tokio::pin!(sending, listening);
    let sent = tokio::select! {
        heard = &mut listening => return heard.and(Err(StreamFault::Cut)),
        sent = &mut sending => sent?,
    };
    match timeout(END_DEADLINE, listening).await {
        Ok(Ok(())) if sent == Sent::Cut => Err(StreamFault::Cut),
        Ok(heard) => heard,
        Err(_) => Err(StreamFault::NoEnd(END_DEADLINE.as_secs())),
    }
}

async fn send_all<R: AsyncRead + Unpin>(
    uplink: &Uplink,
    show: &Show,
    mut file: Chunker<R>,
    pacing: Pacing,
) -> Result<Sent, StreamFault> {
    let schedule = Schedule::new(Instant::now(), CHUNK);
    let mut sent = 0;
    while let Some(chunk) = file.next().await? {
        if pacing == Pacing::RealTime {
            sleep_until(schedule.due(sent)).await;
        }
        if hand_over(uplink, message::audio(chunk)).await? == Sent::Cut {
            return Ok(Sent::Cut);
        }
        sent += 1;
        show.sent(sent);
    }
    if file.missing() > 0 {
        show.warn(&format!(
            "the file ends {} bytes before its head says it does; it was cut",
            file.missing()
        ));
    }
    hand_over(uplink, message::request(FINALIZE)).await
}

async fn hand_over(uplink: &Uplink, message: StreamInput) -> Result<Sent, StreamFault> {
    match timeout(SEND_DEADLINE, uplink.send(message)).await {
        Ok(Ok(())) => Ok(Sent::All),
        // The listening half knows why.
        Ok(Err(CallOver)) => Ok(Sent::Cut),
        Err(_) => Err(StreamFault::Stuck(SEND_DEADLINE.as_secs())),
    }
}

async fn listen(downlink: &mut Downlink, show: &Show) -> Result<(), StreamFault> {
    while let Some(reply) = downlink.next().await? {
        match reply {
            Reply::Event(event) => show.event(&event),
            Reply::Response(response) => show.response(response),
            // There is nothing to play it on.
            Reply::Audio(_) => {}
        }
    }
    Ok(())
}
