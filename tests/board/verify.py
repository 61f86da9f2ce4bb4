#!/usr/bin/env python3
"""Checks the board of a signed election. Written from docs/specification.md alone, with nothing but
Python's own library: a second opinion on checks 1 to 10, and on what ballots and results say.

    python3 tests/board/verify.py ward-7.board

Prints {"checks": [{"id", "name", "result", "reason"}]}; the exit code is 1 if one failed.
"""

import json
import os
import re
import sys
import tomllib

from primitives import decode_point, derive, hash_of, is_small, is_sound_x25519, verifies

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
KEYS = ["n", "prev", "election", "kind", "by", "body", "bytes", "seen", "sig", "head"]
CHECKS = {
    "form": 1, "election": 2, "chain": 3, "authors": 4, "signatures": 5, "heads": 6, "seen": 7,
    "order": 8, "once": 9, "bodies": 10, "ballots": 12, "results": 13,
}  # fmt: skip
OF_LINES = list(CHECKS)[2:10]

# kind: role, kinds that must be there, kind that must not be there, body
KINDS = {
    "election": ("operator", [], None, "own"),
    "commitment": ("operator", ["election"], "ballot", "own"),
    "public-key": ("student", ["commitment"], "ballot", "own"),
    "evaluation-key": ("student", ["commitment"], "ballot", "own"),
    "ballot": ("teacher", ["public-key", "evaluation-key"], "freeze", "own"),
    "freeze": ("operator", ["ballot"], None, None),
    "results": ("operator", ["freeze"], None, "own"),
    "seed": ("operator", ["results"], None, "own"),
    "audited": ("auditor", ["seed"], None, "results"),
}


class Wrong(Exception):
    """What a check found."""


def demand(holds, what):
    if not holds:
        raise Wrong(what)


def is_hex(value, length):
    return isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{2 * length}}}", value) is not None


def is_count(value):
    return type(value) is int and 0 <= value < 2**64


def read_lines(board):
    """Check 1: the lines, each in its one form."""
    with open(os.path.join(board, "board.jsonl"), "rb") as file:
        text = file.read(110_000 * 1024 + 1)
    demand(not text or text.endswith(b"\n"), "the last line is cut off")
    lines = []
    for n, raw in enumerate(text.split(b"\n")[:-1]):
        demand(n < 110_000 and len(raw) < 1024, f"line {n} is one too many or too long")
        try:
            line = json.loads(raw)
        except ValueError:
            raise Wrong(f"line {n} is not JSON") from None
        demand(isinstance(line, dict) and list(line) == KEYS, f"line {n} has other keys")
        form = json.dumps(line, separators=(",", ":")).encode()
        demand(form == raw, f"line {n} has another form")
        seen = line["seen"]
        fine = (
            is_count(line["n"])
            and is_count(line["bytes"])
            and all(is_hex(line[key], 32) for key in ["prev", "election"])
            and all(is_hex(line[key], 64) for key in ["sig", "head"])
            and line["kind"] in KINDS
            and isinstance(line["by"], str)
            and NAME.fullmatch(line["by"])
            and (is_hex(line["body"], 32) or (line["body"] is None and line["bytes"] == 0))
            and (
                seen is None
                or (type(seen) is list and len(seen) == 2 and is_count(seen[0]) and is_hex(seen[1], 32))
            )
        )
        demand(fine, f"line {n} has a value that no line has")
        lines.append(line)
    return lines


def public_line(text):
    """A name and the 64 bytes of its keys."""
    name, keys = text.split(" ")
    demand(NAME.fullmatch(name), f"{name} is no name")
    demand(keys.startswith("shield1") and len(keys) == 7 + 112, f"{name} has no public keys")
    demand(all(digit in ALPHABET for digit in keys[7:]), f"{name} has no public keys")
    bits = 0
    for digit in keys[7:]:
        bits = bits << 5 | ALPHABET.index(digit)
    data = bits.to_bytes(70, "big")
    keys, check = data[:64], data[64:]
    sum_ = derive("shield 2026 public keys checksum v1", keys)[:6]
    demand(check == sum_, f"a letter of the keys of {name} is wrong")
    point = decode_point(keys[:32])
    demand(point is not None and not is_small(point), f"{name} has a weak signing key")
    demand(is_sound_x25519(keys[32:]), f"{name} has a weak sealing key")
    return name, keys


