//! The session while it finishes: no more input, nodes say what they still have, then the last event.

use std::sync::Arc;
use std::time::Duration;

use actix::Context;
use callwright_domain::event::{Event, names};
use callwright_domain::flow::Flow;
use callwright_domain::protocol::EndReason;
use tokio::time::Instant;

use super::running::Session;

/// A session that finishes.
pub(super) struct Ending {
    pub(super) reason: EndReason,
    pub(super) message: String,
    pub(super) deadline: Instant,
}

impl Ending {
    /// The message of a session whose nodes did not finish in time.
    pub(super) fn unfinished(&self, flow: &Flow) -> String {
        let slow: Vec<_> = flow
            .statuses()
            .into_iter()
            .filter(|status| !matches!(status.doing, "finished" | "failed"))
            .map(|status| status.id)
            .collect();
        let what = format!("not finished in time: {}", slow.join(", "));
        if self.message.is_empty() {
            what
        } else {
            format!("{}; {what}", self.message)
        }
    }
}

impl Session {
    /// Lets every node say what it still has, then ends. The first call decides the reason, but for [`Session::fail`].
    pub(super) fn finish(&mut self, reason: EndReason, message: &str, ctx: &mut Context<Self>) {
        if self.ending.is_some() || self.exit.is_closed() {
            return;
        }
        self.ending = Some(Ending {
            reason,
            message: message.to_owned(),
            deadline: Instant::now() + self.limits.finalize,
        });
        self.discard_cut_frame(ctx);
        self.flow.finish();
        self.speak(ctx);
        self.end_if_finished(ctx);
        if !self.exit.is_closed() {
            Self::look_after(self.limits.finalize, ctx);
        }
    }

    /// Ends a session that a node has failed; one that was finishing as it should has failed all the same.
    pub(super) fn fail(&mut self, message: &str, ctx: &mut Context<Self>) {
        match &mut self.ending {
            None => self.finish(EndReason::NodeFault, message, ctx),
            Some(ending) => {
                ending.reason = EndReason::NodeFault;
                message.clone_into(&mut ending.message);
            }
        }
    }

    /// Gives nodes no longer than `within` to finish, whether they have begun to or not.
    pub(super) fn hurry(&mut self, within: Duration, ctx: &mut Context<Self>) {
        self.limits.finalize = self.limits.finalize.min(within);
        if let Some(ending) = &mut self.ending {
            ending.deadline = ending.deadline.min(Instant::now() + within);
            Self::look_after(within, ctx);
        }
    }

    pub(super) fn end_if_finished(&mut self, ctx: &mut Context<Self>) {
        if !self.flow.is_finished() {
            return;
        }
        if let Some(ending) = self.ending.take() {
            self.end(ending.reason, &ending.message, ctx);
        }
    }

    /// A call that ends in the middle of a frame leaves bytes that no node can hear.
    fn discard_cut_frame(&mut self, ctx: &mut Context<Self>) {
        let pending = self.framer.pending();
        if pending > 0 {
            let at = self.exit.audio_msec;
            let event = Event::new(names::AUDIO_DISCARDED)
                .spanning(at, at)
                .with("Bytes", pending)
                .with("LengthMsec", 0)
                .with("Message", "the audio ended in the middle of a sample");
            self.say(Arc::new(event), ctx);
        }
    }

    /// Audio that came after the session began to finish was heard by nobody.
    pub(super) fn discard_late(&mut self, ctx: &mut Context<Self>) {
        let bytes = std::mem::take(&mut self.late_bytes);
        if bytes == 0 {
            return;
        }
        let frames = bytes / self.format.frame_bytes().max(1) as u64;
        let (start, length) = (self.exit.audio_msec, self.format.rate.msec_of(frames));
        let event = Event::new(names::AUDIO_DISCARDED)
            .spanning(start, start + length)
            .with("Bytes", bytes)
            .with("LengthMsec", length)
            .with(
                "Message",
                "the audio came after the session had begun to finish",
            );
        self.say(Arc::new(event), ctx);
    }
}
