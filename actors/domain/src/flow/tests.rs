use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::audio::{AudioFormat, Encoding, SampleRate};
use crate::event::Event;

struct Catalog(Vec<NodeSchema>);

impl NodeCatalog for Catalog {
    fn schema(&self, name: &str) -> Option<&NodeSchema> {
        self.0.iter().find(|schema| schema.name == name)
    }

    fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|schema| schema.name).collect()
    }
}

const fn schema(name: &'static str, hears: Hears, settings: &'static [SettingSpec]) -> NodeSchema {
    NodeSchema {
        name,
        help: "",
        hears,
        settings,
    }
}

fn catalog() -> Catalog {
    const VOLUME: &[SettingSpec] = &[
        SettingSpec {
            name: "volume",
            kind: SettingKind::Number {
                least: 0.0,
                most: 1.0,
            },
            default: "0.5",
            help: "",
        },
        SettingSpec {
            name: "mode",
            kind: SettingKind::Choice(&["soft", "loud"]),
            default: "\"soft\"",
            help: "",
        },
        SettingSpec {
            name: "count",
            kind: SettingKind::Integer { least: 1, most: 9 },
            default: "1",
            help: "",
        },
        SettingSpec {
            name: "on",
            kind: SettingKind::Flag,
            default: "false",
            help: "",
        },
    ];
    Catalog(vec![
        schema(ENTRY, Hears::Nothing, &[]),
        schema(PUBLISHER, Hears::Nothing, &[]),
        schema("listener", Hears::Samples, VOLUME),
        schema("relay", Hears::Nothing, &[]),
    ])
}

fn definition(rest: &str) -> Definition {
    Definition::from_toml(&format!("name = \"test\"\nkind = \"flow\"\n{rest}")).unwrap()
}

fn faults_of(rest: &str) -> Vec<String> {
    Plan::new(&definition(rest), &catalog()).unwrap_err().0
}

#[test]
fn entry_and_publisher_are_there_without_being_named() {
    let plan = Plan::new(&definition("wires = [\"entry -> publisher\"]"), &catalog()).unwrap();
    let ids: Vec<_> = plan.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["entry", "publisher"]);
    assert_eq!(plan.nodes[0].to, [1]);
    assert_eq!(plan.hears(), Hears::Nothing);
}

#[test]
fn every_fault_is_named_at_once() {
    let faults = faults_of(
        r#"
        wires = ["entry -> a -> b -> a", "entry -> nobody", "alone"]
        [parameters]
        unused = 1
        [[nodes]]
        id = "a"
        type = "relay"
        settings = { speed = 3 }
        [[nodes]]
        id = "b"
        type = "no-such-type"
        [[nodes]]
        id = "c"
        type = "relay"
        [[nodes]]
        id = "c"
        type = "relay"
        "#,
    );
    let all = faults.join("\n");
    for expected in [
        "parameter `unused` is used by no node",
        "node `b` is of type `no-such-type`, which does not exist; there are entry, publisher, listener, relay",
        "two nodes are named `c`",
        "there is no node `nobody`",
        "wire `alone` joins nothing",
        "cycle through `a`, `b`",
        "node `c` dangles",
    ] {
        assert!(all.contains(expected), "{expected} is not in\n{all}");
    }
}

#[test]
fn faulty_settings_are_named_with_what_is_allowed() {
    let faults = faults_of(
        r#"
        wires = ["entry -> a -> publisher"]
        [[nodes]]
        id = "a"
        type = "listener"
        settings = { volume = 1.5, mode = "shrill", count = 2.5, on = "maybe", extra = 1 }
        "#,
    );
    assert_eq!(
        faults,
        [
            "node `a`: `extra` is unknown: the settings are volume, mode, count, on",
            "node `a`: `volume` is 1.5, and must be a number from 0 to 1",
            "node `a`: `mode` is \"shrill\", and must be one of soft, loud",
            "node `a`: `count` is 2.5, and must be a whole number from 1 to 9",
            "node `a`: `on` is \"maybe\", and must be true or false",
        ]
    );
}

#[test]
fn the_ends_are_ends() {
    let faults = faults_of(
        r#"
        wires = ["a -> entry", "publisher -> a", "a -> publisher"]
        [[nodes]]
        id = "a"
        type = "listener"
        "#,
    );
    let all = faults.join("\n");
    assert!(all.contains("nothing can be wired to `entry`"), "{all}");
    assert!(
        all.contains("nothing can be wired from `publisher`"),
        "{all}"
    );
    assert!(
        all.contains("node `a` needs call audio: wire it from `entry`"),
        "{all}"
    );
}

const WITH_PARAMETER: &str = r#"
    wires = ["entry -> a -> publisher"]
    [parameters]
    how-loud = 0.25
    [[nodes]]
    id = "a"
    type = "listener"
    settings = { volume = "$how-loud" }
"#;