def read_election(board, lines):
    """Check 2: the parties by name, as roles and keys; the teachers; the election digest."""
    demand(lines, "there are no lines")
    demand(lines[0]["kind"] == "election" and lines[0]["body"], "line 0 is no election")
    try:
        with open(os.path.join(board, "bodies", lines[0]["body"]), "rb") as file:
            body = file.read(8 << 20)
        election = tomllib.loads(body.decode())
    except (OSError, ValueError) as error:
        raise Wrong(f"the election file cannot be read: {error}") from None
    digest = derive("shield 2026 election file v1", body).hex()
    parties, taken = {}, set()
    for role, key in [
        ("operator", "operator"),
        ("student", "student"),
        ("auditor", "auditors"),
        ("teacher", "teachers"),
    ]:
        found = election.get(key, [])
        for text in [found] if isinstance(found, str) else found:
            name, keys = public_line(text)
            demand(name not in parties, f"there are two parties named {name}")
            demand(not taken & {keys[:32], keys[32:]}, f"{name} has another's keys")
            taken |= {keys[:32], keys[32:]}
            parties[name] = (role, keys)
    roles = [role for role, _ in parties.values()]
    demand(roles.count("operator") == 1 and roles.count("student") == 1, "a party is missing")
    teachers = [text.split(" ")[0] for text in election["teachers"]]
    for n, line in enumerate(lines):
        demand(line["election"] == digest, f"line {n} is of another election")
    return parties, teachers, digest


def statement(line):
    body = f"body {line['body'] or '-'}\nbytes {line['bytes']}\n"
    seen = "seen -\n" if line["seen"] is None else "seen {} {}\n".format(*line["seen"])
    start = f"shield statement v1\nelection {line['election']}\nkind {line['kind']}\n"
    return start + f"by {line['by']}\n" + body + seen


def hash_of_line(line):
    text = f"n {line['n']}\nprev {line['prev']}\n" + statement(line) + f"sig {line['sig']}\n"
    return derive("shield 2026 board line v1", text.encode()).hex()


def head(line):
    start = f"shield head v1\nelection {line['election']}\n"
    return start + f"n {line['n']}\nline {hash_of_line(line)}\n"


def body_path(board, line):
    if line["kind"] == "ballot":
        return os.path.join(board + ".ballots", line["body"])
    return os.path.join(board, "bodies", line["body"])


def check_body(board, line, before):
    content = KINDS[line["kind"]][3]
    demand((line["body"] is not None) == (content is not None), "it has a body, or has none")
    if content is None:
        return
    if content != "own":
        results = [other for other in before if other["kind"] == content]
        same = [(other["body"], other["bytes"]) for other in results[:1]]
        demand(same == [(line["body"], line["bytes"])], f"its body is not that of {content}")
        return
    own = [other["body"] for other in before if KINDS[other["kind"]][3] == "own"]
    demand(line["body"] not in own, "its body is another line's")
    if line["kind"] == "ballot" and not os.path.isdir(board + ".ballots"):
        return
    try:
        with open(body_path(board, line), "rb") as file:
            body = file.read(line["bytes"] + 1)
    except OSError:
        raise Wrong("its body is missing") from None
    demand(len(body) == line["bytes"], "its body has another length")
    demand(hash_of(body).hex() == line["body"], "its body has another hash")


def check_line(name, board, lines, n, hashes, parties):
    line, before = lines[n], lines[:n]
    role, keys = parties.get(line["by"], (None, None))
    says, needs, late, _ = KINDS[line["kind"]]
    kinds = {other["kind"] for other in before}
    if name == "chain":
        demand(line["n"] == n, "its number is not its place")
        demand(line["prev"] == (hashes[n - 1] if n else "00" * 32), "it does not follow")
    elif name == "authors":
        demand(role == says, f"{line['by']} does not say this")
    elif name == "signatures":
        signed = keys and verifies(keys[:32], bytes.fromhex(line["sig"]), statement(line).encode())
        demand(signed, f"it is not signed by {line['by']}")
    elif name == "heads":
        operator = next(keys for role, keys in parties.values() if role == "operator")
        signed = verifies(operator[:32], bytes.fromhex(line["head"]), head(line).encode())
        demand(signed, "it is not countersigned")
    elif name == "seen":
        seen = line["seen"]
        known = seen is not None and seen[0] < n and hashes[seen[0]] == seen[1]
        demand(known or (seen is None and n == 0), "its author saw another board")
    elif name == "order":
        demand((n == 0) == (line["kind"] == "election"), "an election starts the board, once")
        demand(all(kind in kinds for kind in needs), f"it needs {' and '.join(needs)}")
        demand(late not in kinds, f"it comes after {late}")
    elif name == "once":
        said = {(other["kind"], other["by"]) for other in before}
        demand((line["kind"], line["by"]) not in said, "it was said before")
    elif name == "bodies":
        check_body(board, line, before)


