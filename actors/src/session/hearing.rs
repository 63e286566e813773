//! What a session does with each message of its client.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::Context;
use bytes::Bytes;
use callwright_domain::flow::Parameters;
use callwright_domain::protocol::{self, EndReason, ErrorValue, Refusal, Request, client_event};

use super::messages::InboundFault;
use super::running::Session;

impl Session {
    pub(super) fn audio(&mut self, bytes: Bytes, ctx: &mut Context<Self>) {
        let live = &self.exit.listed().session;
        live.audio_bytes
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if self.ending.is_some() {
            self.late_bytes += bytes.len() as u64;
            return;
        }
        let whole = self.framer.push(bytes);
        self.flow.audio(&whole);
        self.exit.audio_msec = self.format.rate.msec_of(self.flow.position());
        self.speak(ctx);
    }

    pub(super) fn request(&mut self, content: &str, ctx: &mut Context<Self>) {
        match Request::parse(content) {
            Err((name, refusal)) => self.answer(protocol::refused(&name, &refusal), ctx),
            Ok(Request::Start(_)) => {
                let refusal = Refusal::new(
                    ErrorValue::AlreadyStarted,
                    "the session has started already",
                );
                self.answer(protocol::refused("Start", &refusal), ctx);
            }
            Ok(Request::Update(parameters)) => self.update(parameters, ctx),
            Ok(request @ Request::Finalize) => {
                self.answer(protocol::accepted(request.name()), ctx);
                self.finish(EndReason::Finalized, "", ctx);
            }
            Ok(request @ Request::Stop) => {
                self.answer(protocol::accepted(request.name()), ctx);
                self.end(EndReason::Stopped, "", ctx);
            }
        }
    }

    pub(super) fn update(&mut self, changes: Parameters, ctx: &mut Context<Self>) {
        let mut parameters = self.parameters.clone();
        for (name, value) in changes {
            parameters.retain(|known, _| protocol::fold_key(known) != protocol::fold_key(&name));
            parameters.insert(name, value);
        }
        match self.plan.settings(&parameters) {
            Ok(settings) => {
                self.parameters = parameters;
                self.flow.update(&settings);
                self.answer(protocol::accepted("Update"), ctx);
            }
            Err(faults) => {
                let refusal =
                    Refusal::new(ErrorValue::InvalidRequest, format!("`Settings`: {faults}"));
                self.answer(protocol::refused("Update", &refusal), ctx);
            }
        }
    }

    pub(super) fn client_event(&mut self, content: &str, ctx: &mut Context<Self>) {
        match client_event(content) {
            Ok(event) if self.ending.is_none() => {
                self.flow.event(&Arc::new(event));
                self.speak(ctx);
            }
            Ok(_) => {
                let refusal = Refusal::new(ErrorValue::InvalidRequest, "the session is finishing");
                self.answer(protocol::refused("Event", &refusal), ctx);
            }
            Err(refusal) => self.answer(protocol::refused("Event", &refusal), ctx),
        }
    }

    pub(super) fn fault(&mut self, fault: InboundFault, ctx: &mut Context<Self>) {
        match fault {
            InboundFault::TooLarge(message) => {
                self.finish(EndReason::MessageTooLarge, &message, ctx)
            }
            InboundFault::Protocol(message) => self.finish(EndReason::ProtocolError, &message, ctx),
            InboundFault::Unread(message) => self.end(EndReason::SlowReader, &message, ctx),
            InboundFault::Lost(message) => self.finish(EndReason::ClientGone, &message, ctx),
        }
    }
}
