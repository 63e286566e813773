//! Keys of an issuer that is asked seldom, answers late, changes its keys or is down.

use std::time::Duration;

use super::*;

#[tokio::test]
async fn a_flood_of_unknown_key_ids_asks_the_issuer_once_in_thirty_seconds() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    bench
        .verifier
        .verify(&key.sign(Some("k"), Algorithm::ES256, &claims()))
        .await
        .unwrap();
    bench.pass(TimeDelta::seconds(30));
    for round in 2..4 {
        let tokens: Vec<String> = (0..200)
            .map(|n| key.sign(Some(&format!("made-up-{n}")), Algorithm::ES256, &claims()))
            .collect();
        let checks =
            futures_util::future::join_all(tokens.iter().map(|token| bench.refusal(token))).await;
        assert_eq!(
            checks[7],
            "the token names the key `made-up-7`, which the issuer does not publish"
        );
        assert_eq!(bench.asked(), round);
        bench.pass(TimeDelta::seconds(29));
        bench.refusal(&tokens[0]).await;
        assert_eq!(bench.asked(), round, "29 s later nobody asks");
        bench.pass(TimeDelta::seconds(1));
    }
}

#[tokio::test]
async fn callers_that_come_while_the_issuer_is_asked_wait_for_its_answer() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    let token = key.sign(Some("k"), Algorithm::ES256, &claims());
    let checks =
        futures_util::future::join_all((0..50).map(|_| bench.verifier.verify(&token))).await;
    assert!(checks.iter().all(Result::is_ok), "{checks:?}");
    assert_eq!(bench.asked(), 1);
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_cut_off_the_answer() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    let token = key.sign(Some("k"), Algorithm::ES256, &claims());
    tokio::select! {
        biased;
        answer = bench.verifier.verify(&token) => panic!("it stayed for the answer: {answer:?}"),
        () = std::future::ready(()) => (),
    }
    bench.verifier.verify(&token).await.unwrap();
    assert_eq!(bench.asked(), 1);
}

#[tokio::test]
async fn keys_at_hand_serve_while_the_issuer_is_down() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    let mut claims = claims();
    claims["exp"] = json!(NOW + 14 * 86_400);
    let token = key.sign(Some("k"), Algorithm::ES256, &claims);
    bench.verifier.verify(&token).await.unwrap();
    bench.issuer.answer(Err("connection refused".to_owned()));
    for _ in 0..5 {
        bench.pass(TimeDelta::hours(25));
        bench.verifier.verify(&token).await.unwrap();
    }
    let new = TestKey::ec("new").sign(Some("new"), Algorithm::ES256, &claims);
    let fault = bench.verifier.verify(&new).await.unwrap_err();
    assert!(
        matches!(&fault, TokenFault::Unavailable(said) if !said.contains("connection refused")),
        "{fault:?}"
    );
    assert!(bench.verifier.keys().age().unwrap() > Duration::from_secs(5 * 24 * 3600));
}

#[tokio::test]
async fn keys_older_than_an_hour_are_asked_for_in_the_background() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    let token = key.sign(
        Some("k"),
        Algorithm::ES256,
        &changed(|claims| claims["exp"] = json!(NOW + 86_400)),
    );
    bench.verifier.verify(&token).await.unwrap();
    bench.pass(TimeDelta::minutes(59));
    bench.verifier.verify(&token).await.unwrap();
    assert_eq!(bench.asked(), 1);
    bench.pass(TimeDelta::minutes(1));
    bench.verifier.verify(&token).await.unwrap();
    // Waits until the background question is through: a refresh takes its turn behind it.
    bench.verifier.keys().refresh().await.unwrap();
    assert_eq!(
        bench.asked(),
        3,
        "the first, the one in the background and the one just now"
    );
}

#[tokio::test]
async fn a_key_that_is_no_longer_published_stops_being_accepted() {
    let (old, new) = (TestKey::ec("old"), TestKey::ec("new"));
    let bench = Bench::publishing(&[&old]);
    let token = old.sign(Some("old"), Algorithm::ES256, &claims());
    bench.verifier.verify(&token).await.unwrap();
    bench.issuer.answer(Ok(vec![new.jwk.clone()]));
    bench.verifier.keys().refresh().await.unwrap();
    let said = bench.refusal(&token).await;
    assert_eq!(
        said,
        "the token names the key `old`, which the issuer does not publish"
    );
    bench
        .verifier
        .verify(&new.sign(Some("new"), Algorithm::ES256, &claims()))
        .await
        .unwrap();
}

#[tokio::test]
async fn keys_long_unasked_are_asked_for_before_they_are_used() {
    let (old, new) = (TestKey::ec("old"), TestKey::ec("new"));
    let bench = Bench::publishing(&[&old]);
    let token = old.sign(
        Some("old"),
        Algorithm::ES256,
        &changed(|claims| claims["exp"] = json!(NOW + 86_400)),
    );
    bench.verifier.verify(&token).await.unwrap();
    bench.issuer.answer(Ok(vec![new.jwk.clone()]));
    bench.pass(TimeDelta::hours(2));
    bench.refusal(&token).await;
}
