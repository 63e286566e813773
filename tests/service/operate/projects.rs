//! `callwright project`.

use std::fs;

use serde_json::json;

use super::{each, json};
use crate::support::{Server, Start};

const GOOD: &str = r#"# The operator's own remark.
name = "mine"
kind = "flow"
wires = ["entry -> publisher"]
"#;

const FAULTY: &str = r#"
name = "mine"
kind = "flow"
wires = ["entry -> a -> b -> a", "entry -> ghost"]
[[nodes]]
id = "a"
type = "voice-activity"
settings = { sensitivity = 7, volume = 1 }
[[nodes]]
id = "b"
type = "telepathy"
[[nodes]]
id = "lonely"
type = "dtmf"
"#;

fn write(server: &Server, text: &str) -> String {
    let file = server.folder().join("mine.toml");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[actix_web::test]
async fn every_fault_of_a_definition_is_told_at_once_and_nothing_is_stored() {
    let server = Server::start().await;
    let file = write(&server, FAULTY);
    for dry in [
        &["project", "apply", &file][..],
        &["project", "apply", &file, "--dry-run"],
    ] {
        let outcome = server.run(dry).await;
        assert_eq!((outcome.code, outcome.out.as_str()), (Some(1), ""));
        for told in [
            "sensitivity",
            "volume",
            "`telepathy`, which does not exist",
            "there is no node `ghost`",
            "cycle through `a`, `b`",
            "node `lonely` dangles",
        ] {
            assert!(
                outcome.err.contains(told),
                "missing {told:?} in {}",
                outcome.err
            );
        }
    }
    for (text, said) in [
        ("name = ", "mine.toml"),
        (&GOOD.replace("flow", "magic"), "`magic`"),
        (&format!("{GOOD}colour = 1\n"), "colour"),
    ] {
        let file = write(&server, text);
        let outcome = server.run(&["project", "apply", &file]).await;
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.err.contains(said), "{}", outcome.err);
    }
    let missing = server.run(&["project", "apply", "no-such.toml"]).await;
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.err.contains("no-such.toml cannot be read"),
        "{}",
        missing.err
    );
    assert_eq!(
        each(&json(&server, &["project", "list", "--json"]).await, "name"),
        ["demo-stream"]
    );
}

#[actix_web::test]
async fn a_project_is_applied_shown_changed_and_removed_for_its_tenant_alone() {
    let server = Server::start().await;
    let file = write(&server, GOOD);
    let apply = ["project", "apply", &file, "--tenant", "acme"];
    assert!(
        server
            .done(&[&apply[..], &["--dry-run"]].concat())
            .await
            .contains("can be applied")
    );
    assert_eq!(
        json(&server, &["project", "list", "--tenant", "acme", "--json"]).await,
        json!([])
    );
    assert!(server.done(&apply).await.contains("made: version 1"));
    assert!(server.done(&apply).await.contains("was just so: version 1"));
    write(&server, &GOOD.replace("operator's", "boss's"));
    assert!(server.done(&apply).await.contains("changed: version 2"));

    let shown = server
        .done(&["project", "show", "mine", "--tenant", "acme"])
        .await;
    assert_eq!(
        shown.trim_end(),
        GOOD.replace("operator's", "boss's").trim_end()
    );
    let shown = json(
        &server,
        &["project", "show", "mine", "--tenant", "acme", "--json"],
    )
    .await;
    assert_eq!(
        (&shown["kind"], &shown["version"]),
        (&json!("flow"), &json!(2))
    );
    let other = server.run(&["project", "show", "mine"]).await;
    assert_eq!(other.code, Some(1));
    assert!(
        other.err.contains("tenant `default` has no project `mine`"),
        "{}",
        other.err
    );

    let token = server.token("acme", &["streaming"]).await;
    let start = Start::new(&token)
        .through("mine")
        .with("/Tenant", json!("acme"));
    let call = server.call(&start).await;
    let remove = ["project", "remove", "mine", "--tenant", "acme"];
    assert!(server.done(&remove).await.contains("removed `mine`"));
    assert_eq!(server.run(&remove).await.code, Some(1));
    call.chunks(&[0xFF; 320], 320).await;
    call.hear_out().await.ended();
    let mut late = server.stream().await;
    assert_eq!(
        late.start(&start).await["operation-result"],
        "project-not-found"
    );
}

#[actix_web::test]
async fn the_node_types_are_listed_with_every_setting() {
    let server = Server::start().await;
    let types = json(&server, &["project", "nodes", "--json"]).await;
    assert_eq!(
        each(&types, "name"),
        [
            "entry",
            "publisher",
            "voice-activity",
            "dtmf",
            "level",
            "loopback",
            "recorder"
        ]
    );
    for node in types.as_array().unwrap() {
        assert!(!node["help"].as_str().unwrap().is_empty());
        for setting in node["settings"].as_array().unwrap() {
            for key in ["name", "allowed", "default", "help"] {
                assert!(
                    !setting[key].as_str().unwrap().is_empty(),
                    "{key}: {setting}"
                );
            }
        }
    }
    let text = server.done(&["project", "nodes"]).await;
    assert!(text.contains("voice-activity") && text.contains("silence-trigger-ms"));
}
