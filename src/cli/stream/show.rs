//! What `stream` prints: events on stdout, one line each, and a progress bar on a terminal's stderr.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use callwright_domain::event::{ALL_CHANNELS, Event};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::client::message::Response;
use crate::client::pace::CHUNK;
use crate::client::start::Start;

/// Characters of an event's data shown on its line; `--json` shows all.
const DATA_SHOWN: usize = 300;

/// Prints a call.
#[derive(Debug)]
pub(super) struct Show {
    json: bool,
    bar: ProgressBar,
}

impl Show {
    /// Shows a bar for `chunks` of 20 ms when stderr is a terminal.
    pub(super) fn new(json: bool, chunks: Option<u64>) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(chunks, target);
        let template = if chunks.is_some() {
            "{bar:40} {percent:>3} %  {msg}"
        } else {
            "{spinner} {msg}"
        };
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { json, bar }
    }

    pub(super) fn started(&self, response: &Response, start: &Start) {
        if self.json {
            return self.line(&response.body.to_string());
        }
        self.line(&format!(
            "session {}  {} Hz, {} channel{}, {}",
            response.session(),
            start.sample_rate,
            start.channels,
            if start.channels == 1 { "" } else { "s" },
            start.encoding,
        ));
    }

    pub(super) fn event(&self, event: &Event) {
        self.line(&if self.json {
            event.to_wire()
        } else {
            readable(event)
        });
    }

    /// Any response but the one to Start: only what went wrong is worth a line.
    pub(super) fn response(&self, response: Response) {
        if self.json {
            return self.line(&response.body.to_string());
        }
        let name = response.name.clone();
        if let Err(refusal) = response.accepted() {
            self.line(&format!("          {name}  {refusal}"));
        }
    }

    pub(super) fn sent(&self, chunks: u64) {
        self.bar.set_position(chunks);
        let sent = CHUNK * u32::try_from(chunks).unwrap_or(u32::MAX);
        self.bar.set_message(clock(sent));
    }

    /// Says something that is no event, where results are not.
    pub(super) fn warn(&self, sentence: &str) {
        // With stderr gone nobody is left to tell.
        self.bar
            .suspend(|| _ = writeln!(std::io::stderr(), "callwright: {sentence}"));
    }

    pub(super) fn over(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, line: &str) {
        self.bar.suspend(|| {
            let mut out = std::io::stdout().lock();
            // A reader that has gone, as in `… | head`, is no reason to break off the call.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        });
    }
}

/// One event as a line: where in the audio, channel, name, length, data.
fn readable(event: &Event) -> String {
    let at = match u64::try_from(event.start_msec) {
        Ok(msec) => clock(Duration::from_millis(msec)),
        Err(_) => "--:--.---".to_owned(),
    };
    let channel = match event.channel {
        ALL_CHANNELS => "all".to_owned(),
        channel if channel < 0 => "-".to_owned(),
        channel => channel.to_string(),
    };
    let mut line = format!("{at}  {channel:<3}  {}", plain(&event.name));
    let length = event.end_msec.saturating_sub(event.start_msec);
    if event.start_msec >= 0 && event.end_msec >= 0 && length > 0 {
        line.push_str(&format!("  {length} ms"));
    }
    for (key, value) in &event.data {
        line.push_str(&format!("  {}={}", plain(key), shown(value)));
    }
    cut(&line)
}

/// Strings stand as they are, unless they would blur where they end.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && !text.contains(' ') => plain(text),
        other => plain(&other.to_string()),
    }
}

/// The server's text without what could move a terminal's cursor.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(DATA_SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// Minutes, seconds, milliseconds.
fn clock(time: Duration) -> String {
    let secs = time.as_secs();
    format!(
        "{:02}:{:02}.{:03}",
        secs / 60,
        secs % 60,
        time.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line_with_where_what_and_data() {
        let spoken = Event::new("Speech Ended")
            .on_channel(1)
            .spanning(61_020, 62_500);
        let key = Event::new("DTMF")
            .on_channel(0)
            .spanning(3_000, 3_100)
            .with("Digit", "5");
        let ended = Event::new("Session Ended")
            .with("Reason", "finalized by the client")
            .with("AudioMsec", 18_020);
        let lines = [spoken, key, ended]
            .map(|event| readable(&event))
            .join("\n");
        insta::assert_snapshot!(lines, @r#"
        01:01.020  1    Speech Ended  1480 ms
        00:03.000  0    DTMF  100 ms  Digit=5
        --:--.---  all  Session Ended  AudioMsec=18020  Reason="finalized by the client"
        "#);
    }

    #[test]
    fn an_event_that_goes_on_has_no_length() {
        let event = Event::new("Speech Started").on_channel(0).starting(5);
        assert_eq!(readable(&event), "00:00.005  0    Speech Started");
    }

    #[test]
    fn what_a_server_says_cannot_drive_the_terminal() {
        let event = Event::new("a\u{1b}[2Jb").with("k", json!("x\r\ny"));
        let line = readable(&event);
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let event = Event::new("N").with("Text", "é".repeat(500));
        assert_eq!(readable(&event).chars().count(), DATA_SHOWN + 1);
    }

    #[test]
    fn an_hour_and_more_counts_in_minutes() {
        assert_eq!(clock(Duration::from_millis(3_723_004)), "62:03.004");
    }
}
