"""The pure core: no I/O, no clock, no framework. Everything above agrees on what is defined here."""
