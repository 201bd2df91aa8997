//! Has the crate compiled again when a migration is added, which the macro that embeds them does not notice by itself.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
