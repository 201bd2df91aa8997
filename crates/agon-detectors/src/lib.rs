//! Detectors that look at pictures with local models: nudity, faces, text, codes.
//!
//! Weights come from files that the operator fetched; nothing here opens a connection.
