//! Sessions that are told to end, by an operator or a server that goes away.

use std::time::Duration;

use callwright_domain::protocol::EndReason;

use super::ending::ended;
use crate::session::EndSession;
use crate::testing::call::one_node;
use crate::testing::settle;

#[actix_rt::test]
async fn an_operator_and_a_draining_server_end_a_session_with_words_for_its_client() {
    tokio::time::pause();
    for reason in [EndReason::EndedByOperator, EndReason::ServerDraining] {
        let call = one_node("slow").begin();
        let order = EndSession {
            reason,
            message: "go home".to_owned(),
            within: None,
        };
        call.address.send(order).await.unwrap();
        let (ended_by, message, after) = ended(&call).await;
        assert_eq!((ended_by, message.as_str()), (reason, "go home"));
        assert_eq!(
            after,
            Duration::from_secs(3),
            "nodes still say what they have"
        );
    }
}

#[actix_rt::test]
async fn what_comes_first_decides_the_reason() {
    tokio::time::pause();
    let mut call = one_node("slow").begin();
    call.request("Finalize");
    settle().await;
    call.half_close();
    call.address.do_send(EndSession {
        reason: EndReason::EndedByOperator,
        message: "too late".to_owned(),
        within: None,
    });
    let (reason, message, _) = ended(&call).await;
    assert_eq!((reason, message.as_str()), (EndReason::Finalized, ""));
}

fn hurried() -> EndSession {
    EndSession {
        reason: EndReason::ServerDraining,
        message: "the server is shutting down".to_owned(),
        within: Some(Duration::from_secs(1)),
    }
}

#[actix_rt::test]
async fn a_server_in_a_hurry_tells_a_client_whose_nodes_do_not_finish() {
    tokio::time::pause();
    let call = one_node("stuck").begin();
    call.address.do_send(hurried());
    let (reason, message, after) = ended(&call).await;
    assert_eq!(
        (reason, after),
        (EndReason::ServerDraining, Duration::from_secs(1))
    );
    assert!(message.contains("not finished in time: n"), "{message}");
}

#[actix_rt::test]
async fn a_server_in_a_hurry_cuts_a_finalize_short_and_keeps_its_reason() {
    tokio::time::pause();
    let call = one_node("stuck").begin();
    call.request("Finalize");
    tokio::time::sleep(Duration::from_secs(2)).await;
    call.address.do_send(hurried());
    let (reason, _, after) = ended(&call).await;
    assert_eq!(
        (reason, after),
        (EndReason::Finalized, Duration::from_secs(3))
    );
}
