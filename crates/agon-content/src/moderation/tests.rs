//! Tests of the local floor.
