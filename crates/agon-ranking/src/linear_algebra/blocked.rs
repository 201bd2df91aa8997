//! Cholesky factor and inverse of large matrices: by blocks that stay in the caches, on several threads, in place.
//!
//! Every entry is summed in one order whatever the number of threads and the width of vectors.

use std::cmp::Ordering;

use super::Matrix;
use crate::comparisons::in_parallel;
use crate::wide::{self, Work};

/// Rows and columns of a block.
const BLOCK: usize = 128;
/// Products that are summed before the sum is added to what is known.
const DEPTH: usize = 256;
/// Rows and columns of the tile that stays in registers.
const TALL: usize = 4;
const BROAD: usize = 8;

/// Rows of a factor, so many at a time, `TALL` numbers for each position of the inner products.
type Left = Vec<[f64; TALL]>;
/// The same for columns of the other factor.
type Right = Vec<[f64; BROAD]>;

/// Inner products of a tile.
#[inline(always)]
fn tile(left: &[[f64; TALL]], right: &[[f64; BROAD]]) -> [[f64; BROAD]; TALL] {
    let mut sums = [[0.0; BROAD]; TALL];
    for (x, y) in left.iter().zip(right) {
        for r in 0..TALL {
            for c in 0..BROAD {
                sums[r][c] += x[r] * y[c];
            }
        }
    }
    sums
}

/// Packs rows `first..last` of something, `depth` long each.
fn pack_left(first: usize, last: usize, depth: usize, value: impl Fn(usize, usize) -> f64) -> Left {
    let mut packed = Vec::with_capacity((last - first).div_ceil(TALL) * depth);
    for start in (first..last).step_by(TALL) {
        for k in 0..depth {
            packed.push(std::array::from_fn(|r| {
                if start + r < last {
                    value(start + r, k)
                } else {
                    0.0
                }
            }));
        }
    }
    packed
}

fn pack_right(
    first: usize,
    last: usize,
    depth: usize,
    value: impl Fn(usize, usize) -> f64,
) -> Right {
    let mut packed = Vec::with_capacity((last - first).div_ceil(BROAD) * depth);
    for start in (first..last).step_by(BROAD) {
        for k in 0..depth {
            packed.push(std::array::from_fn(|c| {
                if start + c < last {
                    value(start + c, k)
                } else {
                    0.0
                }
            }));
        }
    }
    packed
}

/// Strips of rows, dealt out in turn, so that each thread has long and short ones.
pub(super) fn deal<T>(items: impl Iterator<Item = T>, n_threads: usize) -> Vec<Vec<T>> {
    let mut hands: Vec<Vec<T>> = (0..n_threads.max(1)).map(|_| Vec::new()).collect();
    let n = hands.len();
    for (idx, item) in items.enumerate() {
        hands[idx % n].push(item);
    }
    hands.retain(|hand| !hand.is_empty());
    hands
}

/// One step of the factorisation for the rows of one thread: takes the products with the last block of columns away.
struct Trailing<'a> {
    n: usize,
    /// First row and column that is left, and the rows from there on that are this thread's.
    from: usize,
    depth: usize,
    strips: Vec<(usize, &'a mut [f64])>,
    left: &'a [[f64; TALL]],
    right: &'a [[f64; BROAD]],
}

impl Work for Trailing<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            n,
            from,
            depth,
            strips,
            left,
            right,
        } = self;
        for (first, rows) in strips {
            let n_rows = rows.len() / n;
            for column in (from..first + n_rows).step_by(BROAD) {
                let right = &right[(column - from) / BROAD * depth..][..depth];
                for start in (0..n_rows).step_by(TALL) {
                    let row = first + start;
                    if row + TALL <= column {
                        continue;
                    }
                    let sums = tile(&left[(row - from) / TALL * depth..][..depth], right);
                    for (r, sums) in sums.iter().enumerate().take(n_rows - start) {
                        let width = BROAD.min((row + r + 1).saturating_sub(column));
                        let target = &mut rows[(start + r) * n + column..][..width];
                        for (value, sum) in target.iter_mut().zip(sums) {
                            *value -= sum;
                        }
                    }
                }
            }
        }
    }
}

