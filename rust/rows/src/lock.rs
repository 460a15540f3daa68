//! Locks of which a holder may have panicked.

use std::sync::PoisonError;

pub trait Unpoisoned<T> {
    /// What the lock guards, even after a panic of its holder: every change under our locks leaves it whole.
    fn unpoisoned(self) -> T;
}

impl<T> Unpoisoned<T> for Result<T, PoisonError<T>> {
    fn unpoisoned(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