def bundle(data, content, digest):
    """The teacher's place and the parts of a ballot or of results."""
    start = data[:48]
    demand(len(data) >= 56 and data[48:56] == hash_of(start)[:8], "its start is damaged")
    demand(start[:8] == b"SHLB" + bytes([2, 0, content, 0]), "it is something else")
    demand(start[8:40].hex() == digest, "it is of another election")
    teacher, count = int.from_bytes(start[40:44], "little"), int.from_bytes(start[44:48], "little")
    parts, at = [], 56
    for _ in range(count):
        length = int.from_bytes(data[at : at + 8], "little")
        parts.append(data[at + 8 : at + 8 + length])
        demand(len(parts[-1]) == length and len(data) >= at + 8, "it is cut off")
        at += 8 + length
    demand(at == len(data), "something follows its last part")
    return teacher, parts


def read_body(board, line):
    with open(body_path(board, line), "rb") as file:
        return file.read()


def check_ballots(board, lines, teachers, digest):
    """What of check 12 is specified: ballots by their authors' names."""
    found = {}
    for line in lines:
        if line["kind"] == "ballot":
            place, parts = bundle(read_body(board, line), 1, digest)
            demand(place == teachers.index(line["by"]), f"{line['by']} handed in another's ballot")
            hashes = b"".join(hash_of(part) for part in parts)
            found[line["by"]] = derive("shield 2026 ballot file v1", hashes).hex()
    return found


def check_results(board, lines, digest, ballots):
    """What of check 13 is specified."""
    one = {line["kind"]: line for line in lines if line["kind"] != "ballot"}
    _, parts = bundle(read_body(board, one["results"]), 2, digest)
    named = tomllib.loads(parts[0].decode())
    demand(named["election"] == digest, "they are of another election")
    demand(named["evaluation_key"] == one["evaluation-key"]["body"], "they name another key")
    committed = read_body(board, one["commitment"]).hex()
    demand(named["commitment"] == committed, "they name another commitment")
    voters = {line["by"] for line in lines if line["kind"] == "ballot"}
    demand(set(named["ballots"]) == voters, "they count other ballots")
    demand(ballots is None or named["ballots"] == ballots, "they count other ballots")


def verify(board):
    """Every check with its outcome: None if it passed, else why not."""
    outcomes = {name: "not run" for name in CHECKS}

    def run(name, check):
        try:
            result = check()
        except Wrong as wrong:
            outcomes[name] = str(wrong)
            return None
        outcomes[name] = None
        return result

    lines = run("form", lambda: read_lines(board))
    election = lines is not None and run("election", lambda: read_election(board, lines))
    if not election:
        return outcomes
    parties, teachers, digest = election
    hashes = [hash_of_line(line) for line in lines]
    for name in OF_LINES:

        def each(name=name):
            for n in range(len(lines)):
                try:
                    check_line(name, board, lines, n, hashes, parties)
                except Wrong as wrong:
                    raise Wrong(f"line {n}: {wrong}") from None

        run(name, each)
    if any(outcomes[name] for name in ["form", "election", *OF_LINES]):
        return outcomes
    ballots = None
    if os.path.isdir(board + ".ballots"):
        ballots = run("ballots", lambda: check_ballots(board, lines, teachers, digest))
    if any(line["kind"] == "results" for line in lines):
        run("results", lambda: check_results(board, lines, digest, ballots))
    return outcomes


def main():
    outcomes = verify(sys.argv[1].rstrip("/"))
    result = {None: "passed", "not run": "not run"}
    checks = [
        {"id": CHECKS[name], "name": name, "result": result.get(why, "failed"), "reason": why}
        for name, why in outcomes.items()
    ]
    print(json.dumps({"checks": checks}))
    return int(any(check["result"] == "failed" for check in checks))


if __name__ == "__main__":
    sys.exit(main())
