use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use callwright_domain::identity::Principal;
use serde_json::{Value, json};

use super::*;
use crate::directory::Capacity;
use crate::ports::{StoreUnavailable, StoredProject};
use crate::testing::assert_empty;
use crate::testing::nodes::registry;
use crate::testing::recordings::Memory;

const FLOW: &str = "name = \"flow\"\nkind = \"flow\"\nwires = [\"entry -> word -> publisher\"]\n\
    [parameters]\nword = \"hello\"\n[[nodes]]\nid = \"word\"\ntype = \"word\"\nsettings = { word = \"$word\" }\n";

/// Tokens are `TENANT`, or `TENANT/no-scope`; `bad`, `later` and `never` are what they say.
struct Tokens;

#[async_trait]
impl TokenVerifier for Tokens {
    async fn verify(&self, token: &str) -> Result<Principal, TokenFault> {
        let (tenant, scopes) = match token {
            "bad" => return Err(TokenFault::Refused("the token expired".to_owned())),
            "later" => return Err(TokenFault::Unavailable("no keys now".to_owned())),
            "never" => std::future::pending().await,
            other => match other.split_once('/') {
                Some((tenant, _)) => (tenant, vec![Scope::Operator]),
                None => (other, vec![Scope::Streaming]),
            },
        };
        Ok(Principal {
            tenant: tenant.parse().unwrap(),
            subject: "robot".to_owned(),
            scopes,
            expires_at: 0,
        })
    }
}

/// Projects by tenant and name; `down` does not answer.
#[derive(Default)]
struct Shelf {
    projects: HashMap<(&'static str, &'static str), (&'static str, String)>,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Projects for Shelf {
    async fn find(
        &self,
        tenant: &TenantId,
        name: &str,
    ) -> Result<Option<Arc<StoredProject>>, StoreUnavailable> {
        self.asked.lock().unwrap().push(format!("{tenant}/{name}"));
        if name == "down" {
            return Err(StoreUnavailable("no connection".to_owned()));
        }
        let found = self.projects.get(&(tenant.as_str(), name));
        Ok(found.map(|(kind, definition)| {
            Arc::new(StoredProject {
                name: name.to_owned(),
                kind: (*kind).to_owned(),
                version: 1,
                definition: definition.clone(),
            })
        }))
    }
}

struct Desk {
    reception: Reception,
    shelf: Arc<Shelf>,
}

fn desk() -> Desk {
    let shelf = Arc::new(Shelf {
        projects: HashMap::from([
            (("acme", "flow"), ("flow", FLOW.to_owned())),
            (("acme", "judge"), ("evaluator", "kind = 1".to_owned())),
            (
                ("acme", "old"),
                (
                    "flow",
                    FLOW.replace("\"word\"\nsettings", "\"gone\"\nsettings"),
                ),
            ),
            (("other", "theirs"), ("flow", FLOW.to_owned())),
        ]),
        ..Shelf::default()
    });
    Desk {
        reception: Reception {
            tokens: Arc::new(Tokens),
            projects: shelf.clone(),
            registry: Arc::new(registry(&Memory::default())),
            directory: Directory::new(Capacity {
                server: 10,
                tenant: 2,
                retry_after_msec: 2_000,
            }),
        },
        shelf,
    }
}

fn start() -> Value {
    json!({
        "MessageName": "Start", "Tenant": "acme", "Token": "acme", "ProjectName": "flow",
        "Audio": {"SampleRate": 8000, "ChannelCount": 2, "Encoding": "ulaw"},
        "Settings": {"Word": "hi"},
    })
}

fn with(changes: &[(&str, Value)]) -> String {
    let mut start = start();
    for (pointer, value) in changes {
        *start.pointer_mut(pointer).unwrap() = value.clone();
    }
    start.to_string()
}

impl Desk {
    async fn admit(&self, content: &str) -> Result<Admission, (String, Refusal)> {
        let place = self.reception.directory.enter().unwrap();
        self.reception.admit(content, place).await
    }

