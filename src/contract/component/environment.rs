//! Environment variables: constants, and the targets of inputs (component §5.3).
