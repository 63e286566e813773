use super::*;
use crate::sound::*;
fn run(hertz: u32, s: &[f64], settings: Settings) -> Vec<Change> {
    let mut v = VoiceActivity::new(rate(hertz), settings);
    let mut out = vec![];
    for c in quantized(s).chunks(hertz as usize / 50) {
        v.push(c, &mut out);
    }
    v.finish(&mut out);
    out
}
fn spans(hertz: u32, c: &[Change]) -> Vec<(i64, i64)> {
    c.iter()
        .filter_map(|c| match c {
            Change::Ended {
                start_frame,
                end_frame,
                ..
            } => Some((
                (start_frame * 1000 / u64::from(hertz)) as i64,
                (end_frame * 1000 / u64::from(hertz)) as i64,
            )),
            _ => None,
        })
        .collect()
}
#[test]
fn explore_va() {
    for hertz in [8000, 16000, 44100, 48000] {
        for floor in [None, Some(-60.0), Some(-50.0), Some(-40.0)] {
            for v in 0..4 {
                let sp = speech(v, hertz);
                let mut s = [
                    silence(hertz, 900),
                    sp.clone(),
                    silence(hertz, 1200),
                    sp.clone(),
                    silence(hertz, 700),
                ]
                .concat();
                let l = (sp.len() * 1000 / hertz as usize) as i64;
                if let Some(f) = floor {
                    s = mixed(
                        &s,
                        &noise(hertz, (s.len() * 1000 / hertz as usize) as u32, f, 7),
                    );
                }
                let got = spans(hertz, &run(hertz, &s, Settings::default()));
                let want = [(900, 900 + l), (2100 + l, 2100 + 2 * l)];
                if got.len() == 2 {
                    let e: Vec<_> = got
                        .iter()
                        .zip(want)
                        .map(|(g, w)| (g.0 - w.0, g.1 - w.1))
                        .collect();
                    println!("{hertz} {floor:?} v{v} {e:?}");
                } else {
                    println!("{hertz} {floor:?} v{v} BAD {got:?} {want:?}");
                }
            }
        }
        for db in [-60.0, -50.0, -40.0, -30.0, -20.0] {
            for lead in [0, 1000] {
                let a = spans(
                    hertz,
                    &run(
                        hertz,
                        &[
                            silence(hertz, lead),
                            noise(hertz, 5000, db, 3),
                            silence(hertz, 1000),
                        ]
                        .concat(),
                        Settings::default(),
                    ),
                );
                let b = spans(
                    hertz,
                    &run(
                        hertz,
                        &[
                            silence(hertz, lead),
                            pink_noise(hertz, 5000, db, 3),
                            silence(hertz, 1000),
                        ]
                        .concat(),
                        Settings::default(),
                    ),
                );
                println!("{hertz} noise {db} lead {lead} white {a:?} pink {b:?}");
            }
        }
        for f in (100..4000).step_by(50) {
            for db in [-40.0, -30.0, -20.0, -10.0, -3.0] {
                let a = spans(
                    hertz,
                    &run(
                        hertz,
                        &[
                            silence(hertz, 500),
                            tone(hertz, 1500, f64::from(f), db),
                            silence(hertz, 1000),
                        ]
                        .concat(),
                        Settings::default(),
                    ),
                );
                if !a.is_empty() {
                    println!("{hertz} tone {f} {db} {a:?}");
                }
            }
        }
    }
}
