"""Reads what an operator wrote: which files, folders and words it names, and whether to drop the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from dashboard.core.sanitize import sanitize_line
from dashboard.host.toolbox import shown_name

_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|`([^`\n]{1,200})`|“([^”\n]{1,200})”|(?:(?<=\s)|^)'([^'\n]{1,200})'(?=[\s.,;:!?)]|$)"
)
_TOKEN = re.compile(r"[^\s,;!?()<>\[\]{}\"`“”]+")
_PATH = re.compile(r"(?=.*[A-Za-z0-9])(?:[\w.@+~-]*/)+[\w.@+~-]*|[\w@+~-][\w.@+~-]*\.[A-Za-z]\w{0,7}")
_IDENTIFIER = re.compile(r"(?=\w*[A-Za-z])(?=\w*(?:\d|_))[\w-]{3,}|[A-Z][A-Z0-9_-]{2,}|[a-z]+(?:-[a-z0-9]+)+\d*")
_SEEK = re.compile(
    r"\b(?:look(?:ing)? for|search(?:ing)? for|search|grep(?: for)?|find|scan for|hunt for|count|mentions? of)\s+"
    r"(?P<what>[^,;!?\n]{1,120})",
    re.IGNORECASE,
)
_FOLDER = re.compile(
    r"\b(?:folder|directory|dir)\s+(?P<after>[\w.@+~/-]+)|(?P<before>[\w.@+~/-]+)\s+(?:folder|directory|dir)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:instead|rather than|only|forget|drop|stop|skip the rest|leave the rest)\b", re.IGNORECASE
)
_ENDS = re.compile(
    r"\s+(?:in|inside|within|across|instead|and then|then|please|now|rather|too|also|first|under|from|before|after"
    r"|because|where|when|only|and (?:tell|say|report|check|look|read))\b.*|\.(?:\s.*)?$",
    re.IGNORECASE | re.DOTALL,
)
_ARTICLES = re.compile(
    r"^(?:(?:the|a|an|any|all|every|each|some|words?|lines?|string|text|phrase|term|with|of|for|about|more|saying"
    r"|mentioning)\s+)+",
    re.IGNORECASE,
)
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for you your this that with from into not but are was has have had can could should would will"
        " please check look read open inspect focus try see use grep search find file files folder log logs line"
        " lines error errors word words report answer config settings data test main instead only again now then"
        " there their anything something everything nothing it all",
    )
)
_ABBREVIATIONS = frozenset(("e.g", "i.e", "etc", "vs", "a.m", "p.m"))


@dataclass(frozen=True, slots=True)
class Lead:
    """What one message asks for.

    Args:
        message: the message, as written.
        paths: files and folders to look at; empty for the whole folder.
        words: words to look for, as written; empty for errors.
        drops: whether the rest of the plan is dropped.
    """

    message: str
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    drops: bool = False

    @property
    def names_something(self) -> bool:
        """Whether there is anything to look at."""
        return bool(self.paths or self.words)

    @property
    def about(self) -> str:
        """What it asks for, for a sentence."""
        words = " and ".join(f'"{sanitize_line(word, 120)}"' for word in self.words)
        paths = " and ".join(map(shown_name, self.paths))
        return f"{words} in {paths}" if words and paths else words or paths


def read_lead(message: str, known: Sequence[str] = ()) -> Lead:
    """Find what a message names.

    Args:
        message: what the operator wrote, any text.
        known: names of files that the reader knows of, as the tools write paths.
    """
    text = message[:4000]
    paths: list[str] = []
    words: list[str] = []
    rest = text
    for found in _QUOTED.finditer(text):
        quoted = next(group for group in found.groups() if group).strip()
        if place := _known(quoted, known) or (quoted if _PATH.fullmatch(quoted) else ""):
            paths.append(place)
        elif quoted:
            words.append(quoted)
    rest = _QUOTED.sub(" ", rest)
    for found in _FOLDER.finditer(rest):
        name = (found["after"] or found["before"]).strip("./")
        if name and name.lower() not in _COMMON:
            paths.append(name)
            rest = rest.replace(found[0], " ")
    for found in _SEEK.finditer(rest):
        what = _ARTICLES.sub("", _ENDS.sub("", found["what"]).strip()).strip(" .:'")
        if what and not _all_paths(what, known) and not words and what.lower() not in _COMMON:
            words.append(" ".join(what.split()[:6]))
    sought = {token for word in words for token in word.lower().split()}
    for token in _tokens(rest):
        if token.lower() in sought or token.lower() in _ABBREVIATIONS:
            continue
        if place := _known(token, known):
            paths.append(place)
        elif _PATH.fullmatch(token):
            paths.append(token)
        elif _IDENTIFIER.fullmatch(token) and not paths and not words:
            words.append(token)
    return Lead(message, _once(paths)[:4], _once(words)[:3], _INSTEAD.search(text) is not None)


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Give up to three known names that are close to this one."""
    return tuple(get_close_matches(name, list(known), n=3, cutoff=0.5))


def _known(token: str, known: Sequence[str]) -> str:
    """Find the known file that a token means: by its path, its name, or the name without suffixes."""
    wanted = token.casefold().removeprefix("./")
    if not wanted.strip("./"):
        return ""
    for name in known:
        if name.casefold() == wanted:
            return name
    ends = [name for name in known if name.casefold().rsplit("/", 1)[-1] == wanted]
    if ends:
        return ends[0]
    if len(wanted) < 3 or wanted in _COMMON:
        return ""
    stems = [name for name in known if _stem(name) == wanted.removesuffix("/")]
    folders = [name.rsplit("/", 1)[0] for name in known if name.casefold().startswith(f"{wanted.rstrip('/')}/")]
    return folders[0] if folders else stems[0] if len(stems) == 1 else ""


def _stem(name: str) -> str:
    return name.casefold().rsplit("/", 1)[-1].split(".", 1)[0]


def _all_paths(text: str, known: Sequence[str]) -> bool:
    tokens = list(_tokens(text))
    return bool(tokens) and all(_known(token, known) or _PATH.fullmatch(token) for token in tokens)


def _tokens(text: str) -> Iterable[str]:
    for found in _TOKEN.finditer(text):
        token = found[0].strip(".:'*").removesuffix("'s")
        if token and "#" not in token and "@" not in token[:1]:
            yield token


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
