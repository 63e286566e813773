mod talk_off;

use proptest::prelude::*;

use super::bank::FREQUENCIES;
use super::*;
use crate::audio::Encoding;
use crate::sound::{self, mixed, noise, quantized, silence, tone};

const RATES: [u32; 5] = [8_000, 11_025, 16_000, 44_100, 48_000];
const DIGITS: &str = "123A456B789C*0#D";
/// How far a start or an end may lie from the truth.
const TOLERANCE_MSEC: i64 = 15;

/// A key press to be played.
#[derive(Clone, Copy, Debug)]
struct Press {
    digit: char,
    msec: u32,
    /// The power of both tones together, relative to a full-scale square wave.
    dbfs: f64,
    /// How much stronger the row is than the column, in dB.
    twist: f64,
    /// By what factor the frequencies are off.
    detuned: f64,
}

const PRESS: Press = Press {
    digit: '5',
    msec: 80,
    dbfs: -12.0,
    twist: 0.0,
    detuned: 1.0,
};

impl Press {
    fn play(self, hertz: u32) -> Vec<f64> {
        let place = DIGITS.find(self.digit).unwrap();
        let [row, column] =
            [FREQUENCIES[place / 4], FREQUENCIES[4 + place % 4]].map(|f| f * self.detuned);
        let column_share = 1.0 / (1.0 + 10_f64.powf(self.twist / 10.0));
        // A sine that reaches full scale has a mean square of one half.
        let level = |share: f64| self.dbfs + 10.0 * (2.0 * share).log10();
        mixed(
            &tone(hertz, self.msec, row, level(1.0 - column_share)),
            &tone(hertz, self.msec, column, level(column_share)),
        )
    }
}

fn tones(hertz: u32, samples: &[i16]) -> Vec<Tone> {
    let mut detector = Detector::new(sound::rate(hertz));
    let mut out = Vec::new();
    for chunk in samples.chunks(hertz as usize / 50) {
        detector.push(chunk, &mut out);
    }
    detector.finish(&mut out);
    out
}

fn digits(hertz: u32, samples: &[f64]) -> String {
    tones(hertz, &quantized(samples))
        .iter()
        .map(|tone| tone.digit)
        .collect()
}

/// Frames put before a press, so that its beginning falls differently into the pieces.
fn shifted(hertz: u32, shift: usize, press: &[f64]) -> Vec<f64> {
    let before = silence(hertz, 100);
    let shift = shift * hertz as usize / 1_600;
    [
        before,
        vec![0.0; shift],
        press.to_vec(),
        silence(hertz, 100),
    ]
    .concat()
}

/// A press must be found, alone and where it is, at every rate and however it falls into the pieces.
fn check_found(press: Press) {
    for hertz in RATES {
        for shift in 0..9 {
            let call = shifted(hertz, shift, &press.play(hertz));
            check_place(hertz, &call, 100.0 + shift as f64 * 0.625, press);
        }
    }
}

fn check_place(hertz: u32, call: &[f64], start_msec: f64, press: Press) {
    let found = tones(hertz, &quantized(call));
    let [tone] = found[..] else {
        panic!("{press:?} at {hertz} Hz: {found:?}")
    };
    assert_eq!(tone.digit, press.digit, "at {hertz} Hz");
    let msec = |frame: u64| frame as f64 * 1_000.0 / f64::from(hertz);
    let (start, end) = (
        msec(tone.start_frame) - start_msec,
        msec(tone.end_frame) - start_msec - f64::from(press.msec),
    );
    let close = |off: f64| off.abs() <= TOLERANCE_MSEC as f64;
    assert!(
        close(start) && close(end),
        "{press:?} at {hertz} Hz: off by {start} and {end} ms"
    );
}

/// A press must not be found, however it falls into the pieces.
fn check_not_found(press: Press) {
    for hertz in RATES {
        for shift in 0..9 {
            let call = shifted(hertz, shift, &press.play(hertz));
            assert_eq!(digits(hertz, &call), "", "{press:?} at {hertz} Hz");
        }
    }
}

