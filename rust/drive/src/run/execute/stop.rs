//! The wish to stop, for a thread that waits on a server.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;

use inrush_engines::engine::abort::Abort;
use inrush_engines::engine::Context;

/// A statement of the run itself may go on for so long after the wish to stop.
const STOP_GRACE: Duration = Duration::from_millis(500);
const STOP_LOOK: Duration = Duration::from_millis(50);

/// Ends what this thread waits for on a server once the run is to stop: a statement that hangs is no reason to go on.
/// Sessions that drive have their own end. Dropping what is returned ends the watch.
pub(super) fn heed_stop(context: &Context) -> Option<Sender<()>> {
    let (stop, abort) = (context.stop.clone(), Arc::new(Abort::default()));
    let (running, ended) = channel();
    abort.adopt();
    let watch = move || {
        let mut left = STOP_GRACE;
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(STOP_LOOK) {
            if stop.load(Relaxed) {
                left = left.saturating_sub(STOP_LOOK);
            }
            if left.is_zero() {
                abort.give_up();
            }
        }
    };
    // Without it a stop waits for the statement in hand.
    std::thread::Builder::new().name("inrush-stop".into()).spawn(watch).ok().map(|_| running)
}
