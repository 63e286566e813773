use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use callwright_actors::ports::SavedRecording;
use callwright_domain::audio::{AudioFormat, Encoding, SampleRate, wav};
use uuid::Uuid;

use super::*;

/// Far longer than any of this takes.
const PATIENCE: Duration = Duration::from_secs(20);

struct Place {
    temporary: tempfile::TempDir,
    folder: Folder,
}

fn place(queue_bytes: usize) -> Place {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::open(temporary.path().join("deep/er"), queue_bytes).unwrap();
    Place { temporary, folder }
}

fn info(node: &str) -> RecordingInfo {
    RecordingInfo {
        session: Uuid::now_v7(),
        tenant: "acme".parse().unwrap(),
        node: node.to_owned(),
        format: AudioFormat {
            rate: SampleRate::new(8_000).unwrap(),
            channels: 1,
            encoding: Encoding::Ulaw,
        },
    }
}

impl Place {
    fn path(&self, info: &RecordingInfo) -> PathBuf {
        let day = Utc::now().format("%Y-%m-%d").to_string();
        self.folder
            .folder
            .join("acme")
            .join(day)
            .join(format!("{}-{}.wav", info.session, info.node))
    }
}

/// Looks until `found` gives something; the writer works on a thread of its own.
#[track_caller]
fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The audio of a file, if its head is right and promises all of it.
fn audio(path: &Path) -> Option<Vec<u8>> {
    let file = fs::read(path).ok()?;
    let head = wav::parse(&file).ok()?;
    let promised = usize::try_from(head.data_bytes.unwrap_or(0)).ok()?;
    let audio = &file[usize::try_from(head.data_start).ok()?..];
    audio.get(..promised).map(<[u8]>::to_vec)
}

fn finished(sink: Box<dyn RecordingSink>) -> Result<SavedRecording, RecordingFault> {
    let (tell, told) = mpsc::channel();
    sink.finish(Box::new(move |result| tell.send(result).unwrap()));
    told.recv_timeout(PATIENCE).unwrap()
}

fn is_open(path: &Path) -> bool {
    fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .any(|target| target == path)
}

#[test]
fn a_file_is_whole_after_every_piece_and_when_it_is_finished() {
    let place = place(1 << 20);
    let info = info("rec");
    let mut sink = place.folder.begin(info.clone()).unwrap();
    let mut sent = Vec::new();
    for piece in 1..=20_u8 {
        let bytes = vec![piece; 199 + usize::from(piece)];
        sink.write(bytes.clone().into()).unwrap();
        sent.extend(bytes);
        eventually("the piece is in the file", || {
            audio(&place.path(&info)).filter(|audio| *audio == sent)
        });
    }
    let saved = finished(sink).unwrap();
    assert_eq!(saved.path, place.path(&info));
    assert!(saved.path.is_absolute());
    assert_eq!(saved.audio_bytes, sent.len() as u64);
    assert_eq!(audio(&saved.path), Some(sent));
    assert!(!is_open(&saved.path));
}

#[test]
fn an_odd_recording_is_padded_and_the_pad_is_not_counted() {
    let place = place(1 << 20);
    let mut sink = place.folder.begin(info("rec")).unwrap();
    sink.write(vec![7; 161].into()).unwrap();
    let saved = finished(sink).unwrap();
    assert_eq!(saved.audio_bytes, 161);
    assert_eq!(fs::metadata(&saved.path).unwrap().len() % 2, 0);
    assert_eq!(audio(&saved.path), Some(vec![7; 161]));
}

#[test]
fn a_recording_without_audio_is_an_empty_file_that_can_be_read() {
    let place = place(1 << 20);
    let saved = finished(place.folder.begin(info("rec")).unwrap()).unwrap();
    assert_eq!(saved.audio_bytes, 0);
    assert_eq!(audio(&saved.path), Some(Vec::new()));
}

#[test]
fn others_on_the_machine_cannot_listen() {
    let place = place(1 << 20);
    let saved = finished(place.folder.begin(info("rec")).unwrap()).unwrap();
    let mode = fs::metadata(saved.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o007, 0, "{mode:o}");
}

#[test]
fn a_full_backlog_refuses_audio_and_takes_it_again_once_there_is_room() {
    let place = place(1_000);
    let mut sink = place.folder.begin(info("rec")).unwrap();
    assert_eq!(sink.write(vec![1; 1_001].into()), Err(RecordingFault::Full));
    for _ in 0..10 {
        eventually("there is room", || sink.write(vec![2; 1_000].into()).ok());
    }
    assert_eq!(finished(sink).unwrap().audio_bytes, 10_000);
    assert_eq!(place.folder.backlog.waiting.load(Ordering::Acquire), 0);
}

