//! Sums that run side by side, so that the compiler may use vector registers: it must not reorder one sum of floats.

/// Sums that run side by side: what one vector register holds on every 64-bit processor.
pub(super) const LANES: usize = 4;

/// One value for each of the sums.
pub(super) type Lanes = [f32; LANES];

/// The sum of two.
pub(super) fn sum(one: &Lanes, other: &Lanes) -> Lanes {
    let mut sum = *one;
    for (lane, more) in sum.iter_mut().zip(other) {
        *lane += more;
    }
    sum
}

/// Adds the products of `one` and `other` to `sums`.
pub(super) fn accumulate(sums: &mut Lanes, one: &Lanes, other: &Lanes) {
    for ((sum, one), other) in sums.iter_mut().zip(one).zip(other) {
        *sum += one * other;
    }
}

/// The sum of the products of two rows, as far as both reach in whole steps of eight.
pub(super) fn product(one: &[f32], other: &[f32]) -> f32 {
    // Two registers: the second adds while the first one waits for its last sum.
    let (mut even, mut odd) = (Lanes::default(), Lanes::default());
    for ([a, b], [c, d]) in steps(one).iter().zip(steps(other)) {
        accumulate(&mut even, a, c);
        accumulate(&mut odd, b, d);
    }
    sum(&even, &odd).iter().sum()
}

fn steps(row: &[f32]) -> &[[Lanes; 2]] {
    row.as_chunks::<LANES>().0.as_chunks::<2>().0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_of_two_rows_ends_with_the_shorter_one() {
        let row: Vec<_> = (1..=24).map(|n| n as f32).collect();
        assert_eq!(product(&row, &row), 4_900.0);
        assert_eq!(product(&row, &row[..17]), 1_496.0);
        assert_eq!(product(&row, &[]), 0.0);
    }
}