/// Rows of a panel times the inverse of the block above it.
struct Panel<'a> {
    n: usize,
    first: usize,
    width: usize,
    strips: Vec<&'a mut [f64]>,
    right: &'a [[f64; BROAD]],
}

impl Work for Panel<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            n,
            first,
            width,
            strips,
            right,
        } = self;
        for rows in strips {
            let n_rows = rows.len() / n;
            let left = pack_left(0, n_rows, width, |row, k| rows[row * n + first + k]);
            for column in (0..width).step_by(BROAD) {
                let right = &right[column / BROAD * width..][..width];
                for start in (0..n_rows).step_by(TALL) {
                    let sums = tile(&left[start / TALL * width..][..width], right);
                    for (r, sums) in sums.iter().enumerate().take(n_rows - start) {
                        let to = BROAD.min(width - column);
                        rows[(start + r) * n + first + column..][..to].copy_from_slice(&sums[..to]);
                    }
                }
            }
        }
    }
}

/// The inverse of a small lower triangle by rows.
fn invert_lower(lower: &[f64], width: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; width * width];
    for column in 0..width {
        for row in column..width {
            let known: f64 = (column..row)
                .map(|k| lower[row * width + k] * inverse[k * width + column])
                .sum();
            let right = if row == column { 1.0 } else { 0.0 };
            inverse[row * width + column] = (right - known) / lower[row * width + row];
        }
    }
    inverse
}

/// Factors the lower triangle in place into `L` with `L Lᵀ` = the matrix; the upper one stays as it is.
///
/// Returns the first column that is a combination of those before it, if there is one.
pub(super) fn factor(matrix: &mut Matrix, n_threads: usize) -> Result<(), usize> {
    let n = matrix.n;
    let diagonal: Vec<f64> = (0..n).map(|idx| matrix.get(idx, idx)).collect();
    for first in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - first);
        let last = first + width;
        let mut block = Matrix::zeros(width);
        for row in 0..width {
            let from = &matrix.values[(first + row) * n + first..][..=row];
            block.values[row * width..][..=row].copy_from_slice(from);
        }
        block.factor().map_err(|column| first + column)?;
        for row in 0..width {
            let pivot = block.get(row, row);
            let left = pivot * pivot;
            if left.is_nan() || left <= super::SINGULAR * diagonal[first + row] {
                return Err(first + row);
            }
            let to = &mut matrix.values[(first + row) * n + first..][..=row];
            to.copy_from_slice(&block.values[row * width..][..=row]);
        }
        if last == n {
            break;
        }
        let inverse = invert_lower(&block.values, width);
        let right = pack_right(0, width, width, |c, k| inverse[c * width + k]);
        let below = &mut matrix.values[last * n..];
        let panels = deal(below.chunks_mut(BLOCK * n), n_threads);
        in_parallel(panels, |strips| {
            wide::run(Panel {
                n,
                first,
                width,
                strips,
                right: &right,
            });
        });
        let panel = |row: usize, k: usize| matrix.values[row * n + first + k];
        let left = pack_left(last, n, width, panel);
        let right = pack_right(last, n, width, panel);
        let strips = matrix.values[last * n..].chunks_mut(BLOCK * n);
        let strips = strips
            .enumerate()
            .map(|(idx, strip)| (last + idx * BLOCK, strip));
        in_parallel(deal(strips, n_threads), |strips| {
            wide::run(Trailing {
                n,
                from: last,
                depth: width,
                strips,
                left: &left,
                right: &right,
            });
        });
    }
    Ok(())
}

/// A strip of rows times columns of a matrix that is stored by rows, some tiles of columns of it.
struct Strip<'a> {
    n: usize,
    /// Packed rows; the inner products run over `depth` positions.
    left: &'a [[f64; TALL]],
    depth: usize,
    n_rows: usize,
    /// Rows of the matrix that belong to the positions.
    right: &'a [f64],
    /// First columns of the tiles, and the position from which on each is not 0.
    tiles: Vec<(usize, usize)>,
}

