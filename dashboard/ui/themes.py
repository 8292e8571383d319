"""The console's own colours: calm surfaces, one colour for the operator's words and for nothing else."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="operator-dark",
    dark=True,
    background="#0e1218",
    surface="#131922",
    panel="#1b232f",
    foreground="#d5dce6",
    primary="#6cb2f7",
    secondary="#9aa8bd",
    accent="#ffb454",
    success="#7fd1a0",
    warning="#e8c26a",
    error="#ff7b85",
    variables={
        "operator": "#ffb454",
        "operator-ground": "#2b2415",
        "agent": "#b69cf0",
        "replay": "#ee86d8",
        "replay-ground": "#2a1a2c",
        "faint": "#8491a5",
        "tool": "#6cb2f7",
        "frame": "#2c3746",
        "border": "#6cb2f7",
        "input-cursor-background": "#ffb454",
        "input-selection-background": "#2f4a66",
        "block-cursor-background": "#24405c",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "none",
        "scrollbar": "#2c3746",
        "scrollbar-background": "#131922",
    },
)
