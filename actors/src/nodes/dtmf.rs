//! `dtmf`: keys pressed on the telephone, one detector per channel.

use callwright_domain::audio::SampleRate;
use callwright_domain::dtmf::{Detector, Tone};
use callwright_domain::event::{Event, names};
use callwright_domain::flow::{AudioBlock, Emitter, Hears, Node, NodeFault, NodeSchema};

use super::NodeContext;

pub(super) const SCHEMA: NodeSchema = NodeSchema {
    name: "dtmf",
    help: "Says `DTMF` with `Data.Digit` for each key pressed: 0-9, *, #, A-D, tones of 40 ms and more.",
    hears: Hears::Samples,
    settings: &[],
};

pub(super) struct DtmfNode {
    rate: SampleRate,
    detectors: Vec<Detector>,
    tones: Vec<Tone>,
}

impl DtmfNode {
    pub(super) fn new(context: NodeContext) -> Self {
        let rate = context.format.rate;
        let detectors = (0..context.format.channels)
            .map(|_| Detector::new(rate))
            .collect();
        Self {
            rate,
            detectors,
            tones: Vec::new(),
        }
    }

    fn say(&mut self, channel: u8, out: &mut Emitter) {
        for tone in self.tones.drain(..) {
            let (start, end) = (
                self.rate.msec_of(tone.start_frame),
                self.rate.msec_of(tone.end_frame),
            );
            let event = Event::new(names::DTMF)
                .on_channel(channel)
                .spanning(start, end);
            out.event(event.with("Digit", tone.digit.to_string()));
        }
    }
}

impl Node for DtmfNode {
    fn audio(&mut self, audio: &AudioBlock<'_>, out: &mut Emitter) -> Result<(), NodeFault> {
        for (channel, samples) in (0..).zip(audio.channels) {
            if let Some(detector) = self.detectors.get_mut(usize::from(channel)) {
                detector.push(samples, &mut self.tones);
            }
            self.say(channel, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), NodeFault> {
        for channel in 0..u8::try_from(self.detectors.len()).unwrap_or(u8::MAX) {
            if let Some(detector) = self.detectors.get_mut(usize::from(channel)) {
                detector.finish(&mut self.tones);
            }
            self.say(channel, out);
        }
        Ok(())
    }
}