#[test]
fn every_digit_of_40_ms_is_found_where_it_is() {
    for digit in DIGITS.chars() {
        check_found(Press {
            digit,
            msec: 40,
            ..PRESS
        });
        check_found(Press {
            digit,
            msec: 100,
            ..PRESS
        });
    }
}

#[test]
fn no_digit_of_20_ms_or_less_is_found() {
    for digit in DIGITS.chars() {
        check_not_found(Press {
            digit,
            msec: 20,
            ..PRESS
        });
        check_not_found(Press {
            digit,
            msec: 10,
            ..PRESS
        });
    }
}

#[test]
fn digits_are_found_from_3_to_36_db_below_full_scale() {
    for digit in DIGITS.chars() {
        for dbfs in [-6.0, -20.0, -30.0, -36.0] {
            check_found(Press {
                digit,
                dbfs,
                msec: 40,
                ..PRESS
            });
        }
        // Two tones this loud are clipped at their common peaks.
        check_found(Press {
            digit,
            dbfs: -3.0,
            ..PRESS
        });
    }
}

#[test]
fn a_whisper_of_a_digit_is_not_one() {
    for digit in DIGITS.chars() {
        check_not_found(Press {
            digit,
            dbfs: -50.0,
            ..PRESS
        });
    }
}

#[test]
fn the_row_may_be_8_db_stronger_and_the_column_4() {
    for digit in DIGITS.chars() {
        for twist in [8.0, 4.0, -4.0] {
            check_found(Press {
                digit,
                twist,
                msec: 40,
                ..PRESS
            });
            check_found(Press {
                digit,
                twist,
                msec: 40,
                dbfs: -36.0,
                ..PRESS
            });
        }
    }
}

#[test]
fn tones_too_far_out_of_balance_are_no_digit() {
    for digit in DIGITS.chars() {
        for twist in [13.0, -9.0] {
            check_not_found(Press {
                digit,
                twist,
                ..PRESS
            });
        }
    }
}

#[test]
fn frequencies_off_by_one_and_a_half_percent_are_accepted() {
    for digit in DIGITS.chars() {
        for detuned in [1.015, 0.985] {
            for twist in [8.0, 0.0, -4.0] {
                check_found(Press {
                    digit,
                    detuned,
                    twist,
                    msec: 40,
                    ..PRESS
                });
            }
        }
    }
}

#[test]
fn frequencies_off_by_three_and_a_half_percent_are_refused() {
    for digit in DIGITS.chars() {
        for detuned in [1.035, 0.965, 1.05, 0.95] {
            for twist in [8.0, 0.0, -4.0] {
                check_not_found(Press {
                    digit,
                    detuned,
                    twist,
                    ..PRESS
                });
            }
        }
    }
}

#[test]
fn noise_15_db_below_does_not_hide_a_digit_nor_move_it() {
    for (n, digit) in DIGITS.chars().enumerate() {
        for hertz in RATES {
            for shift in 0..9 {
                for (twist, detuned) in [
                    (0.0, 1.0),
                    (8.0, 1.0),
                    (-4.0, 1.0),
                    (0.0, 1.015),
                    (0.0, 0.985),
                ] {
                    let press = Press {
                        digit,
                        twist,
                        detuned,
                        msec: 50,
                        ..PRESS
                    };
                    let call = shifted(hertz, shift, &press.play(hertz));
                    let hiss = noise(hertz, 300, press.dbfs - 15.0, (n * 9 + shift) as u64);
                    check_place(
                        hertz,
                        &mixed(&call, &hiss),
                        100.0 + shift as f64 * 0.625,
                        press,
                    );
                }
            }
        }
    }
}

