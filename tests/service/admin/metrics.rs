//! `/metrics`: text that Prometheus takes, and figures that move.

use std::collections::HashMap;

use serde_json::json;

use crate::support::{Server, Start};

#[derive(Debug, Default)]
struct Scrape {
    /// Kind by name.
    kinds: HashMap<String, String>,
    helped: Vec<String>,
    /// Value by name with labels.
    samples: HashMap<String, f64>,
}

impl Scrape {
    fn value(&self, name: &str) -> f64 {
        self.samples.get(name).copied().unwrap_or_default()
    }
}

/// Reads the text format; whatever is no comment must be `name{label="value"} number`.
async fn scrape(server: &Server) -> Scrape {
    let answer = server.http().get(format!("{}/metrics", server.admin()));
    let answer = answer.send().await.unwrap();
    let kind = answer.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    let mut scrape = Scrape::default();
    for line in answer
        .text()
        .await
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty())
    {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words.as_slice() {
            ["#", "TYPE", name, kind] => {
                drop(scrape.kinds.insert((*name).to_owned(), (*kind).to_owned()))
            }
            ["#", "HELP", name, _] => scrape.helped.push((*name).to_owned()),
            _ => {
                let (name, value) = line.rsplit_once(' ').unwrap();
                scrape
                    .samples
                    .insert(name.to_owned(), value.parse().unwrap());
            }
        }
    }
    scrape
}

#[actix_web::test]
async fn names_follow_the_conventions_and_values_follow_the_calls() {
    let server = Server::start().await;
    let before = scrape(&server).await;
    assert_eq!(before.value("callwright_sessions"), 0.0);
    assert_eq!(before.value("callwright_sessions_started_total"), 0.0);

    let token = server.streaming_token().await;
    let call = server.call(&Start::new(&token)).await;
    call.chunks(&[0xFF; 1_600], 320).await;
    let during = scrape(&server).await;
    assert_eq!(during.value("callwright_sessions"), 1.0);
    assert_eq!(during.value("callwright_streams"), 1.0);
    assert_eq!(during.value("callwright_connections"), 1.0);
    let said = call.hear_out().await;
    let mut refused = server.stream().await;
    refused
        .start(&Start::new(&token).with("/Tenant", json!("other")))
        .await;
    refused.rest().await;

    let after = scrape(&server).await;
    for (name, expected) in [
        ("callwright_sessions", 0.0),
        ("callwright_sessions_started_total", 1.0),
        (
            "callwright_sessions_ended_total{reason=\"half-closed\"}",
            1.0,
        ),
        (
            "callwright_streams_refused_total{error=\"tenant-mismatch\"}",
            1.0,
        ),
        ("callwright_stream_audio_bytes_total", 1_600.0),
        ("callwright_stream_events_total", said.events().len() as f64),
        ("callwright_draining", 0.0),
    ] {
        assert_eq!(after.value(name), expected, "{name}: {after:?}");
    }
    for (name, kind) in &after.kinds {
        assert!(name.starts_with("callwright_"), "{name}");
        assert_eq!(
            name.ends_with("_total"),
            kind == "counter",
            "{name}: {kind}"
        );
        assert!(after.helped.contains(name), "{name} has no HELP");
    }
    for sample in after.samples.keys() {
        let name = sample.split('{').next().unwrap();
        assert!(after.kinds.contains_key(name), "{name} has no TYPE");
    }
}
