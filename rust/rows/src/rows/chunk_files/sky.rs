//! The chunks that a sky is cut into, and their numbers in the order in which files are listed.

use std::sync::OnceLock;

/// Bands of one height from pole to pole.
const STRIPES: u32 = 340;
/// Numbers of a stripe; no stripe has as many chunks.
const NUMBERS: u32 = 2 * STRIPES;
const DEGREES: f64 = 180.0 / STRIPES as f64;
/// Chunks of the whole sky.
pub const CHUNKS: u64 = 146_332;

/// Numbers of `files` chunks, spread evenly over the sky: by the text of the number, as `ls` lists files.
pub fn chunk_numbers(files: u64) -> Vec<u32> {
    static LISTED: OnceLock<Vec<u32>> = OnceLock::new();
    let all = LISTED.get_or_init(listed);
    (0..files).map(|file| all[(file * all.len() as u64 / files) as usize]).collect()
}

fn listed() -> Vec<u32> {
    let mut all: Vec<u32> = (0..STRIPES)
        .flat_map(|stripe| (0..chunks_of(stripe)).map(move |chunk| stripe * NUMBERS + chunk))
        .collect();
    all.sort_by_cached_key(u32::to_string);
    all
}

/// So many that neighbours are as far apart as a stripe is high, at the end of it that is nearer to a pole.
fn chunks_of(stripe: u32) -> u32 {
    let from_equator = |edge: u32| edge.abs_diff(STRIPES / 2) as f64 * DEGREES;
    let latitude = from_equator(stripe).max(from_equator(stripe + 1));
    if latitude >= 90.0 {
        return 1;
    }
    let (sine, cosine) = (libm::sin(latitude.to_radians()), libm::cos(latitude.to_radians()));
    // cos(apart) = sin² + cos² · cos(longitude), of two points at one latitude.
    let longitude = libm::acos((libm::cos(DEGREES.to_radians()) - sine * sine) / (cosine * cosine));
    (std::f64::consts::TAU / longitude) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sky_has_the_published_number_of_chunks_in_the_order_of_their_texts() {
        let all = chunk_numbers(CHUNKS);
        assert_eq!(listed().len() as u64, CHUNKS);
        let texts: Vec<String> = all.iter().map(u32::to_string).collect();
        assert!(texts.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(all[..4], [0, 100_000, 100_001, 100_002]);
        let few = chunk_numbers(1_000);
        assert!(few.iter().all(|chunk| all.contains(chunk)));
        assert!(few.windows(2).all(|pair| pair[0].to_string() < pair[1].to_string()));
    }

    #[test]
    fn a_stripe_has_most_chunks_at_the_equator_and_one_at_a_pole() {
        let chunks: Vec<u32> = (0..STRIPES).map(chunks_of).collect();
        assert_eq!((chunks[0], chunks[1], chunks[169], chunks[339]), (1, 5, 679, 1));
        assert!(chunks.iter().eq(chunks.iter().rev()), "north as south");
    }
}