#[test]
fn a_parameter_is_overridden_in_any_spelling_and_as_text() {
    let plan = Plan::new(&definition(WITH_PARAMETER), &catalog()).unwrap();
    let volume = |overrides: &[(&str, serde_json::Value)]| {
        let overrides = overrides
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect();
        let all = plan.settings(&overrides)?;
        let listener = plan.nodes.iter().position(|node| node.id == "a").unwrap();
        Ok::<_, PlanFaults>(all[listener].number("volume"))
    };
    assert_eq!(volume(&[]), Ok(0.25));
    assert_eq!(volume(&[("HowLoud", json!(0.75))]), Ok(0.75));
    assert_eq!(volume(&[("how_loud", json!("1"))]), Ok(1.0));
    let unknown = volume(&[("tempo", json!(1))]).unwrap_err().to_string();
    assert_eq!(
        unknown,
        "`tempo` is no parameter of project `test`, which has how-loud"
    );
    let wrong = volume(&[("how-loud", json!(7))]).unwrap_err().to_string();
    assert_eq!(
        wrong,
        "node `a`: `volume` is 7, and must be a number from 0 to 1"
    );
}

#[test]
fn a_definition_that_is_no_flow_or_no_toml_is_refused_in_words() {
    let other = Definition::from_toml("name = \"x\"\nkind = \"evaluator\"").unwrap_err();
    assert_eq!(other, DefinitionFault::OtherKind("evaluator".to_owned()));
    let malformed = Definition::from_toml("name = \"x\"\nkind = \"flow\"\ncolour = 1")
        .unwrap_err()
        .to_string();
    assert!(malformed.contains("colour"), "{malformed}");
    let huge = "#".repeat(300 * 1024);
    assert!(matches!(
        Definition::from_toml(&huge),
        Err(DefinitionFault::TooLong(_))
    ));
}

/// A node that tells what it hears, and fails, waits or multiplies when asked.
#[derive(Default)]
struct Teller {
    name: &'static str,
    waits: bool,
    waiting: bool,
    copies: usize,
}

impl Node for Teller {
    fn audio(&mut self, audio: &AudioBlock<'_>, out: &mut Emitter) -> Result<(), NodeFault> {
        out.event(
            Event::new("heard")
                .with("by", self.name)
                .with("start", audio.start_frame)
                .with("samples", json!(audio.channels)),
        );
        Ok(())
    }

    fn event(&mut self, event: &Arc<Event>, out: &mut Emitter) -> Result<(), NodeFault> {
        if event.name == "fail" {
            return Err(NodeFault("as asked".to_owned()));
        }
        for _ in 0..self.copies.max(1) {
            out.pass_event(event);
        }
        Ok(())
    }

    fn signal(&mut self, _result: Box<dyn Any + Send>, out: &mut Emitter) -> Result<(), NodeFault> {
        self.waiting = false;
        out.event(Event::new("signalled"));
        Ok(())
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), NodeFault> {
        self.waiting = self.waits;
        out.event(Event::new("finished").with("by", self.name));
        Ok(())
    }

    fn busy(&self) -> bool {
        self.waiting
    }
}

struct Publisher;

impl Node for Publisher {
    fn event(&mut self, event: &Arc<Event>, out: &mut Emitter) -> Result<(), NodeFault> {
        out.publish_event(event);
        Ok(())
    }
}

fn flow(rest: &str, teller: impl Fn(&str) -> Teller) -> Flow {
    let plan = Plan::new(&definition(rest), &catalog()).unwrap();
    let nodes = plan.nodes.iter().map(|node| match node.schema.name {
        PUBLISHER => Box::new(Publisher) as Box<dyn Node>,
        _ => Box::new(teller(&node.id)),
    });
    let nodes = nodes.collect();
    let format = AudioFormat {
        rate: SampleRate::new(8_000).unwrap(),
        channels: 2,
        encoding: Encoding::Pcm,
    };
    Flow::new(Arc::new(plan), format, nodes)
}

fn said(flow: &mut Flow) -> Vec<String> {
    let words = flow.take_outputs().into_iter().map(|output| match output {
        Output::Event(event) => match event.data.get("by") {
            Some(by) => format!("{} by {}", event.name, by.as_str().unwrap()),
            None => event.name.clone(),
        },
        Output::Playback(_) => "playback".to_owned(),
        Output::Failed { node, message } => format!("{node} failed: {message}"),
    });
    words.collect()
}

fn event(name: &str) -> Arc<Event> {
    Arc::new(Event::new(name))
}

const LISTENER: &str = r#"
    wires = ["entry -> a -> publisher"]
    [[nodes]]
    id = "a"
    type = "listener"
"#;