impl Work for Strip<'_> {
    /// For each tile `n_rows × BROAD` numbers.
    type Output = Vec<(usize, Vec<[f64; BROAD]>)>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self {
            n,
            left,
            depth,
            n_rows,
            right,
            tiles,
        } = self;
        let mut found: Self::Output = tiles
            .iter()
            .map(|&(column, _)| (column, vec![[0.0; BROAD]; n_rows.next_multiple_of(TALL)]))
            .collect();
        let mut packed: Right = Vec::with_capacity(DEPTH);
        for start in (0..depth).step_by(DEPTH) {
            let end = depth.min(start + DEPTH);
            for (&(column, from), (_, sums)) in tiles.iter().zip(&mut found) {
                let start = start.max(from);
                if start >= end {
                    continue;
                }
                let width = BROAD.min(n - column);
                packed.clear();
                packed.extend((start..end).map(|k| {
                    let row = &right[k * n + column..][..width];
                    if let Ok(whole) = <[f64; BROAD]>::try_from(row) {
                        whole
                    } else {
                        std::array::from_fn(|c| row.get(c).copied().unwrap_or(0.0))
                    }
                }));
                for (idx, sums) in sums.chunks_exact_mut(TALL).enumerate() {
                    let products = tile(&left[idx * depth + start..idx * depth + end], &packed);
                    for (sum, product) in sums.iter_mut().zip(&products) {
                        for (value, more) in sum.iter_mut().zip(product) {
                            *value += more;
                        }
                    }
                }
            }
        }
        found
    }
}

/// A strip times the matrix, written to rows of width `n`.
fn strip_product(
    strip: &Strip<'_>,
    tiles: impl Iterator<Item = (usize, usize)>,
    n_threads: usize,
    out: &mut [f64],
) {
    let parts = deal(tiles, n_threads).into_iter().map(|tiles| Strip {
        tiles,
        left: strip.left,
        right: strip.right,
        ..*strip
    });
    for found in in_parallel(parts.collect(), wide::run) {
        for (column, sums) in found {
            let width = BROAD.min(strip.n - column);
            for (row, sums) in sums.iter().enumerate().take(strip.n_rows) {
                out[row * strip.n + column..][..width].copy_from_slice(&sums[..width]);
            }
        }
    }
}

/// Replaces the factor `L` by the full inverse of `L Lᵀ`, in place. The upper triangle must be 0 before.
pub(super) fn invert_factored(matrix: &mut Matrix, n_threads: usize) {
    let n = matrix.n;
    // L⁻¹ row by row: row i is −(Lᵢᵢ⁻¹ Lᵢ) times the rows above.
    for first in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - first);
        let (above, own) = matrix.values.split_at_mut(first * n);
        let own = &mut own[..width * n];
        let block: Vec<f64> = (0..width * width)
            .map(|idx| own[idx / width * n + first + idx % width])
            .collect();
        let inverse = invert_lower(&block, width);
        if first > 0 {
            let small = pack_left(0, width, width, |row, k| -inverse[row * width + k]);
            let mut scaled = vec![0.0; width * n];
            let strip = Strip {
                n,
                left: &small,
                depth: width,
                n_rows: width,
                right: own,
                tiles: Vec::new(),
            };
            let tiles = (0..first).step_by(BROAD).map(|column| (column, 0));
            strip_product(&strip, tiles, n_threads, &mut scaled);
            let left = pack_left(0, width, first, |row, k| scaled[row * n + k]);
            let strip = Strip {
                n,
                left: &left,
                depth: first,
                n_rows: width,
                right: above,
                tiles: Vec::new(),
            };
            let tiles = (0..first).step_by(BROAD).map(|column| (column, column));
            strip_product(&strip, tiles, n_threads, own);
        }
        for row in 0..width {
            own[row * n + first..][..width].copy_from_slice(&inverse[row * width..][..width]);
        }
    }
    // L⁻ᵀ L⁻¹ from the top: row i needs itself and the rows below, which are still those of L⁻¹.
    for first in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - first);
        let rows = &mut matrix.values[first * n..];
        let depth = n - first;
        let left = pack_left(0, width, depth, |row, k| rows[k * n + first + row]);
        let mut product = vec![0.0; width * n];
        let strip = Strip {
            n,
            left: &left,
            depth,
            n_rows: width,
            right: rows,
            tiles: Vec::new(),
        };
        let tiles = (0..first + width).step_by(BROAD).map(|column| (column, 0));
        strip_product(&strip, tiles, n_threads, &mut product);
        for row in 0..width {
            let kept = first + row + 1;
            rows[row * n..][..kept].copy_from_slice(&product[row * n..][..kept]);
        }
    }
    matrix.mirror();
}

