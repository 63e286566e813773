//! From a verdict on every block of audio to utterances. Counts blocks and knows nothing of sound.

/// An utterance is dated back to where it may have begun, but by no more blocks than this before the first certain
/// one: in noise the doubtful blocks before a word may go on for ever. 320 ms are a slow syllable.
const FURTHEST_BACK: u64 = 20;
/// Blocks of sound just before the first that may be speech, which an utterance takes in: the detector needs up to
/// three to notice a voice.
const ONSET: u64 = 3;
/// Blocks without speech that end what has not become an utterance yet. 80 ms are a long stop consonant.
const LONGEST_GAP: u64 = 5;

/// What one block of audio seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Certainly speech: enough of it begins an utterance.
    Speech,
    /// Not certainly speech, nor certainly not: goes on with what is there, begins and ends nothing.
    Perhaps,
    /// No speech, but a sound: the first of it may belong to an utterance, if one begins at once.
    Sound,
    /// No speech: enough of it ends an utterance.
    Silence,
}

/// How much of what it takes, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Blocks of speech that begin an utterance, 1 or more.
    pub(super) speech: u64,
    /// Blocks of silence that end one, 1 or more.
    pub(super) silence: u64,
    /// The longest utterance, 1 or more; none for no such limit.
    pub(super) longest: Option<u64>,
}

/// Why an utterance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// It was followed by silence.
    Silence,
    /// It reached the longest that an utterance may be; the next one begins where it ended.
    MaximumSpeech,
    /// The audio ended.
    EndOfAudio,
}

/// An edge of an utterance, before the block with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Start(u64),
    End(u64, EndReason),
}

/// Finds the utterances in a row of verdicts.
#[derive(Debug)]
pub(super) struct Segmenter {
    limits: Limits,
    /// Blocks seen.
    blocks: u64,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Waiting(Candidate),
    Talking(Utterance),
}

/// What may become an utterance.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Its first block, of sound or of what may be speech.
    since: u64,
    /// The first certain block of those that are counted in `speech`.
    certain: u64,
    /// Certain blocks, less the doubtful ones and the gaps between them.
    speech: u64,
    /// Blocks without speech since the last that may have been some; none before the first of those.
    gap: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Utterance {
    start: u64,
    /// Blocks of silence since the last that was none.
    silent: u64,
}

impl Candidate {
    const fn none(next_block: u64) -> Self {
        Self {
            since: next_block,
            certain: next_block,
            speech: 0,
            gap: None,
        }
    }

    fn after(self, block: u64, verdict: Verdict) -> Self {
        // Doubt takes away what certainty gave: now and then a certain block is no speech.
        let less = self.speech.saturating_sub(1);
        let certain = if self.speech == 0 {
            block
        } else {
            self.certain
        };
        match (verdict, self.gap) {
            (Verdict::Speech, _) => Self {
                certain,
                speech: self.speech + 1,
                gap: Some(0),
                ..self
            },
            (Verdict::Perhaps, _) => Self {
                speech: less,
                gap: Some(0),
                ..self
            },
            (Verdict::Sound, None) => Self {
                since: self.since.max((block + 1).saturating_sub(ONSET)),
                ..self
            },
            (_, Some(gap)) if gap + 1 < LONGEST_GAP => Self {
                speech: less,
                gap: Some(gap + 1),
                ..self
            },
            _ => Self::none(block + 1),
        }
    }
}

impl Segmenter {
    pub(super) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            blocks: 0,
            state: State::Waiting(Candidate::none(0)),
        }
    }

    /// Changes the limits from the next block on.
    pub(super) const fn set(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Takes the verdict on the next block and appends the edges that it settles, in order.
    pub(super) fn push(&mut self, verdict: Verdict, edges: &mut Vec<Edge>) {
        let block = self.blocks;
        self.blocks += 1;
        self.state = match self.state {
            State::Waiting(candidate) => self.wait(candidate.after(block, verdict), edges),
            State::Talking(utterance) => match verdict {
                Verdict::Speech | Verdict::Perhaps => self.talk(utterance.start, edges),
                Verdict::Sound | Verdict::Silence => self.pause(utterance, edges),
            },
        };
    }

    /// Ends the utterance that the audio ends in, if there is one, where its speech ended.
    pub(super) fn finish(&mut self, edges: &mut Vec<Edge>) {
        if let State::Talking(utterance) = self.state {
            edges.push(Edge::End(
                self.blocks - utterance.silent,
                EndReason::EndOfAudio,
            ));
        }
        self.state = State::Waiting(Candidate::none(self.blocks));
    }

    fn wait(&self, candidate: Candidate, edges: &mut Vec<Edge>) -> State {
        if candidate.speech < self.limits.speech {
            return State::Waiting(candidate);
        }
        let start = candidate
            .since
            .max(candidate.certain.saturating_sub(FURTHEST_BACK));
        edges.push(Edge::Start(start));
        self.talk(start, edges)
    }

    /// Goes on with an utterance that has just gone on, and splits it where it has become too long.
    fn talk(&self, mut start: u64, edges: &mut Vec<Edge>) -> State {
        // Only a block beyond the limit splits, so that the next utterance has at least that block.
        while let Some(end) = self
            .limits
            .longest
            .map(|longest| start + longest)
            .filter(|end| *end < self.blocks)
        {
            edges.push(Edge::End(end, EndReason::MaximumSpeech));
            edges.push(Edge::Start(end));
            start = end;
        }
        State::Talking(Utterance { start, silent: 0 })
    }

    fn pause(&self, Utterance { start, silent }: Utterance, edges: &mut Vec<Edge>) -> State {
        let silent = silent + 1;
        if silent < self.limits.silence {
            return State::Talking(Utterance { start, silent });
        }
        edges.push(Edge::End(self.blocks - silent, EndReason::Silence));
        State::Waiting(Candidate::none(self.blocks))
    }
}

#[cfg(test)]
mod tests;
