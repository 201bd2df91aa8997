//! Tests of screening services against doubles on real sockets.
