//! The nodes at work on every kind of audio: rates, encodings, channels.

use std::fs;

use callwright_domain::audio::Encoding;
use serde_json::{Value, json};
use tonic::Code;

use crate::support::{Said, Server, Start, assert_wire, fixture_audio, tone, wav_data};

const ALL: &str = r#"
name = "all"
kind = "flow"
wires = [
    "entry -> voice -> publisher",
    "entry -> keys -> publisher",
    "entry -> level -> publisher",
    "entry -> recorder -> publisher",
]
[[nodes]]
id = "voice"
type = "voice-activity"
[[nodes]]
id = "keys"
type = "dtmf"
[[nodes]]
id = "level"
type = "level"
settings = { interval-ms = 1000 }
[[nodes]]
id = "recorder"
type = "recorder"
"#;

/// The two tones of the key 9 (ITU-T Q.23).
const NINE: [f64; 2] = [852.0, 1477.0];

/// One second of silence, the first turn of the sample call with a second of silence after it, a key of 100 ms, half a
/// second of silence: mono at that rate.
fn scene(rate: u32) -> Vec<i16> {
    let mut both = Vec::new();
    Encoding::Ulaw.decode(&fixture_audio(), &mut both);
    let agent: Vec<i16> = both.iter().step_by(2).copied().collect();
    let speech = stretched(&agent[500 * 8..4_045 * 8], (rate / 8_000) as usize);
    let silence = |msec: u32| vec![0; (rate * msec / 1_000) as usize];
    [
        silence(1_000),
        speech,
        silence(1_000),
        tone(rate, 100, &NINE),
        silence(500),
    ]
    .concat()
}

/// Audio at a whole multiple of its rate, with straight lines between the samples.
fn stretched(samples: &[i16], times: usize) -> Vec<i16> {
    let pairs = samples.windows(2).flat_map(|pair| {
        let (from, to) = (i32::from(pair[0]), i32::from(pair[1]));
        (0..times as i32).map(move |step| (from + (to - from) * step / times as i32) as i16)
    });
    let mut stretched: Vec<i16> = pairs.collect();
    stretched.resize(samples.len() * times, 0);
    stretched
}

/// The same on the second channel, beside silence.
fn beside_silence(mono: &[i16]) -> Vec<i16> {
    mono.iter().flat_map(|sample| [0, *sample]).collect()
}

fn near(value: &Value, wanted: i64, tolerance: i64) {
    let found = value.as_i64().unwrap();
    assert!(
        (found - wanted).abs() <= tolerance,
        "{found} is not {wanted} within {tolerance}"
    );
}

fn assert_scene(said: &Said, channel: u8, sent: &[u8]) {
    assert_eq!(said.status.code(), Code::Ok, "{:?}", said.status);
    let [spoken] = said.named("Speech Ended")[..] else {
        panic!("there is one utterance: {:?}", said.events())
    };
    assert_eq!(spoken["Channel"], channel);
    near(&spoken["StartMsec"], 1_000, 60);
    near(&spoken["EndMsec"], 4_545, 60);
    let [key] = said.named("DTMF")[..] else {
        panic!("there is one key: {:?}", said.events())
    };
    assert_eq!(
        (&key["Data"]["Digit"], &key["Channel"]),
        (&json!("9"), &json!(channel))
    );
    near(&key["StartMsec"], 5_545, 25);
    near(&key["EndMsec"], 5_645, 25);
    let loud: Vec<_> = said
        .named("Level")
        .into_iter()
        .filter(|level| level["Channel"] == channel)
        .collect();
    assert_eq!(loud.len(), 7, "6 145 ms are 7 intervals of up to a second");
    assert!(
        loud[0]["Data"]["RmsDbfs"].as_f64() < Some(-60.0),
        "{}",
        loud[0]
    );
    assert!(
        loud[1]["Data"]["RmsDbfs"].as_f64() > Some(-40.0),
        "{}",
        loud[1]
    );
    let saved = said.named("Recording Saved")[0]["Data"]["Path"]
        .as_str()
        .unwrap();
    assert!(
        wav_data(&fs::read(saved).unwrap()) == sent,
        "the recording is not the call"
    );
    assert_eq!(said.ended()["Data"]["AudioMsec"], 6_145);
}

#[tokio::test]
async fn every_node_hears_the_same_at_every_rate_and_in_every_encoding() {
    let server = Server::start().await;
    server.apply_project(ALL).await;
    let start = Start::new(&server.streaming_token().await).through("all");
    let calls = [
        (8_000, 1, "ulaw", Encoding::Ulaw),
        (8_000, 2, "alaw", Encoding::Alaw),
        (16_000, 1, "pcm", Encoding::Pcm),
        (16_000, 2, "alaw", Encoding::Alaw),
        (48_000, 1, "ulaw", Encoding::Ulaw),
        (48_000, 2, "pcm", Encoding::Pcm),
    ];
    for (rate, channels, name, encoding) in calls {
        let mono = scene(rate);
        let samples = if channels == 2 {
            beside_silence(&mono)
        } else {
            mono
        };
        let mut sent = Vec::new();
        encoding.encode(&samples, &mut sent);
        let call = server.call(&start.clone().of(rate, channels, name)).await;
        let chunk = sent.len() * 20 / 6_145;
        call.chunks(&sent, chunk).await;
        let said = call.hear_out().await;
        println!("{rate} Hz, {channels} channels, {name}");
        assert_scene(&said, channels - 1, &sent);
    }
}

#[tokio::test]
async fn a_node_that_fails_says_so_and_its_policy_decides_what_becomes_of_the_call() {
    let server = Server::start().await;
    let token = server.streaming_token().await;
    for (policy, code, reason) in [
        ("continue", Code::Ok, "half-closed"),
        ("end", Code::Internal, "node-fault"),
    ] {
        // A mono call has no channel 1 to send back.
        server.apply_project(&mirror(policy)).await;
        let call = server
            .call(&Start::new(&token).through("mirror").of(8_000, 1, "ulaw"))
            .await;
        call.audio(vec![0xFF; 160]).await;
        let said = if policy == "end" {
            call.rest().await
        } else {
            call.hear_out().await
        };
        assert_eq!(said.status.code(), code, "{:?}", said.status);
        assert_eq!(crate::support::reason(said.ended()), reason);
        assert_eq!(said.named("Node Error").len(), 1);
        let told: Vec<Value> = said.events().into_iter().cloned().collect();
        assert_wire(&format!("node_fault_{policy}"), told);
    }
}

fn mirror(policy: &str) -> String {
    format!(
        "name = \"mirror\"\nkind = \"flow\"\nwires = [\"entry -> back -> publisher\"]\n\
         [[nodes]]\nid = \"back\"\ntype = \"loopback\"\non-fault = \"{policy}\"\nsettings = {{ channel = 1 }}\n"
    )
}
