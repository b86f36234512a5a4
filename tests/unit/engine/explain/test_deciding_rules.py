"""The lines that an explanation names are those on which the decision rests, in any tree of Require lines."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, side_of

from whimbrel.config.origins import Origin
from whimbrel.engine.explain.deciding_rules import deciding_rules, rule_trees
from whimbrel.engine.explain.decisions import Decision
from whimbrel.explain.cause import MAX_DECIDING, cause_of
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.verify.answer import DECIDES
from whimbrel.verify.deciding_lines import deciding_lines
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

PLACES = 40


@dataclass
class TreeMaker:
    """Draws places with trees of lines `Require env N`: each line holds if the header X-N is sent.

    Attributes:
        names: the variables of the place that is drawn.
    """

    dice: random.Random
    names: list[str]

    def line(self, word: str = "") -> list[str]:
        self.names.append(f"v{len(self.names)}")
        return [f"Require {word}env {self.names[-1]}"]

    def container(self, kind: str, depth: int) -> list[str]:
        positive = [text for _ in range(self.dice.randint(1, 3)) for text in self.positive(depth - 1)]
        negative = []
        if kind == "All":
            for _ in range(self.dice.randint(0, 2)):
                is_line = depth < 1 or self.dice.random() < 0.5
                negative += self.line("not ") if is_line else self.container("None", depth - 1)
        return [f"<Require{kind}>", *positive, *negative, f"</Require{kind}>"]

    def positive(self, depth: int) -> list[str]:
        if depth < 1 or self.dice.random() < 0.4:
            return self.line()
        return self.container(self.dice.choice(("All", "Any")), depth)

    def place(self, number: int) -> str:
        """Two sections about one place, the inner one merged with the outer one or not."""
        self.names = []
        sections = []
        for path in (f"/p{number}", f"/p{number}/in"):
            merging = [f"AuthMerging {self.dice.choice(('And', 'Or', 'Off'))}"] if path.endswith("in") else []
            lines = [*merging, *self.positive(3), *(self.line() if self.dice.random() < 0.5 else [])]
            sections += [f"<Location {path}>", *lines, "</Location>"]
        return "\n".join(sections)


@pytest.fixture(scope="module")
def random_places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Side, list[list[str]]]:
    maker = TreeMaker(random.Random(7), [])
    texts = []
    names = []
    for number in range(PLACES):
        texts.append(maker.place(number))
        names.append(maker.names)
    most = max(map(len, names))
    variables = [f"SetEnvIf X-v{number} . v{number}" for number in range(most)]
    file = 'AliasMatch "^/p[0-9]+/in/x$" "@ROOT@/mime.types"'
    conf = "\n".join((CONF, file, *variables, *texts, ""))
    return side_of(tmp_path_factory.mktemp("site"), conf), names


def explained_with(side: Side, number: int, holding: frozenset[str]) -> RequestExplanation:
    return explain_probe(side, probe_of(number, holding))


def probe_of(number: int, holding: frozenset[str]) -> Probe:
    fields = tuple((f"X-{name}", "1") for name in sorted(holding))
    return Probe(f"/p{number}/in/x", host="q", fields=fields)


def variables_of(lines: tuple[Origin, ...]) -> frozenset[str]:
    return frozenset(line.text.split()[-1] for line in lines)


def asked(explanation: RequestExplanation) -> frozenset[str]:
    steps = [step for step in explanation.all() if step.what.startswith("Require ") and not step.children]
    return frozenset(step.what.split()[-1] for step in steps if step.result != "not asked")


def tree_of(explanation: RequestExplanation) -> ExplanationStep:
    return next(rule_trees(step for step in explanation.steps if step.kind == "access"))


def test_the_named_lines_flip_the_decision(random_places: tuple[Side, list[list[str]]]) -> None:
    """A refusal with the named lines flipped is a grant, or rests on lines that were not asked before."""
    side, places = random_places
    dice = random.Random(8)
    seen = {200: 0, 403: 0, "flipped": 0}
    for number, names in enumerate(places):
        for share in (0.0, 0.3, 0.7):
            holding = frozenset(name for name in names if dice.random() < share)
            first = explained_with(side, number, holding)
            is_refused = first.status == 403
            seen[403 if is_refused else 200] += 1
            lines = cause_of(first).lines if is_refused else cause_of(first).granting
            named = variables_of(lines)
            assert named and named <= asked(first)
            if len({id(rule) for rule in deciding_rules(tree_of(first))}) > MAX_DECIDING and not is_refused:
                continue
            then = explained_with(side, number, holding ^ named)
            if (then.status == 403) != is_refused:
                seen["flipped"] += 1
                continue
            after = cause_of(then)
            rests = variables_of(after.lines if is_refused else after.granting)
            assert rests - asked(first), (number, holding, named, rests)
    assert min(seen.values()) > 20


def test_a_refusing_line_does_not_grant(random_places: tuple[Side, list[list[str]]]) -> None:
    """A line is named for a refusal if it fails, or if it holds and is negated."""
    side, places = random_places
    texts = Path(side.options.file).read_text().splitlines()
    for number, names in enumerate(places):
        for holding in (frozenset(names[::2]), frozenset(names[1::2]), frozenset[str]()):
            explanation = explained_with(side, number, holding)
            for line in cause_of(explanation).lines if explanation.status == 403 else ():
                is_holding = texts[line.place.line - 1].split()[-1] in holding
                assert is_holding == is_negated_at(texts, line.place.line), line


def is_negated_at(texts: list[str], number: int) -> bool:
    """Return True if the line of the file is negated, by itself or by a container around it."""
    before = [text for text in texts[: number - 1] if "RequireNone>" in text]
    is_inside = sum(-1 if text.startswith("</") else 1 for text in before) % 2 == 1
    return is_inside != ("Require not " in texts[number - 1])


def test_verify_names_the_same_lines(random_places: tuple[Side, list[list[str]]]) -> None:
    side, places = random_places
    for number, names in enumerate(places):
        holding = frozenset(names[::3])
        explanation = explained_with(side, number, holding)
        if explanation.status != 403:
            continue
        lines = deciding_lines(side, probe_of(number, holding))
        deciding = frozenset(line.text.split()[-1] for line in lines if line.role == DECIDES)
        assert variables_of(cause_of(explanation).lines) <= deciding
        wanted = {rule.what.split()[-1] for rule in deciding_rules(tree_of(explanation))}
        assert deciding == wanted


def test_the_innermost_rules_of_each_container() -> None:
    """Each container by itself, with the results of httpd's manual."""

    def rule(name: str, verdict: str, *children: Decision, detail: str = "") -> Decision:
        return Decision(name, verdict, None, detail, children)

    yes = rule("Require yes", "granted")
    no = rule("Require no", "denied")
    not_yes = rule("Require not yes", "denied")
    not_no = rule("Require not no", "neutral")
    unasked_rule = rule("Require late", "not asked")
    other = rule("Require other", "granted", detail="about other methods")
    user = rule("Require user", "denied (no authenticated user yet)")
    cases = [
        (rule("<RequireAny>", "granted", no, yes, unasked_rule), [yes]),
        (rule("<RequireAny>", "denied", no, no), [no, no]),
        (rule("<RequireAll>", "denied", yes, user, no, unasked_rule), [no]),
        (rule("<RequireAll>", "denied", yes, not_yes), [not_yes]),
        (rule("<RequireAll>", "granted", yes, not_no, other), [yes]),
        (rule("<RequireAll>", user.verdict, yes, user, user), [user, user]),
        (rule("<RequireNone>", "denied", no, yes), [yes]),
        (rule("<RequireNotAll>", "denied", rule("<RequireAny>", "granted", no, yes), not_no), [yes]),
        (rule("AuthMerging All", "denied", rule("<RequireAny>", "granted", yes), no), [no]),
    ]
    for tree, expected in cases:
        assert list(deciding_rules(tree)) == expected, tree
