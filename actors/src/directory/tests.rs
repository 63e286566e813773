use super::*;
use crate::testing::assert_empty;

fn tenant(name: &str) -> TenantId {
    name.parse().unwrap()
}

fn directory(server: usize, tenant: usize) -> Arc<Directory> {
    Directory::new(Capacity {
        server,
        tenant,
        retry_after_msec: 2_500,
    })
}

#[test]
fn a_full_server_refuses_with_a_time_to_come_back_until_somebody_leaves() {
    let directory = directory(2, 2);
    let (one, two) = (directory.enter().unwrap(), directory.enter().unwrap());
    let refusal = directory.enter().unwrap_err();
    assert_eq!(refusal.value, ErrorValue::CapacityExceeded);
    assert_eq!(refusal.retry_after_msec, Some(2_500));
    drop(one);
    let three = directory.enter().unwrap();
    drop((two, three));
    assert_empty(&directory);
}

#[test]
fn a_full_tenant_is_refused_and_leaves_room_for_others() {
    let directory = directory(3, 1);
    let enter = |name| directory.enter_tenant(directory.enter().unwrap(), &tenant(name));
    let first = enter("acme").unwrap();
    let refusal = enter("acme").unwrap_err();
    assert_eq!(refusal.value, ErrorValue::CapacityExceeded);
    assert_eq!(refusal.retry_after_msec, Some(2_500));
    assert!(refusal.message.contains("`acme`"), "{}", refusal.message);
    assert_eq!(
        directory.places_taken(),
        1,
        "the refused one holds no place"
    );
    let other = enter("other").unwrap();
    drop(first);
    let again = enter("acme").unwrap();
    drop((other, again));
    assert_empty(&directory);
}

#[test]
fn draining_refuses_newcomers_and_streams_that_had_not_started() {
    let directory = directory(5, 5);
    let waiting = directory.enter().unwrap();
    let started = directory
        .enter_tenant(directory.enter().unwrap(), &tenant("acme"))
        .unwrap();
    directory.drain();
    assert_eq!(directory.enter().unwrap_err().value, ErrorValue::Draining);
    let late = directory.enter_tenant(waiting, &tenant("acme"));
    assert_eq!(late.unwrap_err().value, ErrorValue::Draining);
    assert_eq!(directory.places_taken(), 1, "only the live session is left");
    drop(started);
    assert_empty(&directory);
}

#[test]
fn places_are_counted_right_when_many_threads_come_and_go() {
    let directory = directory(8, 3);
    std::thread::scope(|threads| {
        for number in 0..8 {
            let directory = &directory;
            threads.spawn(move || {
                let tenant = tenant(["a", "b"][number % 2]);
                for _ in 0..500 {
                    let Ok(place) = directory.enter() else {
                        continue;
                    };
                    drop(directory.enter_tenant(place, &tenant));
                }
            });
        }
    });
    assert_empty(&directory);
}
