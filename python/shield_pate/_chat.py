"""A language model behind a chat endpoint, as a teacher."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from ._native import ShieldError

__all__ = ["ChatTeacher"]

LONGEST_REPLY = 1 << 20


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected request would take the key to another host."""

    def redirect_request(
        self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any
    ) -> None:
        return None


class ChatTeacher:
    """A teacher that asks a language model to choose a class, one request per sample.

    `url` is an endpoint that speaks OpenAI's chat protocol, up to and without `/chat/completions`.
    `prompt` says what to decide, and holds what makes this teacher differ from the others: its
    instructions, or its own private examples. The sample stands for `{sample}` in it, or comes
    behind it. The model is told the classes and must name one: a reply that names none of them, or
    several, abstains, and so does a refusal. Failed requests raise, so `label_dataset` tries again.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        prompt: str,
        classes: Sequence[str],
        name: str | None = None,
        key: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ShieldError(f"`{url}` is no address of an endpoint; it starts with https://")
        if len(classes) < 2 or not all(isinstance(one, str) and one.strip() for one in classes):
            raise ShieldError("a chat teacher needs two classes or more, each with a name")
        self.url = url.rstrip("/") + "/chat/completions"
        self.model, self.prompt, self.timeout = model, prompt, timeout
        self.classes = list(classes)
        self.name = name
        self._key = key
        self._opener = urllib.request.build_opener(_NoRedirects)

    def __repr__(self) -> str:
        return f"<ChatTeacher {self.name or self.model} at {self.url}>"

    def __call__(self, samples: Sequence[Any]) -> list[str | None]:
        """The class that the model names for each sample, or None."""
        return [self._choice(self._ask(sample)) for sample in samples]

    def _ask(self, sample: Any) -> str:
        text = sample if isinstance(sample, str) else json.dumps(sample, default=str)
        asked = (
            self.prompt.replace("{sample}", text)
            if "{sample}" in self.prompt
            else f"{self.prompt}\n\n{text}"
        )
        rules = (
            "Answer with exactly one of these classes and nothing else: "
            + "; ".join(self.classes)
            + ". If none fits, answer: none."
        )
        body = {
            "model": self.model,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": rules},
                {"role": "user", "content": asked},
            ],
        }
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), headers, method="POST"
        )
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                reply = response.read(LONGEST_REPLY + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise ShieldError(f"{self.url} answers with status {error.code}") from None
        if len(reply) > LONGEST_REPLY:
            raise ShieldError(f"{self.url} answers with more than a megabyte")
        try:
            content = json.loads(reply)["choices"][0]["message"].get("content")
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ShieldError(f"{self.url} does not answer as a chat endpoint does") from None
        return content if isinstance(content, str) else ""

    def _choice(self, reply: str) -> str | None:
        """The class that a reply is, or else the only one that it mentions."""
        said = _plain(reply)
        exact = [one for one in self.classes if _plain(one) == said]
        if len(exact) == 1:
            return exact[0]
        # "very good" mentions "good", too: the longer name counts alone.
        found: set[str] = set()
        for one in sorted(self.classes, key=len, reverse=True):
            pattern = rf"(?<!\w){re.escape(_plain(one))}(?!\w)"
            if re.search(pattern, said):
                found.add(one)
                said = re.sub(pattern, " ", said)
        return found.pop() if len(found) == 1 else None


def _plain(text: str) -> str:
    """A reply without case, outer punctuation and repeated spaces."""
    return " ".join(text.lower().split()).strip(" .,;:!?\"'`*()[]")
