//! The installation snapshot, formatVersion 1: the private selections that a record stands on (blueprint §5.2).