#[test]
fn audio_reaches_listeners_decoded_by_channel_with_its_position() {
    let mut flow = flow(LISTENER, |_| Teller {
        name: "a",
        ..Teller::default()
    });
    let frames =
        |samples: &[i16]| Bytes::from_iter(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    flow.audio(&frames(&[1, -1, 2, -2]));
    flow.audio(&frames(&[3, -3]));
    let data: Vec<_> = flow
        .take_outputs()
        .into_iter()
        .map(|output| match output {
            Output::Event(event) => (event.data["start"].clone(), event.data["samples"].clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        data,
        [
            (json!(0), json!([[1, 2], [-1, -2]])),
            (json!(2), json!([[3], [-3]]))
        ]
    );
    assert_eq!(flow.position(), 3);
}

#[test]
fn only_what_is_wired_to_the_publisher_is_said() {
    let wires = "wires = [\"entry -> a\"]\n[[nodes]]\nid = \"a\"\ntype = \"relay\"";
    let mut silent = flow(wires, |_| Teller::default());
    silent.event(&event("ping"));
    assert_eq!(said(&mut silent), Vec::<String>::new());
    let mut wired = flow("wires = [\"entry -> publisher\"]", |_| Teller::default());
    wired.event(&event("ping"));
    assert_eq!(said(&mut wired), ["ping"]);
}

#[test]
fn a_node_that_fails_is_left_out_and_its_policy_decides() {
    let relay = |policy: &str| {
        format!(
            "wires = [\"entry -> a -> publisher\"]\n[[nodes]]\nid = \"a\"\ntype = \"relay\"\non-fault = \"{policy}\""
        )
    };
    let teller = |id: &str| Teller {
        name: if id == "a" { "a" } else { "entry" },
        ..Teller::default()
    };
    let entry_passes = |id: &str| {
        if id == "a" {
            teller(id)
        } else {
            Teller::default()
        }
    };
    // The entry of these flows is a teller too, and would fail first: send the fault past it.
    let run = |policy| {
        let mut flow = flow(&relay(policy), entry_passes);
        flow.signal(0, Box::new(()));
        let _ = flow.take_outputs();
        let index = 1;
        flow.visit_for_test(index, &event("fail"));
        flow.event(&event("later"));
        said(&mut flow)
    };
    assert_eq!(run("continue"), ["Node Error"]);
    assert_eq!(run("end"), ["a failed: as asked", "Node Error"]);
}

#[test]
fn a_busy_node_holds_up_only_those_that_hear_it() {
    let wires = r#"
        wires = ["entry -> slow -> after -> publisher", "entry -> quick -> publisher"]
        [[nodes]]
        id = "slow"
        type = "relay"
        [[nodes]]
        id = "after"
        type = "relay"
        [[nodes]]
        id = "quick"
        type = "relay"
    "#;
    let mut flow = flow(wires, |id| match id {
        "slow" => Teller {
            name: "slow",
            waits: true,
            ..Teller::default()
        },
        "after" => Teller {
            name: "after",
            ..Teller::default()
        },
        "quick" => Teller {
            name: "quick",
            ..Teller::default()
        },
        _ => Teller {
            name: "entry",
            ..Teller::default()
        },
    });
    flow.finish();
    let words = said(&mut flow);
    assert!(words.contains(&"finished by quick".to_owned()), "{words:?}");
    assert!(
        !words.contains(&"finished by after".to_owned()),
        "{words:?}"
    );
    assert!(!flow.is_finished());
    let slow = flow
        .statuses()
        .iter()
        .position(|status| status.id == "slow")
        .unwrap();
    assert_eq!(flow.statuses()[slow].doing, "finishing");
    flow.signal(slow, Box::new(()));
    assert_eq!(said(&mut flow), ["signalled", "finished by after"]);
    assert!(flow.is_finished());
}

#[test]
fn an_input_that_grows_without_end_fails_the_node_instead_of_the_server() {
    let mut wires = String::from("wires = [\"entry -> n0\"");
    for step in 0..20 {
        wires.push_str(&format!(", \"n{step} -> n{}\"", step + 1));
    }
    wires.push_str(", \"n20 -> publisher\"]\n");
    for step in 0..=20 {
        wires.push_str(&format!("[[nodes]]\nid = \"n{step}\"\ntype = \"relay\"\n"));
    }
    let mut flow = flow(&wires, |_| Teller {
        copies: 4,
        ..Teller::default()
    });
    flow.event(&event("ping"));
    assert!(
        flow.statuses()
            .iter()
            .any(|status| status.doing == "failed")
    );
}

proptest! {
    #[test]
    fn a_plan_never_wires_backwards_and_never_panics(pairs in prop::collection::vec((0..8_usize, 0..8_usize), 0..24)) {
        let mut text = String::from("wires = [\"entry -> n0\"");
        for (from, to) in &pairs {
            text.push_str(&format!(", \"n{from} -> n{to}\""));
        }
        text.push_str("]\n");
        for node in 0..8 {
            text.push_str(&format!("[[nodes]]\nid = \"n{node}\"\ntype = \"relay\"\n"));
        }
        if let Ok(plan) = Plan::new(&definition(&text), &catalog()) {
            for (index, node) in plan.nodes.iter().enumerate() {
                prop_assert!(node.to.iter().all(|&to| to > index && plan.nodes[to].from.contains(&index)));
            }
        }
    }

    #[test]
    fn any_text_is_a_definition_or_a_fault(text in ".{0,200}") {
        let _ = Definition::from_toml(&text);
    }
}
