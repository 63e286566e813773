use std::task::Waker;

use futures_util::StreamExt;
use proptest::prelude::*;

use super::*;

/// The patience with a client that keeps up.
fn never() -> Patience {
    Patience::new(Box::new(|| false), Duration::ZERO)
}

/// What comes out when messages of these sizes go in, and how many items came between two turns of the neighbours.
fn paced(sizes: &[usize], bytes_per_second: u64) -> (Vec<Bytes>, Vec<usize>) {
    let mut next = 0_u8;
    let mut message = |size: &usize| {
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            next = next.wrapping_add(1);
            next
        })
        .take(*size)
        .collect();
        Inbound::Audio(bytes.into())
    };
    let messages: Vec<_> = sizes.iter().map(&mut message).collect();
    let inner = futures_util::stream::iter(messages).boxed();
    let mut paced = Paced::new(inner, bytes_per_second, never());
    let mut task = Context::from_waker(Waker::noop());
    let (mut pieces, mut turns, mut turn) = (Vec::new(), Vec::new(), 0);
    loop {
        match Pin::new(&mut paced).poll_next(&mut task) {
            Poll::Ready(Some(Inbound::Audio(piece))) => {
                pieces.push(piece);
                turn += 1;
            }
            Poll::Ready(Some(other)) => panic!("{other:?}"),
            Poll::Pending => turns.push(std::mem::take(&mut turn)),
            Poll::Ready(None) => break,
        }
    }
    turns.push(turn);
    (pieces, turns)
}

proptest! {
    #[test]
    fn any_cutting_yields_the_same_bytes_in_order_in_short_stretches_and_turns(
        sizes in prop::collection::vec(1_usize..9_000, 0..30),
        rate in prop::sample::select(vec![8_000_u64, 16_000, 32_000, 192_000]),
    ) {
        let (pieces, turns) = paced(&sizes, rate);
        let total: usize = sizes.iter().sum();
        let whole: Vec<u8> = pieces.iter().flatten().copied().collect();
        prop_assert_eq!(whole.len(), total);
        prop_assert!(whole.iter().enumerate().all(|(at, byte)| *byte == (at + 1) as u8));
        let stretch = usize::try_from(rate / 10).unwrap();
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= stretch));
        prop_assert!(turns.iter().all(|turn| *turn <= 4), "{:?}", turns);
        prop_assert_eq!(turns.iter().sum::<usize>(), pieces.len());
    }
}

#[test]
fn a_small_message_stays_whole_and_is_not_copied() {
    let message = Bytes::from(vec![7; 160]);
    let inner = futures_util::stream::iter([Inbound::Audio(message.clone())]).boxed();
    let mut paced = Paced::new(inner, 8_000, never());
    let mut task = Context::from_waker(Waker::noop());
    match Pin::new(&mut paced).poll_next(&mut task) {
        Poll::Ready(Some(Inbound::Audio(piece))) => assert_eq!(piece.as_ptr(), message.as_ptr()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_audio_keeps_its_place_behind_a_long_message() {
    let messages = vec![
        Inbound::Audio(vec![1; 2_000].into()),
        Inbound::Request("r".to_owned()),
        Inbound::Audio(vec![2; 10].into()),
    ];
    let mut paced = Paced::new(futures_util::stream::iter(messages).boxed(), 8_000, never());
    let mut task = Context::from_waker(Waker::noop());
    let mut seen = Vec::new();
    loop {
        match Pin::new(&mut paced).poll_next(&mut task) {
            Poll::Ready(Some(Inbound::Audio(piece))) => seen.push(piece.len()),
            Poll::Ready(Some(_)) => seen.push(0),
            Poll::Pending => {}
            Poll::Ready(None) => break,
        }
    }
    assert_eq!(seen, [800, 800, 400, 0, 10]);
}
