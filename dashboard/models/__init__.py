"""Models behind one small protocol: a turn goes in, deltas and a complete reply come out."""
