//! The winner, from however many columns it stands in.

use super::{
    BLOCK_ROWS, Damage, Table,
    pages::{ColumnStream, Raw},
};
use crate::{
    columns::{Role, WinnerRule},
    count::{Code, Counter},
    layout::winner::{Flag, named, one_hot, score},
};

/// The columns of the winner of one row group while they are read.
pub(super) struct WinnerStream {
    rule: WinnerRule<CellStream>,
    codes: Vec<Code>,
    flags: [Vec<Flag>; 3],
}

enum CellStream {
    Code(ColumnStream<Code>),
    Flag(ColumnStream<Flag>),
}

impl CellStream {
    /// Fills `out` with what the cells say, which are flags.
    fn flags(&mut self, out: &mut [Flag]) -> Result<(), Damage> {
        match self {
            Self::Flag(stream) => stream.fill(out, Flag::Missing, &mut |raw: Raw<'_>| {
                Flag::of(&raw.text())
            }),
            Self::Code(_) => Ok(()),
        }
    }

    /// Fills `out` with the meaning of the cells, which are values.
    fn codes(
        &mut self,
        out: &mut [Code],
        mut meaning: impl FnMut(Raw<'_>) -> Code,
    ) -> Result<(), Damage> {
        match self {
            Self::Code(stream) => stream.fill(out, Code::MISSING, &mut meaning),
            Self::Flag(_) => Ok(()),
        }
    }
}

impl WinnerStream {
    pub(super) fn new(table: &Table, idx: usize) -> Result<Self, Damage> {
        let rule = table.winner.clone().map(|column, role| {
            Ok::<_, Damage>(match role {
                Role::WonA | Role::WonB | Role::Tied | Role::Equal => {
                    CellStream::Flag(table.stream(idx, &column)?)
                }
                _ => CellStream::Code(table.stream(idx, &column)?),
            })
        })?;
        let is_one = matches!(rule, WinnerRule::Label(_) | WinnerRule::Score(_));
        let n = if is_one { 0 } else { BLOCK_ROWS };
        Ok(Self {
            rule,
            codes: vec![Code::MISSING; n],
            flags: [(); 3].map(|()| vec![Flag::Missing; n]),
        })
    }

    /// Fills `out` with the winners of the next rows, whose models are `a` and `b`.
    pub(super) fn fill(
        &mut self,
        counter: &mut Counter,
        a: &[Code],
        b: &[Code],
        out: &mut [Code],
    ) -> Result<(), Damage> {
        let n = out.len();
        match &mut self.rule {
            WinnerRule::Label(stream) => stream.codes(out, |raw| counter.winner(&raw.text())),
            WinnerRule::Score(stream) => stream.codes(out, |raw| score(counter, &raw.text())),
            WinnerRule::OneHot(streams) => {
                for (stream, flags) in streams.iter_mut().zip(&mut self.flags) {
                    stream.flags(&mut flags[..n])?;
                }
                let [won_a, won_b, tied] = &self.flags;
                for (i, out) in out.iter_mut().enumerate() {
                    *out = one_hot(counter, [won_a[i], won_b[i], tied[i]]);
                }
                Ok(())
            }
            WinnerRule::Named { chosen, equal } => {
                let codes = &mut self.codes[..n];
                chosen.codes(codes, |raw| counter.model(&raw.text()))?;
                let flags = &mut self.flags[0][..n];
                match equal {
                    Some(equal) => equal.flags(flags)?,
                    None => flags.fill(Flag::No),
                }
                for (i, out) in out.iter_mut().enumerate() {
                    *out = named(counter, codes[i], flags[i], [a[i], b[i]]);
                }
                Ok(())
            }
        }
    }
}