/// `self · inner · self` for two full symmetric matrices.
pub(super) fn sandwich(outer: &Matrix, inner: &Matrix, n_threads: usize) -> Matrix {
    let n = outer.n;
    let mut out = Matrix::zeros(n);
    for first in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - first);
        let mut half = vec![0.0; width * n];
        let left = pack_left(first, first + width, n, |row, k| outer.values[row * n + k]);
        let strip = Strip {
            n,
            left: &left,
            depth: n,
            n_rows: width,
            right: &inner.values,
            tiles: Vec::new(),
        };
        let tiles = (0..n).step_by(BROAD).map(|column| (column, 0));
        strip_product(&strip, tiles, n_threads, &mut half);
        let left = pack_left(0, width, n, |row, k| half[row * n + k]);
        let strip = Strip {
            n,
            left: &left,
            depth: n,
            n_rows: width,
            right: &outer.values,
            tiles: Vec::new(),
        };
        let tiles = (0..first + width).step_by(BROAD).map(|column| (column, 0));
        strip_product(
            &strip,
            tiles,
            n_threads,
            &mut out.values[first * n..][..width * n],
        );
    }
    out.mirror();
    out
}

/// Quadratic forms of some rows of a matrix: xᵀ B x for each row x.
struct Forms<'a> {
    n: usize,
    /// Rows after rows.
    rows: &'a [f64],
    inner: &'a [f64],
    forms: &'a mut [f64],
}

impl Work for Forms<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            n,
            rows,
            inner,
            forms,
        } = self;
        let left = pack_left(0, forms.len(), n, |row, k| rows[row * n + k]);
        let mut packed: Right = Vec::with_capacity(DEPTH);
        // B = T + Tᵀ with T its lower triangle, half of the diagonal in it, so that xᵀ B x = 2 xᵀ T x.
        for column in (0..n).step_by(BROAD) {
            let width = BROAD.min(n - column);
            let depth = column + width;
            for start in (0..depth).step_by(DEPTH) {
                let end = depth.min(start + DEPTH);
                packed.clear();
                packed.extend((start..end).map(|k| {
                    let row = &inner[k * n + column..][..width];
                    if k < column
                        && let Ok(whole) = <[f64; BROAD]>::try_from(row)
                    {
                        return whole;
                    }
                    std::array::from_fn(|c| match k.cmp(&(column + c)) {
                        Ordering::Less => row.get(c).copied().unwrap_or(0.0),
                        Ordering::Equal => 0.5 * row[c],
                        Ordering::Greater => 0.0,
                    })
                }));
                for (idx, forms) in forms.chunks_mut(TALL).enumerate() {
                    let products = tile(&left[idx * n + start..idx * n + end], &packed);
                    let x = &left[idx * n + column..][..width];
                    for (r, form) in forms.iter_mut().enumerate() {
                        for (x, product) in x.iter().zip(&products[r]) {
                            *form += 2.0 * x[r] * product;
                        }
                    }
                }
            }
        }
    }
}

/// The diagonal of `outer · inner · outer` for two full symmetric matrices.
pub(super) fn quadratic_forms(outer: &Matrix, inner: &Matrix, n_threads: usize) -> Vec<f64> {
    /// Enough rows to make up for packing, few enough to stay in the second cache.
    const ROWS: usize = 32;
    let n = outer.n;
    let mut forms = vec![0.0; n];
    let strips = outer
        .values
        .chunks(ROWS * n.max(1))
        .zip(forms.chunks_mut(ROWS));
    let strips = strips.map(|(rows, forms)| Forms {
        n,
        rows,
        inner: &inner.values,
        forms,
    });
    in_parallel(deal(strips, n_threads), |strips| {
        for strip in strips {
            wide::run(strip);
        }
    });
    forms
}