#[test]
fn a_folder_that_cannot_be_written_fails_the_recording_and_no_other() {
    let place = place(1 << 20);
    fs::write(place.folder.folder.join("bad"), "in the way").unwrap();
    let mut broken = info("rec");
    broken.tenant = "bad".parse().unwrap();
    let mut sink = place.folder.begin(broken).unwrap();
    let fault = eventually("the fault is told", || sink.write(vec![1; 10].into()).err());
    assert!(matches!(fault, RecordingFault::Failed(_)), "{fault}");
    assert!(matches!(finished(sink), Err(RecordingFault::Failed(_))));
    let mut other = place.folder.begin(info("rec")).unwrap();
    other.write(vec![1; 10].into()).unwrap();
    assert_eq!(finished(other).unwrap().audio_bytes, 10);
}

#[test]
fn a_sink_that_is_dropped_closes_its_file_with_what_it_took() {
    let place = place(1 << 20);
    let info = info("rec");
    let mut sink = place.folder.begin(info.clone()).unwrap();
    sink.write(vec![3; 500].into()).unwrap();
    drop(sink);
    let path = place.path(&info);
    eventually("the file is closed", || {
        (path.exists() && !is_open(&path)).then_some(())
    });
    assert_eq!(audio(&path), Some(vec![3; 500]));
}

#[test]
fn two_recorders_of_one_session_write_two_files() {
    let place = place(1 << 20);
    let one = info("one");
    let other = RecordingInfo {
        node: "other".to_owned(),
        ..one.clone()
    };
    let mut sinks = [one, other].map(|info| place.folder.begin(info).unwrap());
    for (number, sink) in sinks.iter_mut().enumerate() {
        sink.write(vec![u8::try_from(number).unwrap(); 100].into())
            .unwrap();
    }
    let [one, other] = sinks.map(|sink| finished(sink).unwrap());
    assert_ne!(one.path, other.path);
    assert_eq!(audio(&one.path), Some(vec![0; 100]));
    assert_eq!(audio(&other.path), Some(vec![1; 100]));
}

#[test]
fn a_recording_that_is_there_is_never_written_over() {
    let place = place(1 << 20);
    let info = info("rec");
    let mut first = place.folder.begin(info.clone()).unwrap();
    first.write(vec![1; 100].into()).unwrap();
    let first = finished(first).unwrap();
    let mut second = place.folder.begin(info).unwrap();
    let _ = second.write(vec![2; 50].into());
    assert!(matches!(finished(second), Err(RecordingFault::Failed(_))));
    assert_eq!(audio(&first.path), Some(vec![1; 100]));
}

#[test]
fn closing_writes_what_is_queued_and_takes_nothing_more() {
    let place = place(1 << 20);
    let (tell, told) = mpsc::channel();
    let infos: Vec<_> = (0..20).map(|_| info("rec")).collect();
    let mut kept = Vec::new();
    for (number, info) in infos.iter().enumerate() {
        let mut sink = place.folder.begin(info.clone()).unwrap();
        for _ in 0..50 {
            sink.write(vec![9; 100].into()).unwrap();
        }
        if number % 2 == 0 {
            let tell = tell.clone();
            sink.finish(Box::new(move |result| tell.send(result).unwrap()));
        } else {
            // A session that is still there when the service goes.
            kept.push(sink);
        }
    }
    place.folder.close();
    assert_eq!(told.try_iter().filter(Result::is_ok).count(), 10);
    for info in &infos {
        assert_eq!(audio(&place.path(info)), Some(vec![9; 5_000]));
    }
    assert!(matches!(
        kept[0].write(vec![1; 10].into()),
        Err(RecordingFault::Failed(_))
    ));
    let late = place.folder.begin(info("late"));
    assert!(matches!(late.err(), Some(RecordingFault::Failed(_))));
    assert!(place.temporary.path().exists());
}

#[test]
fn a_folder_that_cannot_be_made_is_said_at_once() {
    let temporary = tempfile::tempdir().unwrap();
    fs::write(temporary.path().join("file"), "").unwrap();
    assert!(Folder::open(temporary.path().join("file/recordings"), 1_000).is_err());
}
