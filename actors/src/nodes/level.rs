//! `level`: how loud each channel is, each so many milliseconds.

use callwright_domain::audio::SampleRate;
use callwright_domain::event::{Event, names};
use callwright_domain::flow::{
    AudioBlock, Emitter, Hears, Node, NodeFault, NodeSchema, SettingKind, SettingSpec,
};
use callwright_domain::level::{Meter, Reading};

use super::NodeContext;

pub(super) const SCHEMA: NodeSchema = NodeSchema {
    name: "level",
    help: "Says `Level` with `Data.PeakDbfs` and `Data.RmsDbfs` of each channel at every interval.",
    hears: Hears::Samples,
    settings: &[SettingSpec {
        name: "interval-ms",
        kind: SettingKind::Integer {
            least: 20,
            most: 60_000,
        },
        default: "1000",
        help: "Length of the stretch that one reading covers, in milliseconds of audio.",
    }],
};

pub(super) struct LevelNode {
    rate: SampleRate,
    meters: Vec<Meter>,
    readings: Vec<Reading>,
}

impl LevelNode {
    pub(super) fn new(context: NodeContext) -> Self {
        let (rate, interval) = (context.format.rate, context.settings.count("interval-ms"));
        let meters = (0..context.format.channels)
            .map(|_| Meter::new(rate, interval))
            .collect();
        Self {
            rate,
            meters,
            readings: Vec::new(),
        }
    }

    fn say(&mut self, channel: u8, out: &mut Emitter) {
        for reading in self.readings.drain(..) {
            let (start, end) = (
                self.rate.msec_of(reading.start_frame),
                self.rate.msec_of(reading.end_frame),
            );
            let event = Event::new(names::LEVEL)
                .on_channel(channel)
                .spanning(start, end)
                .with("PeakDbfs", tenths(reading.peak_dbfs))
                .with("RmsDbfs", tenths(reading.rms_dbfs));
            out.event(event);
        }
    }
}

/// A tenth of a decibel is finer than anyone hears.
fn tenths(decibels: f64) -> f64 {
    (decibels * 10.0).round() / 10.0
}

impl Node for LevelNode {
    fn audio(&mut self, audio: &AudioBlock<'_>, out: &mut Emitter) -> Result<(), NodeFault> {
        for (channel, samples) in (0..).zip(audio.channels) {
            if let Some(meter) = self.meters.get_mut(usize::from(channel)) {
                meter.push(samples, &mut self.readings);
            }
            self.say(channel, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), NodeFault> {
        for channel in 0..u8::try_from(self.meters.len()).unwrap_or(u8::MAX) {
            if let Some(meter) = self.meters.get_mut(usize::from(channel)) {
                meter.finish(&mut self.readings);
            }
            self.say(channel, out);
        }
        Ok(())
    }
}
