use callwright_domain::audio::{Encoding, SampleRate};

use super::*;

const FORMAT: AudioFormat = AudioFormat {
    rate: SampleRate::new(8_000).unwrap(),
    channels: 1,
    encoding: Encoding::Pcm,
};

#[test]
fn a_file_that_reached_the_largest_size_fails_and_stays_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    let state = Arc::new(FileState::default());
    let mut open = Open::create(Arc::clone(&state), path.clone(), FORMAT);
    // As after a day and a half of such a call; the file has a hole, so that it takes no room.
    open.written = u64::from(wav::LARGEST_DATA) - 10;
    open.write(&[1; 10]);
    assert_eq!(state.failed.get(), None);
    open.write(&[2; 2]);
    let said = state.failed.get().unwrap();
    assert!(said.contains("largest size of a WAV file"), "{said}");
    assert_eq!(
        fs::metadata(&path).unwrap().len(),
        44 + u64::from(wav::LARGEST_DATA),
        "nothing was written behind the end"
    );
}

#[test]
fn a_file_is_complete_only_when_closed_and_every_piece_has_come() {
    let folder = tempfile::tempdir().unwrap();
    let state = Arc::new(FileState::default());
    let mut open = Open::create(Arc::clone(&state), folder.path().join("a.wav"), FORMAT);
    state.sent.store(2, Ordering::Release);
    state.closed.store(true, Ordering::Release);
    open.write(&[0; 2]);
    assert!(!open.is_complete(), "a piece is still in the queue");
    open.write(&[0; 2]);
    assert!(open.is_complete());
    state.closed.store(false, Ordering::Release);
    assert!(!open.is_complete());
}
