//! The noise behind the speech: what the power of the last two seconds never fell below.

/// Blocks of 16 ms whose quietest is kept as one: 16 make 256 ms.
const GROUP: u32 = 16;
/// Groups that are remembered: 8 make 2 s. Speech has a pause or a stop consonant far more often.
const GROUPS: usize = 8;
/// Blocks before anything is known: with fewer, speech that begins with the audio would be its own noise.
const FIRST: u32 = 3;

/// The smallest power among the last 128 to 144 blocks.
#[derive(Debug)]
pub(super) struct NoiseFloor {
    groups: [f32; GROUPS],
    current: f32,
    /// Blocks in the current group.
    blocks: u32,
    first: u32,
}

impl NoiseFloor {
    pub(super) const fn new() -> Self {
        Self {
            groups: [f32::INFINITY; GROUPS],
            current: f32::INFINITY,
            blocks: 0,
            first: 0,
        }
    }

    /// Takes the power of the next block.
    pub(super) fn push(&mut self, power: f32) {
        self.first = (self.first + 1).min(FIRST);
        self.current = self.current.min(power);
        self.blocks += 1;
        if self.blocks == GROUP {
            self.groups.rotate_right(1);
            if let Some(newest) = self.groups.first_mut() {
                *newest = self.current;
            }
            self.current = f32::INFINITY;
            self.blocks = 0;
        }
    }

    /// The power of the noise, 0 while too little was heard.
    pub(super) fn power(&self) -> f32 {
        if self.first < FIRST {
            return 0.0;
        }
        self.groups.iter().copied().fold(self.current, f32::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(powers: impl IntoIterator<Item = f32>) -> f32 {
        let mut floor = NoiseFloor::new();
        for power in powers {
            floor.push(power);
        }
        floor.power()
    }

    #[test]
    fn the_quietest_block_of_the_last_two_seconds_counts() {
        assert_eq!(after([9.0, 4.0, 7.0, 8.0]), 4.0);
        let then_louder =
            |blocks: usize| std::iter::once(1.0).chain(std::iter::repeat_n(5.0, blocks));
        assert_eq!(after(then_louder(127)), 1.0);
        assert_eq!(after(then_louder(144)), 5.0);
    }

    #[test]
    fn the_first_blocks_are_no_noise_yet() {
        assert_eq!(after([]), 0.0);
        assert_eq!(after([3.0, 3.0]), 0.0);
        assert_eq!(after([3.0, 3.0, 3.0]), 3.0);
    }
}
