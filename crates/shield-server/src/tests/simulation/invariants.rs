//! What must hold, looked up in the server's own store.

use shield_privacy::filter::Price;

use super::history::{History, Known, Violation};
use crate::store::{Object, StoredBallot};

impl History {
    /// What must hold after every step, of all that the step may have changed.
    pub(super) async fn check(&mut self) -> Result<(), Violation> {
        let touched = std::mem::take(&mut self.touched);
        for place in touched.elections {
            self.check_ballots(&self.elections[place]).await?;
        }
        if touched.ledger { self.check_ledger().await } else { Ok(()) }
    }

    /// Nothing acknowledged is lost, and nothing is counted twice.
    async fn check_ballots(&self, known: &Known) -> Result<(), Violation> {
        let service = &self.world.service;
        let name = known.file.name();
        for ((teacher, batch), hash) in &known.acknowledged {
            let object = Object::Ballot {
                teacher: u32::try_from(*teacher).unwrap(),
                batch: u32::try_from(*batch).unwrap(),
            };
            let there = service.store.read(name, object, hash).is_ok();
            if !there && !self.is_aside(hash) {
                let what = format!("{name}: the ballot of t{teacher}, batch {batch}, is lost");
                return Err(self.violated(what));
            }
        }
        if service.store.election(name).await.is_ok() {
            let rows = service.store.ballots(name).await.unwrap();
            let roll = service.store.roll(name).await.unwrap();
            let is_there = |row: &&StoredBallot| {
                let object = Object::Ballot { teacher: row.teacher, batch: row.batch };
                !service.store.is_lost(name, object, &row.hash)
            };
            let whole = |teacher: u32| {
                let own = rows.iter().filter(|row| row.teacher == teacher).filter(is_there);
                own.count() == known.file.batches()
            };
            let voters = (0..).take(known.teachers.len()).filter(|&teacher| whole(teacher));
            if voters.collect::<Vec<u32>>() != roll.teachers() {
                return Err(self.violated(format!("{name}: the roll is not what the rows are")));
            }
        }
        Ok(())
    }

    /// The budget is never exceeded.
    async fn check_ledger(&self) -> Result<(), Violation> {
        let service = &self.world.service;
        let drawn: Vec<Price> = self.elections.iter().filter_map(|known| known.drawn).collect();
        if let Some(budget) = service.store.budget(&"g".parse().unwrap()).await.unwrap() {
            if !budget.add_up(&drawn).covered {
                return Err(self.violated("the budget is exceeded by what was drawn"));
            }
            let booked = service.store.bookings(&"g".parse().unwrap()).await.unwrap();
            let booked: Vec<Price> = booked.iter().filter_map(crate::pricing::known).collect();
            if !budget.add_up(&booked).covered {
                return Err(self.violated("the budget is exceeded by the ledger"));
            }
        }
        Ok(())
    }

    /// Whether a file of this hash was put aside.
    fn is_aside(&self, hash: &str) -> bool {
        let mut folders = vec![self.world.data().join("swept")];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for entry in entries.flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if entry.file_name().to_string_lossy().ends_with(hash) {
                    return true;
                }
            }
        }
        false
    }
}