#[test]
fn digits_survive_g711() {
    for encoding in [Encoding::Ulaw, Encoding::Alaw] {
        for dbfs in [-6.0, -36.0] {
            let presses = DIGITS.chars().map(|digit| {
                [
                    Press {
                        digit,
                        dbfs,
                        msec: 40,
                        ..PRESS
                    }
                    .play(8_000),
                    silence(8_000, 40),
                ]
                .concat()
            });
            let (mut bytes, mut samples) = (Vec::new(), Vec::new());
            encoding.encode(
                &quantized(&presses.collect::<Vec<_>>().concat()),
                &mut bytes,
            );
            encoding.decode(&bytes, &mut samples);
            let found: String = tones(8_000, &samples)
                .iter()
                .map(|tone| tone.digit)
                .collect();
            assert_eq!(found, DIGITS, "{encoding} at {dbfs} dBFS");
        }
    }
}

#[test]
fn a_pause_of_40_ms_separates_two_equal_digits() {
    for digit in DIGITS.chars() {
        for hertz in RATES {
            for shift in 0..9 {
                let press = Press {
                    digit,
                    msec: 40,
                    ..PRESS
                }
                .play(hertz);
                let twice = [press.clone(), silence(hertz, 40), press].concat();
                let call = shifted(hertz, shift, &twice);
                let hiss = noise(hertz, 400, PRESS.dbfs - 15.0, shift as u64 + 1);
                assert_eq!(
                    digits(hertz, &call),
                    format!("{digit}{digit}"),
                    "{hertz} Hz"
                );
                assert_eq!(
                    digits(hertz, &mixed(&call, &hiss)),
                    format!("{digit}{digit}"),
                    "{hertz} Hz, noise"
                );
            }
        }
    }
}

#[test]
fn a_drop_out_of_15_ms_does_not_double_a_digit() {
    for digit in DIGITS.chars() {
        for hertz in RATES {
            for shift in 0..9 {
                let mut press = Press {
                    digit,
                    msec: 120,
                    ..PRESS
                }
                .play(hertz);
                let msec = |msec: usize| msec * hertz as usize / 1_000;
                press[msec(50)..msec(65)].fill(0.0);
                let call = shifted(hertz, shift, &press);
                check_place(
                    hertz,
                    &call,
                    100.0 + shift as f64 * 0.625,
                    Press {
                        digit,
                        msec: 120,
                        ..PRESS
                    },
                );
            }
        }
    }
}

#[test]
fn different_digits_without_a_pause_are_told_apart() {
    for hertz in RATES {
        let call: Vec<_> = DIGITS
            .chars()
            .map(|digit| Press { digit, ..PRESS }.play(hertz))
            .collect();
        assert_eq!(digits(hertz, &call.concat()), DIGITS, "{hertz} Hz");
    }
}

#[test]
fn a_digit_that_the_audio_ends_in_is_told_at_the_end() {
    let mut detector = Detector::new(sound::rate(8_000));
    let mut out = Vec::new();
    detector.push(
        &quantized(&Press { msec: 40, ..PRESS }.play(8_000)),
        &mut out,
    );
    assert_eq!(out, []);
    detector.finish(&mut out);
    assert_eq!(
        out,
        [Tone {
            digit: '5',
            start_frame: 0,
            end_frame: 320
        }]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn numbers_are_read_whatever_the_cutting_into_chunks(
        number in "[0-9*#A-D]{1,8}",
        lengths in prop::collection::vec((40_u32..150, 40_u32..150), 8),
        size in 1_usize..2_000,
        hertz in 8_000_u32..=48_000,
        dbfs in -30.0..-8.0_f64,
    ) {
        let presses = number.chars().zip(&lengths).map(|(digit, (msec, pause))| {
            [Press { digit, msec: *msec, dbfs, ..PRESS }.play(hertz), silence(hertz, *pause)].concat()
        });
        let call = quantized(&presses.collect::<Vec<_>>().concat());
        let mut detector = Detector::new(sound::rate(hertz));
        let mut out = Vec::new();
        for chunk in call.chunks(size) {
            detector.push(chunk, &mut out);
        }
        detector.finish(&mut out);
        prop_assert_eq!(out.iter().map(|tone| tone.digit).collect::<String>(), number);
        let mut free_from = 0;
        for tone in out {
            prop_assert!(free_from <= tone.start_frame && tone.start_frame < tone.end_frame);
            free_from = tone.end_frame;
        }
        prop_assert!(free_from <= call.len() as u64);
    }
}
