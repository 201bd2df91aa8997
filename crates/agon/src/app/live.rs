//! Answers that are being written: what a page that is opened in mid-battle is shown, and what wakes its stream.
//!
//! The store has the last word; this is only what it does not have yet.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use agon_domain::{BattleId, Finish, Side, Sides};
use tokio::sync::watch;

/// What a model is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The request was sent, nothing has come.
    Waiting,
    /// The model is reasoning; what it reasons is not shown.
    Thinking,
    /// The answer is coming.
    Streaming,
    /// The answer ended, well or not.
    Finished,
}

impl Phase {
    /// The canonical spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Thinking => "thinking",
            Self::Streaming => "streaming",
            Self::Finished => "finished",
        }
    }
}

/// An answer that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveAnswer {
    /// The position of its turn.
    pub turn_idx: usize,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// As far as it came.
    pub text: String,
    /// What the model is doing.
    pub phase: Phase,
    /// How it ended. Set only after the store has it.
    pub finish: Option<Finish>,
}

/// Both sides' running answers of one battle.
pub type LiveAnswers = Sides<Option<LiveAnswer>>;

/// All battles with a running answer.
#[derive(Debug, Default)]
pub struct LiveBattles {
    battles: Mutex<HashMap<BattleId, watch::Sender<LiveAnswers>>>,
}

impl LiveBattles {
    /// Announces an attempt that starts now.
    pub fn begin(&self, battle: BattleId, side: Side, turn_idx: usize, attempt: u32) {
        let answer = LiveAnswer {
            turn_idx,
            attempt,
            text: String::new(),
            phase: Phase::Waiting,
            finish: None,
        };
        self.lock()
            .entry(battle)
            .or_insert_with(|| watch::Sender::new(LiveAnswers::default()))
            .send_modify(|answers| *answers.get_mut(side) = Some(answer));
    }

    /// Changes a running answer and wakes those who watch it.
    pub fn update(&self, battle: BattleId, side: Side, change: impl FnOnce(&mut LiveAnswer)) {
        if let Some(sender) = self.lock().get(&battle) {
            sender.send_modify(|answers| {
                if let Some(answer) = answers.get_mut(side) {
                    change(answer);
                }
            });
        }
    }

    /// Ends an answer; the battle is forgotten here when neither side runs.
    ///
    /// To be called after the store has the answer, so that whoever is woken finds it there.
    pub fn end(&self, battle: BattleId, side: Side, finish: Finish) {
        let mut battles = self.lock();
        let Some(sender) = battles.get(&battle) else {
            return;
        };
        sender.send_modify(|answers| {
            if let Some(answer) = answers.get_mut(side) {
                answer.phase = Phase::Finished;
                answer.finish = Some(finish);
            }
        });
        let is_over = sender
            .borrow()
            .iter()
            .all(|(_, answer)| answer.as_ref().is_none_or(|answer| answer.finish.is_some()));
        if is_over {
            battles.remove(&battle);
        }
    }

    /// The running answers of a battle; two times `None` when there are none.
    pub fn answers(&self, battle: BattleId) -> LiveAnswers {
        self.lock()
            .get(&battle)
            .map(|sender| sender.borrow().clone())
            .unwrap_or_default()
    }

    /// A stream of changes to the running answers, or `None` when nothing runs.
    pub fn watch(&self, battle: BattleId) -> Option<watch::Receiver<LiveAnswers>> {
        self.lock().get(&battle).map(watch::Sender::subscribe)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<BattleId, watch::Sender<LiveAnswers>>> {
        // A panic while the lock was held leaves at worst one stale answer, which the store corrects.
        self.battles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn watchers_see_the_newest_state_and_the_end() {
        let live = LiveBattles::default();
        let battle = BattleId::from_bytes([7; 16]);
        assert!(live.watch(battle).is_none());
        live.begin(battle, Side::A, 0, 1);
        live.begin(battle, Side::B, 0, 1);
        let mut watcher = live.watch(battle).unwrap();
        live.update(battle, Side::A, |answer| answer.text.push_str("Hello"));
        watcher.changed().await.unwrap();
        assert_eq!(
            watcher.borrow_and_update().a.as_ref().unwrap().text,
            "Hello"
        );
        live.end(battle, Side::A, Finish::Stop);
        assert!(live.watch(battle).is_some());
        live.end(battle, Side::B, Finish::Cut);
        watcher.changed().await.unwrap();
        assert_eq!(
            watcher.borrow_and_update().b.as_ref().unwrap().finish,
            Some(Finish::Cut)
        );
        assert!(
            watcher.changed().await.is_err(),
            "the stream ends with the last answer"
        );
        assert!(live.watch(battle).is_none());
        assert_eq!(live.answers(battle), LiveAnswers::default());
    }
}
