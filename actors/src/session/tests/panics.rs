//! Nodes that panic or fail: what it costs their own session, and that it costs nobody else anything.

use callwright_domain::event::names;
use callwright_domain::protocol::EndReason;

use crate::testing::call::{call, one_node};
use crate::testing::{assert_empty, roomy, settle};

#[actix_rt::test]
async fn a_node_that_panics_ends_its_own_session_and_no_other() {
    tokio::time::pause();
    let directory = roomy();
    let neighbour = one_node("chatty").in_directory(&directory).begin();
    let call = one_node("panics").in_directory(&directory).begin();
    settle().await;
    assert_eq!(directory.places_taken(), 2);
    call.audio([0xFF; 160]);
    let (verdict, _) = call.verdict().await;
    assert_eq!(verdict.reason, EndReason::InternalError);
    assert_eq!(verdict.last_event.name, names::SESSION_ENDED);
    assert_eq!(verdict.last_event.data["Reason"], "internal-error");
    assert!(!verdict.message.contains("panic"), "{}", verdict.message);
    assert_eq!(directory.places_taken(), 1, "its place is free again");
    assert_eq!(directory.listings().len(), 1);

    neighbour.audio([0xFF; 160]);
    assert_eq!(neighbour.finalize().await.reason, EndReason::Finalized);
    assert_eq!(neighbour.heard.named("Chat").len(), 1);
    assert_empty(&directory);
}

#[actix_rt::test]
async fn a_node_that_panics_while_it_is_built_leaves_no_place_taken() {
    tokio::time::pause();
    let call = one_node("panics-built").begin();
    let (verdict, _) = call.verdict().await;
    assert_eq!(verdict.reason, EndReason::InternalError);
    assert_empty(&call.directory);
}

#[actix_rt::test]
async fn a_fault_with_policy_end_ends_the_session_and_says_which_node() {
    tokio::time::pause();
    let call = call(
        "\"entry -> bad -> publisher\"",
        "[[nodes]]\nid = \"bad\"\ntype = \"fails\"\non-fault = \"end\"\n",
    )
    .begin();
    call.audio([0xFF; 160]);
    let (verdict, _) = call.verdict().await;
    assert_eq!(verdict.reason, EndReason::NodeFault);
    assert_eq!(verdict.message, "node `bad` failed: made to fail");
    let told = call.heard.named(names::NODE_ERROR);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].data["Node"], "bad");
    assert_eq!(told[0].data["Message"], "made to fail");
    assert_empty(&call.directory);
}

#[actix_rt::test]
async fn a_fault_while_finishing_ends_the_session_as_one_before_does() {
    tokio::time::pause();
    let call = call(
        "\"entry -> bad -> publisher\"",
        "[[nodes]]\nid = \"bad\"\ntype = \"fails-late\"\non-fault = \"end\"\n",
    )
    .begin();
    call.request("Finalize");
    let (verdict, _) = call.verdict().await;
    assert_eq!(verdict.reason, EndReason::NodeFault);
    assert_eq!(verdict.message, "node `bad` failed: made to fail late");
}

#[actix_rt::test]
async fn a_fault_with_policy_continue_is_told_once_and_the_call_goes_on() {
    tokio::time::pause();
    let call = call(
        "\"entry -> bad -> publisher\", \"entry -> good -> publisher\"",
        "[[nodes]]\nid = \"bad\"\ntype = \"fails\"\n[[nodes]]\nid = \"good\"\ntype = \"chatty\"\n",
    )
    .begin();
    for _ in 0..4 {
        call.audio([0xFF; 160]);
    }
    assert_eq!(call.finalize().await.reason, EndReason::Finalized);
    assert_eq!(call.heard.named(names::NODE_ERROR).len(), 1);
    assert_eq!(call.heard.named("Chat").len(), 4);
}
