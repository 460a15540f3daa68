//! Which lies there are, how a plan names them, and when each strikes.

use inrush_rows::error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    Drop,
    Double,
    Swap,
    CutMs,
    NullToZero,
    RoundF32,
    Lose,
    Answer,
    Short,
    OtherKey,
    SwapAnswers,
    Swallow,
    Twice,
    Late,
    Refuse,
    Conflict,
    Overload,
    Cut,
    CutBefore,
    CutHalf,
    CutTwice,
    CutChanged,
    Forget,
    Undone,
    OtherVersion,
    Stale,
    AnswerDrop,
    AnswerDouble,
    AnswerSwap,
    AnswerTurn,
}

#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub lie: Lie,
    pub every: u64,
}

/// Faults with their names, and how rarely each strikes when the plan does not say.
const FAULTS: [(&str, Lie, u64); 30] = [
    ("drop", Lie::Drop, 1000),
    ("double", Lie::Double, 1000),
    ("swap", Lie::Swap, 1000),
    ("cut_ms", Lie::CutMs, 1),
    ("null_to_zero", Lie::NullToZero, 1),
    ("round_f32", Lie::RoundF32, 1),
    ("lose", Lie::Lose, 10),
    ("lie", Lie::Answer, 1),
    ("short", Lie::Short, 10),
    ("other_key", Lie::OtherKey, 10),
    ("swap_answers", Lie::SwapAnswers, 10),
    ("swallow", Lie::Swallow, 10),
    ("twice", Lie::Twice, 10),
    ("late", Lie::Late, 10),
    ("refuse", Lie::Refuse, 10),
    ("conflict", Lie::Conflict, 10),
    ("overload", Lie::Overload, 10),
    ("cut", Lie::Cut, 10),
    ("cut_before", Lie::CutBefore, 10),
    ("cut_half", Lie::CutHalf, 10),
    ("cut_twice", Lie::CutTwice, 10),
    ("cut_changed", Lie::CutChanged, 10),
    ("forget", Lie::Forget, 10),
    ("undone", Lie::Undone, 10),
    ("other_version", Lie::OtherVersion, 10),
    ("stale", Lie::Stale, 10),
    ("answer_drop", Lie::AnswerDrop, 1000),
    ("answer_double", Lie::AnswerDouble, 1000),
    ("answer_swap", Lie::AnswerSwap, 1000),
    ("answer_turn", Lie::AnswerTurn, 1000),
];

pub fn parse(text: &str) -> Result<Fault, Error> {
    let (name, every) = text.split_once(':').map_or((text, None), |(name, every)| (name, Some(every)));
    let known = FAULTS.iter().find(|(known, ..)| *known == name);
    let every = every.map_or(Some(None), |n| n.parse().ok().filter(|&n| n > 0).map(Some));
    match (known, every) {
        (Some((_, lie, usual)), Some(every)) => Ok(Fault { lie: *lie, every: every.unwrap_or(*usual) }),
        _ => {
            let names: Vec<&str> = FAULTS.iter().map(|(name, ..)| *name).collect();
            Err(Error::Plan(format!(
                "target.faults holds {text}; a fault is name or name:every, one of {names:?}"
            )))
        }
    }
}

pub fn strikes(faults: &[Fault], lie: Lie, count: u64) -> bool {
    faults.iter().any(|fault| fault.lie == lie && count.is_multiple_of(fault.every))
}
