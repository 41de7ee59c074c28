//! Whether this node carries, and whether something is on its way: what its lease needs to know before it is given.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use crate::{
    inbox::Signal,
    node::{Holder, Node, Share, Slots},
};

/// Where a relay works, if it is its turn.
pub(super) struct Desk {
    pub(super) signal: Arc<Signal>,
    pub(super) share: Arc<Share>,
    busy: AtomicBool,
}

impl Desk {
    pub(super) fn new(signal: Arc<Signal>, share: Arc<Share>) -> Self {
        Desk { signal, share, busy: AtomicBool::new(false) }
    }

    /// Begins something. `None`: another node carries these messages.
    pub(super) fn begin<'a>(&'a self, node: &'a Node) -> Option<Turn<'a>> {
        // Busy first: whoever takes the part away looks at it after saying so, and sees one of both.
        self.busy.store(true, SeqCst);
        let turn = Turn { desk: self, node };
        (self.share.fetchable() != 0).then_some(turn)
    }
}

/// Something is on its way until this is dropped.
pub(super) struct Turn<'a> {
    desk: &'a Desk,
    node: &'a Node,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.desk.busy.store(false, SeqCst);
        if self.desk.share.is_draining() {
            self.node.bell.notify_one();
        }
    }
}

impl Holder for Desk {
    fn granted(&self) {
        self.signal.look_at_everything();
    }

    fn leave(&self, slots: Slots) -> Slots {
        if self.busy.load(SeqCst) { slots } else { 0 }
    }
}
