"""What the inbox and the loop promise, by number: the code, its docstrings and the tests cite these.

P is the reader protocol, kept as "Give a running agent an inbox" (AIMU) has it; A is what mail of ``RoutedInbox``
adds; T is turns and waking, from the two-queue session inbox of Nous; H is the history. Where the two texts
disagree, or are silent, what stands here is what this package does.
"""

from __future__ import annotations

RULES = {
    "P1": "An Inbox is anything with reader(agent=None), which gives a drain: no base class.",
    "P2": "reader is called once per run, right after its start, with the run's label as a positional argument.",
    "P3": "A reader that refuses that argument is a TypeError, what is no inbox a ValueError, before any event.",
    "P4": "A reader or drain that fails, or gives the wrong shape, is logged once; the run goes on without it.",
    "P5": "A plain reader is drained after a tool round, after an empty turn, and before a turn or run would end.",
    "P6": "One plain drain is one user message, stripped; routed mail is one entry per message, as typed.",
    "P7": "A delivered entry is an INBOX chunk before the round that reads it; the loop's prompts are CONTINUING.",
    "P8": "In the history a message is a plain user entry; only the loop's own prompts carry a provenance.",
    "P9": "A waking message from a person resets the round budget, at most max_iterations times a turn.",
    "P10": "The budget is looked at before mail is claimed; nothing extends a wrap-up, which ends its turn.",
    "P11": "A structured run reads no mail, and does not refuse an inbox.",
    "P12": "An inbox is a field of the agent, and can be given per run; None turns it off. run_sync is the same.",
    "P13": "A spawned run is labelled subagent-<type>; a spec's key stands, where present, for the factory's.",
    "P14": "Spawns of one round overlap; a child that fails is a tool error to its parent, and to nobody else.",
    "A1": "Every accepted message is open or has exactly one end; a refusal stores nothing; no text is lost.",
    "A2": "Delivered means: it stands exactly once in that run's stored history, with its round.",
    "A3": "The sender makes the id; the same id with the same content is the same message.",
    "A4": "First in, first out, per run and lane; an edit keeps the place.",
    "A5": "An address is resolved to one run when it is sent, or to the next run of a known label.",
    "A6": "A broadcast goes to the recipients that were shown, with a fate for each under one batch id.",
    "A7": "A run sees its own mail alone.",
    "A8": "Claim, history entry and delivery record are one transaction, before the request; no retry repeats it.",
    "A9": "The last look for mail and the end of a run are one transaction: a late message is read or comes back.",
    "A10": "Withdraw, edit, hold and promote succeed while a message is open; afterwards they are too late.",
    "A11": "Cancelling ends a sub-agent's run, or a root's turn; the mail that waited comes back.",
    "A12": "The interface fixes the sender; an agent's mail resets no budget; no message answers an approval.",
    "A13": "Expiry is tested when mail is claimed, by the injected clock.",
    "A14": "64 KiB a message, 1,000 open per run; one boundary takes at most 32 messages or 64 KiB.",
    "A15": "Taking mail gives up after 25 ms and the next boundary gets it; ending a run never gives up.",
    "T1": "A turn opens with its prompt, then next_turn, then next_step; later rounds read next_step alone.",
    "T2": "A turn that would end goes on if and only if a waking next_step message is there; injects ride along.",
    "T3": "An idle root is woken by a steer or a follow-up, never by an inject alone; exactly one turn starts.",
    "T4": "A sub-agent's follow-ups open further turns of the same run; the parent gets the last answer.",
    "T5": "The two-lane inbox is a value: it can be stored and comes back equal.",
    "T6": "A turn opens with all follow-ups that wait, or with one.",
    "H1": "In every request each tool call has its result, and mail follows all results of the round.",
    "H2": "What is stored is what is sent, and sent again: each request is a prefix of the next.",
    "H3": "A failed request is made again only if nothing of it was shown, with the mail that came meanwhile.",
    "H4": "Mail that comes while an approval waits is read after it, however it ends.",
}