    async fn refused(&self, content: &str) -> (ErrorValue, String) {
        let (request, refusal) = self.admit(content).await.unwrap_err();
        assert_eq!(request, "Start", "{refusal}");
        assert_empty(&self.reception.directory);
        (refusal.value, refusal.message)
    }
}

#[actix_rt::test]
async fn a_start_that_is_right_gets_a_place_a_plan_and_its_settings() {
    let desk = desk();
    let admission = desk.admit(&start().to_string()).await.unwrap();
    assert_eq!(admission.tenant.as_str(), "acme");
    assert_eq!(admission.subject, "robot");
    assert_eq!(admission.plan.project, "flow");
    let word = admission
        .plan
        .nodes
        .iter()
        .position(|node| node.id == "word");
    assert_eq!(admission.settings[word.unwrap()].text("word"), "hi");
    assert_eq!(desk.reception.directory.places_taken(), 1);
    drop(admission);
    assert_empty(&desk.reception.directory);
}

#[actix_rt::test]
async fn every_refusal_has_its_value_and_gives_the_place_back() {
    use ErrorValue::{
        InvalidRequest, InvalidToken, ProjectNotFound, ServiceUnavailable, TenantMismatch,
        UnsupportedAudio,
    };
    let desk = desk();
    for (changes, value, said) in [
        (vec![("/Tenant", json!(7))], InvalidRequest, "`Tenant`"),
        (
            vec![("/Audio/SampleRate", json!(7_999))],
            UnsupportedAudio,
            "7999",
        ),
        (
            vec![("/Token", json!("bad"))],
            InvalidToken,
            "the token expired",
        ),
        (
            vec![("/Token", json!(null))],
            InvalidToken,
            "`Token` is missing",
        ),
        (
            vec![("/Token", json!("acme/no-scope"))],
            InvalidToken,
            "scope `streaming`",
        ),
        (
            vec![("/Token", json!("later"))],
            ServiceUnavailable,
            "no keys now",
        ),
        (
            vec![("/Token", json!("other"))],
            TenantMismatch,
            "tenant of the token",
        ),
        (
            vec![("/ProjectName", json!("none"))],
            ProjectNotFound,
            "no flow project",
        ),
        (
            vec![("/ProjectName", json!("judge"))],
            ProjectNotFound,
            "no flow project",
        ),
        (
            vec![("/ProjectName", json!("theirs"))],
            ProjectNotFound,
            "no flow project",
        ),
        (
            vec![("/ProjectName", json!("old"))],
            ProjectNotFound,
            "cannot run",
        ),
        (
            vec![("/ProjectName", json!("down"))],
            ServiceUnavailable,
            "did not answer",
        ),
        (
            vec![("/Settings", json!({"volume": 1}))],
            InvalidRequest,
            "volume",
        ),
        (
            vec![("/Settings", json!({"word": 1}))],
            InvalidRequest,
            "word",
        ),
    ] {
        let content = with(&changes);
        let (found, message) = desk.refused(&content).await;
        assert_eq!(found, value, "{content}: {message}");
        assert!(message.contains(said), "{content}: {message}");
    }
}

#[actix_rt::test]
async fn faults_are_told_in_the_order_in_which_a_client_can_mend_them() {
    use ErrorValue::{
        InvalidRequest, InvalidToken, ProjectNotFound, TenantMismatch, UnsupportedAudio,
    };
    let desk = desk();
    // Each step mends the first of the faults that are left.
    let mut changes = vec![
        ("/Audio/SampleRate", json!("fast")),
        ("/Token", json!("bad")),
        ("/ProjectName", json!("none")),
        ("/Settings", json!({"volume": 1})),
    ];
    let mut seen = vec![desk.refused(&with(&changes)).await.0];
    changes[0].1 = json!(100);
    seen.push(desk.refused(&with(&changes)).await.0);
    changes[0].1 = json!(8000);
    seen.push(desk.refused(&with(&changes)).await.0);
    changes[1].1 = json!("other");
    seen.push(desk.refused(&with(&changes)).await.0);
    assert!(
        desk.shelf.asked.lock().unwrap().is_empty(),
        "nobody's projects are read before the token is good"
    );
    changes[1].1 = json!("acme");
    seen.push(desk.refused(&with(&changes)).await.0);
    changes[2].1 = json!("flow");
    seen.push(desk.refused(&with(&changes)).await.0);
    assert_eq!(
        seen,
        [
            InvalidRequest,
            UnsupportedAudio,
            InvalidToken,
            TenantMismatch,
            ProjectNotFound,
            InvalidRequest
        ]
    );
}

#[actix_rt::test]
async fn the_project_is_looked_up_for_the_tenant_of_the_token() {
    let desk = desk();
    desk.admit(&start().to_string()).await.unwrap();
    assert_eq!(*desk.shelf.asked.lock().unwrap(), ["acme/flow"]);
}

#[actix_rt::test]
async fn anything_but_start_first_is_not_started_under_its_own_name() {
    let desk = desk();
    for (content, name) in [
        (r#"{"MessageName":"Finalize"}"#, "Finalize"),
        (r#"{"MessageName":"Stop"}"#, "Stop"),
        (r#"{"MessageName":"Update","Settings":{}}"#, "Update"),
        (r#"{"MessageName":"Dance"}"#, "Dance"),
    ] {
        let (request, refusal) = desk.admit(content).await.unwrap_err();
        assert_eq!(
            (request.as_str(), refusal.value),
            (name, ErrorValue::NotStarted)
        );
    }
    for content in ["", "{", "[]", "{}", r#"{"MessageName":7}"#] {
        assert_eq!(
            desk.refused(content).await.0,
            ErrorValue::InvalidRequest,
            "{content}"
        );
    }
}

#[actix_rt::test]
async fn a_full_tenant_is_told_when_to_come_back() {
    let desk = desk();
    let start = start().to_string();
    let first = desk.admit(&start).await.unwrap();
    let second = desk.admit(&start).await.unwrap();
    let (_, refusal) = desk.admit(&start).await.unwrap_err();
    assert_eq!(refusal.value, ErrorValue::CapacityExceeded);
    assert_eq!(refusal.retry_after_msec, Some(2_000));
    drop((first, second));
    desk.admit(&start).await.unwrap();
}

#[actix_rt::test]
async fn a_stream_that_came_before_draining_began_does_not_start_after_it() {
    let desk = desk();
    let place = desk.reception.directory.enter().unwrap();
    desk.reception.directory.drain();
    let refused = desk.reception.admit(&start().to_string(), place).await;
    assert_eq!(refused.unwrap_err().1.value, ErrorValue::Draining);
    assert_empty(&desk.reception.directory);
}

#[actix_rt::test]
async fn a_check_that_never_comes_back_is_given_up() {
    tokio::time::pause();
    let desk = desk();
    let (value, _) = desk.refused(&with(&[("/Token", json!("never"))])).await;
    assert_eq!(value, ErrorValue::ServiceUnavailable);
}
