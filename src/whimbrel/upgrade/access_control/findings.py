"""Findings of the rules about access control, one for each section; the most significant difference selects
the rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.load import directive_names
from whimbrel.upgrade.access_control import native, refused_htaccess
from whimbrel.upgrade.access_control.admission import (
    UNCHANGED,
    admitted,
    beside,
    losses,
    opens,
    pending_requests,
    reachable_requests,
)
from whimbrel.upgrade.access_control.analysis import (
    UPGRADED,
    AccessAnalysis,
    analyze_access,
    persistent_cache,
)
from whimbrel.upgrade.access_control.condition_places import named_conditions
from whimbrel.upgrade.access_control.edit_reasons import edit_reasons
from whimbrel.upgrade.access_control.effective import (
    GONE,
    OTHER_METHODS,
    RECORD,
    EffectiveRules,
    flatten_directives,
    has_directive,
    idle_limits,
    merge_effective,
)
from whimbrel.upgrade.access_control.equal_findings import shared_finding
from whimbrel.upgrade.access_control.fragment_context import is_loose
from whimbrel.upgrade.access_control.guards import is_guard
from whimbrel.upgrade.access_control.native import ERROR_500
from whimbrel.upgrade.access_control.opened_sections import already_open
from whimbrel.upgrade.access_control.replacement import Lines, Replacement
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.access_control.solver import SectionPlan
from whimbrel.upgrade.access_control.staying_lines import (
    LOADED,
    MAIN_FILE,
    outer_password_finding,
    remaining,
    stays_finding,
)
from whimbrel.upgrade.access_control.trees import all_of, to_lines
from whimbrel.upgrade.access_control.unchanged_sections import NEIGHBOUR, ORDER
from whimbrel.upgrade.access_control.unchanged_text import as_running, of_section
from whimbrel.upgrade.access_control.undecided import undecided_part, where_of
from whimbrel.upgrade.access_control.void_lines import is_unknown_require, normalized, remark_on
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import FileEdit, Finding, InputContext, Risk, Safety, Style
from whimbrel.upgrade.source.access_compat import access_compat, needs_access_compat
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.htaccess import accepts_directive
from whimbrel.upgrade.source.walk import walk

_NEW_LINE: Final = "\n"
_ANSWERS: Final = ("yes: upgrade writes it", "no: write the lines that are meant in the new text")
"""What the answers about a new text lead to: no comment keeps the old one, which 2.4 reads otherwise."""
IF_EVER: Final = "if such a request is ever made: "
"""What comes before a request for which no file is there."""


def findings_of_rule(tree: ConfigTree, number: str) -> Iterator[Finding]:
    """Yield the findings of the rule *number*, in reading order."""
    analysis = analyze_access(tree)
    if number == "C16":
        yield from _alias_findings(analysis)
    persistent = persistent_cache(tree)
    for section in _sections_of_rule(tree, analysis, number):
        result = section_finding(tree, analysis, section, number)
        if result is not None:
            if result.edits:
                persistent[UPGRADED] = True
            else:
                persistent[key_of(section)] = result
            yield result
    for section, earlier in _left_of_rule(tree, analysis, number):
        if earlier is not None:
            yield replace(earlier, place=section.place)  # outer sections were edited since
        else:
            result = _stays(tree, number, section, analysis.left[section])
            conditions = named_conditions(tree, analysis, section, analysis.left[section])
            result = replace(result, evidence=conditions)
            persistent[key_of(section)] = result
            yield result
    if number == "C17" and tree.options.style is not Style.COMPAT:
        yield from _remaining_findings(tree, analysis)


def _left_of_rule(
    tree: ConfigTree, analysis: AccessAnalysis, number: str
) -> list[tuple[AccessSection, Finding | None]]:
    """Return the sections without edits that the rule *number* reports, each with its finding before the
    edits; computed once for all rules."""
    cached = tree.cache.get("access control left")
    if not isinstance(cached, tuple) or cached[0] is not analysis:
        persistent = persistent_cache(tree)
        groups: dict[str, list[tuple[AccessSection, Finding | None]]] = {}
        for section, reason in analysis.left.items():
            earlier = persistent.get(key_of(section))
            if isinstance(earlier, Finding):
                groups.setdefault(earlier.rule, []).append((section, earlier))
            row = _row_of_left(analysis, section, reason) if reason else ""
            if row and not (isinstance(earlier, Finding) and earlier.rule == row):
                groups.setdefault(row, []).append((section, None))
        cached = (analysis, groups)
        tree.cache["access control left"] = cached
    sections: list[tuple[AccessSection, Finding | None]] = cached[1].get(number, [])
    return sections


def _remaining_findings(tree: ConfigTree, analysis: AccessAnalysis) -> Iterator[Finding]:
    """Yield the sections of files without a server that keep lines of mod_access_compat, and about which no
    other finding says so."""
    persistent = persistent_cache(tree)
    for section, result in remaining(tree, analysis):
        earlier = persistent.get(key_of(section)) if section is not None else None
        if not (isinstance(earlier, Finding) and earlier.risk is Risk.BREAKS):
            yield result


def _sections_of_rule(tree: ConfigTree, analysis: AccessAnalysis, number: str) -> list[AccessSection]:
    """Return the sections whose rule has this number, computed once for all rules."""
    cached = tree.cache.get("access control rows")
    if not isinstance(cached, tuple) or cached[0] is not analysis:
        groups: dict[str, list[AccessSection]] = {}
        rows: dict[AccessSection, str] = {}
        for section in analysis.plans:
            # equivalent hosts follow the first host
            first = analysis.equivalents.get(section, (section,))[0]
            rows[section] = rows[first] if first in rows else rule_of_section(tree, analysis, section)
            groups.setdefault(rows[section], []).append(section)
        cached = (analysis, groups)
        tree.cache["access control rows"] = cached
    sections: list[AccessSection] = cached[1].get(number, [])
    return sections


def _row_of_left(analysis: AccessAnalysis, unit: AccessSection, reason: str) -> str:
    """Return the number of the rule for a section that keeps its text, "" if nothing changes in it."""
    lines = analysis.decisions.lines[unit]
    if has_directive(lines, RECORD | {"satisfy"}):
        return "C17"
    if any(line.name in analysis.decisions.removed_names for line in lines):
        return "C16"
    return "C21" if has_directive(lines, {"require"}) and reason != NEIGHBOUR else ""


def _stays(tree: ConfigTree, number: str, unit: AccessSection, reason: str) -> Finding:
    advice = "write the new lines by hand, for each case"
    if reason == ORDER:
        advice = f"{MAIN_FILE} or name the server beside this file, which has the LoadModule lines"
        if tree.context is InputContext.SERVER:
            advice = "give the files with the LoadModule lines, which were not read"
    if number == "C17" and is_loose(tree, unit) and any(map(needs_access_compat, walk(unit.lines))):
        return stays_finding(unit.place, f"they are unchanged: {reason}", advice)
    return Finding(
        number,
        unit.place,
        f"access control is unchanged: {reason}",
        advice,
        Risk.CHANGES,
    )


def key_of(unit: AccessSection) -> tuple[object, ...]:
    """Return a key of the section that survives edits around it, those of its outer section included."""
    outer: list[tuple[object, ...]] = []
    around = unit.outer
    while around is not None:
        outer.append((around.kind, around.pattern, around.directory))
        around = around.outer
    return (
        "access control",
        unit.file.path,
        unit.kind,
        unit.pattern,
        unit.directory,
        tuple(line.args for line in unit.lines),
        *outer,
    )


def _alias_findings(analysis: AccessAnalysis) -> Iterator[Finding]:
    edits = analysis.alias_edits()
    if edits:
        yield Finding(
            "C16",
            SourceLocation(edits[0].path, 1),
            ("2.2 answers 500 to users that no authorization module decides about; 2.4 has no such answer"),
            "define `Require internal-server-error`",
            Risk.CHANGES,
            Safety.SAFE,
            edits,
        )


def rule_of_section(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return the number of the rule that reports the section."""
    lines = analysis.decisions.lines[section]
    plan = analysis.plans[section]
    requires = [directive.args for directive in flatten_directives(lines) if directive.name == "require"]
    if has_directive(lines, RECORD | {"satisfy"}):
        return _rule_of_lists(tree, analysis, section)
    if any(text.lstrip().startswith('"') for text in requires):
        return "X10"
    if any(is_unknown_require(text) for text in requires):
        return "X08"
    if any(directive.args.startswith("dbm-") for directive in flatten_directives(plan.control)):
        return "C18"
    if any(line.name in analysis.decisions.removed_names for line in lines):
        return "C16"
    after = [directive.args for directive in flatten_directives(plan.control) if directive.name == "require"]
    if sorted(normalized(text) for text in after) == sorted(normalized(text) for text in requires):
        return "C23"
    return "C21" if len(requires) > 1 else "C22"


def _rule_of_lists(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    lines = analysis.decisions.lines[section]
    plan = analysis.plans[section]
    if _is_refused(lines):
        return "X10"
    if guide_replacement(analysis, section) is not None:
        return "C19"
    if (
        tree.options.style is Style.NATIVE
        and has_directive(plan.control, RECORD | {"satisfy"})
        and section not in analysis.decisions.failing_sections
    ):
        return "C17" if is_loose(tree, section) else "C20"
    if not has_directive(lines, {"satisfy"}) and _inherits_satisfy_any(analysis, section):
        return "X12"
    return "C17"


def _inherits_satisfy_any(analysis: AccessAnalysis, section: AccessSection) -> bool:
    """Return True if the Satisfy Any of an outer section applies to the section."""
    states = (
        merge_effective([analysis.decisions.lines[u] for u in chain.sections])
        for chain in analysis.chains_ending_at(section)[:3]
    )
    return any(rules.satisfy == "any" for state in states for rules in state.values())


def guide_replacement(analysis: AccessAnalysis, section: AccessSection) -> Lines | None:
    """Return the upgrade guide's replacement of the pair called "both criteria" with Order allow,deny; 2.2
    denies every client there."""
    lines = analysis.decisions.control_lines[section]
    if section.choices or sorted(line.name for line in lines) != [
        "allow",
        "deny",
        "order",
        "require",
        "satisfy",
    ]:
        return None
    state = merge_effective([lines])[OTHER_METHODS]
    if state.requires != ["valid-user"]:
        return None
    entries = [word for word in state.allows if word.lower() != "all"]
    if (
        state.order != "allow,deny"
        or [word.lower() for word in state.denies] != ["all"]
        or not entries
        or state.satisfy == "any"
    ):
        return None
    around = native.AuthzContext(analysis.decisions.modules_22)
    by_host = native.host_tree(EffectiveRules("allow,deny", entries))
    return to_lines(all_of([by_host, next(native.user_tree(state.requires, around))]))


def section_finding(
    tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, number: str
) -> Finding | None:
    """Return the finding about the section, None if nothing changes."""
    plan = analysis.plans[section]
    if section in analysis.decisions.unordered:
        left = _stays(tree, number, section, ORDER)
        is_refused = has_directive(analysis.decisions.lines[section], analysis.decisions.removed_names)
        return replace(left, risk=Risk.BREAKS) if is_refused else left
    guide = (
        guide_replacement(analysis, section)
        if number == "C19" and not tree.options.exact and tree.options.style is Style.NATIVE
        else None
    )
    if guide is not None:
        return _guide_finding(tree, analysis, section, guide)
    edits = analysis.edits(tree, section)
    if number == "X10" and _is_refused(analysis.decisions.lines[section]):
        return _refused_by_both(section, edits)
    if (
        plan.failing
        and section in analysis.decisions.failing_sections
        and section.file.path in refused_files(tree)
    ):
        return None  # X22 reports the whole file
    if plan.failing or (pending_requests(plan) and not section.is_page):
        return _failing_finding(tree, analysis, section, number, edits)
    if not edits:
        return _compat_note(tree, analysis, section, number) or _unmet_note(tree, analysis, section, number)
    return shared_finding(
        tree, analysis, section, edits, lambda: _solved_finding(tree, analysis, section, number, edits)
    )


def _failing_finding(
    tree: ConfigTree,
    analysis: AccessAnalysis,
    section: AccessSection,
    number: str,
    edits: tuple[FileEdit, ...],
) -> Finding:
    """Return the finding about a section for which no text decides as 2.2 did."""
    plan = analysis.plans[section]
    wrong = plan.failing or sorted(pending_requests(plan), key=lambda one: not opens(one))
    before = "" if plan.failing else IF_EVER
    closing = [one for one in wrong if not opens(one)]
    opening = [one for one in wrong if opens(one)]
    closing = closing or list(losses(analysis, opening))
    # of both directions one is shown
    wrong = [*opening[:1], *closing[:1], *opening[1:], *closing[1:]]
    evidence = "\n".join(
        before + _evidence(chain, str(example) if example else "") for chain, example in wrong[:3]
    ) + _example_origin(analysis, section)
    return Finding(
        number,
        section.place,
        f"{_message(tree, analysis, section)}; upgrade found no text of 2.4 that decides alike for every "
        "client, which does not show that there is none",
        _advice_where_failing(tree, section),
        Risk.OPENS if opening else Risk.CLOSES,
        Safety.REVIEW if edits else Safety.MANUAL,
        edits,
        evidence,
        decision=f"May 2.4 decide so: {evidence.partition(_NEW_LINE)[0]}?",
        answers=_ANSWERS if edits else (),
    )


def _advice_where_failing(tree: ConfigTree, section: AccessSection) -> str:
    """Return what to do about a section without a right text: of more texts one may be right."""
    check = "check who is admitted where the sections apply together"
    lines = section.lines if section.in_htaccess else ()
    if not lines or accepts_directive(tree, lines[0], "authconfig"):
        return check
    return f"admit Require in this file, by AllowOverride AuthConfig, and upgrade again; else {check}"


def _evidence_of_others(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return two requests without a file that 2.4 decides otherwise, "" for none."""
    others = reachable_requests(tree, section, analysis.plans[section])[:2]
    lines = [IF_EVER + _evidence(chain, str(example)) for chain, example in others]
    return "\n".join(lines) + _example_origin(analysis, section) if others else ""


def _unmet_note(
    tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, number: str
) -> Finding | None:
    """Return the finding about a section that keeps its text and refuses more for files that may come; None
    if 2.4 decides all requests as 2.2 did."""
    evidence = "" if section.is_page else _evidence_of_others(tree, analysis, section)
    if not evidence:
        return None
    return Finding(
        number,
        section.place,
        _message(tree, analysis, section),
        "nothing has to be done unless such a file is created: 2.4 admits fewer clients to it",
        Risk.CLOSES,
        Safety.SAFE,
        evidence=evidence,
    )


def _solved_finding(
    tree: ConfigTree,
    analysis: AccessAnalysis,
    section: AccessSection,
    number: str,
    edits: tuple[FileEdit, ...],
) -> Finding:
    """Return the finding about a section whose new text decides as 2.2 did."""
    plan = analysis.plans[section]
    others = reachable_requests(tree, section, plan)
    evidence = _evidence_of_others(tree, analysis, section)
    served = analysis.served_by_22(section) if is_guard(section) else None
    if served is not None:
        return Finding(
            number,
            section.place,
            (
                f"{_message(tree, analysis, section)}; an outer Satisfy Any made 2.2 serve the files that "
                "this section guards"
            ),
            "change passwords that may have been read: 2.4 denies these files",
            Risk.CLOSES,
            Safety.REVIEW,
            edits,
            _evidence(*served),
            decision="May these files be refused, which 2.2 served?",
            answers=_ANSWERS,
        )
    strangers = _foreign_directives(section)
    if strangers:
        return Finding(
            number,
            section.place,
            (
                f"{_message(tree, analysis, section)}; {strangers[0]} belongs to an unknown module, which "
                "may decide too"
            ),
            "write the decision of httpd's own modules; check what that module needs in 2.4",
            Risk.BREAKS,
            Safety.REVIEW,
            edits,
            evidence,
            decision=f"Do httpd's own modules decide here without {strangers[0]}?",
            answers=_ANSWERS,
        )
    note = (
        "; other sections apply to URLs below it too and may require a password"
        if section.is_page and others
        else ""
    )
    undecided, reason = undecided_part(tree, analysis, section)
    if undecided:
        return Finding(
            number,
            section.place,
            f"{_message(tree, analysis, section)}; who is admitted was not decided at {undecided}",
            f"check who is admitted there: {reason}",
            Risk.CHANGES,
            Safety.REVIEW,
            edits,
            evidence,
            decision=f"Does the new text admit the right clients at {undecided}?",
            answers=_ANSWERS,
        )
    remark = "; ".join(
        filter(None, (remark_on(tree, analysis, section), *edit_reasons(tree, analysis, section)))
    )
    unchanged = of_section(tree, analysis, section)
    lines = analysis.decisions.lines[section]
    is_only_that = (
        is_loose(tree, section)
        and unchanged.risk is Risk.BREAKS
        and has_directive(lines, RECORD | {"satisfy"})
        and not _gone(analysis, lines)
    )
    found = Finding(
        number,
        section.place,
        _message(tree, analysis, section) + note + (f"; {remark}" if remark else ""),
        _advice(section, plan, admitted(tree, analysis, section, has_others=bool(others))),
        unchanged.risk,
        Safety.SAFE,
        edits,
        "\n".join(filter(None, (unchanged.example, evidence))),
        remark=remark,
        unless=LOADED if is_only_that else "",
    )
    return as_running(analysis, found, unchanged)


def refused_files(tree: ConfigTree) -> frozenset[str]:
    """Return the .htaccess files that one version answers with 500 and the other reads."""
    cached = tree.cache.get("refused files")
    if not isinstance(cached, frozenset):
        cached = frozenset(
            htaccess_finding.place.path for htaccess_finding in refused_htaccess.htaccess_findings(tree)
        )
        tree.cache["refused files"] = cached
    return cached


def _is_refused(lines: Lines) -> bool:
    """Return True if an Order line contains a blank after its comma."""
    return any(line.name == "order" and len(line.args.split()) > 1 for line in flatten_directives(lines))


def _refused_by_both(section: AccessSection, edits: tuple[FileEdit, ...]) -> Finding:
    what = "Order with a blank has two arguments, which both versions refuse"
    if section.in_htaccess:
        return Finding(
            "X10",
            section.place,
            f"{what}: 500 to every request for the directory, as before",
            "remove the blank if the directory may be served",
            Risk.COSMETIC,
        )
    return Finding(
        "X10",
        section.place,
        f"{what}: 2.2 did not start with this file, so its effect is unknown",
        "write the arguments without the blank; check that this is wanted",
        Risk.BREAKS,
        Safety.REVIEW if edits else Safety.MANUAL,
        edits,
    )


def _foreign_directives(section: AccessSection) -> list[str]:
    """Return the directives of its authorization lines that no module of httpd has."""
    catalogue_22 = catalogue("2.2")
    catalogue_24 = catalogue("2.4")
    return [
        line.node.name
        for line in section.lines
        if line.name.startswith("authz")
        and not catalogue_22.find(line.name)
        and not catalogue_24.find(line.name)
    ]


def _compat_note(
    tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, number: str
) -> Finding | None:
    if number == "C17" and is_loose(tree, section):
        if tree.options.style is Style.COMPAT or not any(map(needs_access_compat, walk(section.lines))):
            return None
        return outer_password_finding(analysis, section)
    if number != "C20":
        return None
    other = beside(tree, analysis, section)
    nothing = f"do nothing in this section alone; {other}" if other else "do nothing"
    opened = already_open(tree, analysis, section)
    return Finding(
        number,
        section.place,
        f"{_remaining_names(analysis.decisions.lines[section])} mod_access_compat: "
        f"{_reason_for_compat(tree, analysis, section)}",
        f"{nothing}; AllowOverride AuthConfig would admit Require here" if section.in_htaccess else nothing,
        Risk.COSMETIC,
        evidence="\n".join(filter(None, (opened, _obstacle_example(analysis, section)))),
    )


def _remaining_names(lines: Lines) -> str:
    """Return the directives of mod_access_compat among *lines*, with the verb and its preposition."""
    names = _list_names(lines)
    return f"{_listed(names, 'and')} {'stays' if len(names) == 1 else 'stay'} with"


def _reason_for_compat(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return why a section keeps lines of mod_access_compat: the sections with which Require fails."""
    others = []
    if section in analysis.obstacles:
        chain = analysis.obstacles[section][0]
        others = [unit for unit in chain.sections if unit.place != section.place]
    if not others:
        return "upgrade found no Require that decides alike, which does not show that there is none"
    return f"no Require was found that decides alike together with {_places(tree, others)}"


def _places(tree: ConfigTree, sections: Iterable[AccessSection]) -> str:
    places = (f"{display_path(unit.file.path, tree.top)}:{unit.place.line}" for unit in sections)
    return _listed(list(dict.fromkeys(places)), "and")


def _obstacle_example(analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return the request that Require alone would decide otherwise, "" for none."""
    chain, example = analysis.obstacles.get(section, (None, None))
    return f"with Require alone: {_evidence(chain, str(example))}" if chain and example else ""


def _guide_finding(
    tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, guide: Lines
) -> Finding:
    edits = analysis.edits(tree, section, Replacement(guide))
    example = analysis.difference(section, Replacement(guide))
    lines = analysis.decisions.control_lines[section]
    allowed = " ".join(merge_effective([lines])[OTHER_METHODS].allows)
    return Finding(
        "C19",
        section.place,
        (
            'the upgrade guide reads this pair as "the host and a user"; 2.2 itself denies every '
            "client here, because Order allow,deny evaluates Deny last"
        ),
        "keep the guide's form if that is meant; --exact writes the decision of 2.2",
        Risk.OPENS,
        Safety.REVIEW,
        edits,
        str(example) + _example_origin(analysis, section) if example is not None else "",
        decision=f"Who may enter: users from {allowed} (the upgrade guide), or nobody (as 2.2)?",
        answers=("the guide: upgrade writes it", "as 2.2: whimbrel upgrade --exact"),
    )


def _example_origin(analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return the words that follow an example client of another host."""
    place = analysis.example_place(section)
    if place is None:
        return ""
    where = f"in line {place.line}" if place.path == section.file.path else f"at {place}"
    return f"\n(with the addresses and names of the equivalent section {where})"


def _evidence(chain: Chain, example: str) -> str:
    where = where_of(chain)
    return f"{where}: {example}" if example else f"{where}: 2.4 would not start"


def _message(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    lines = analysis.decisions.lines[section]
    plan = analysis.plans[section]
    if has_directive(lines, RECORD | {"satisfy"}):
        if has_directive(plan.control, RECORD | {"satisfy"}):
            return f"{_mixed(tree, analysis, section)}{_gone(analysis, lines)}"
        if access_compat(tree).is_loaded:
            names = _listed(_list_names(lines), "and")
            return f"2.4 has {names} in mod_access_compat alone, which is loaded here{_gone(analysis, lines)}"
        names = _listed(_list_names(lines), "or")
        return f"2.4 has no {names} without mod_access_compat{_gone(analysis, lines)}"
    if any(line.name in analysis.decisions.removed_names for line in lines):
        return _gone(analysis, lines).removeprefix("; ")
    requires = [line for line in flatten_directives(lines) if line.name == "require"]
    if len(requires) > 1:
        count = len(requires)
        return f"2.4 takes these {count} Require lines as alternatives, and those around them not at all"
    return "2.4 takes this Require in the place of those around it, and its arguments exactly"


def _mixed(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return why the new text of a section has Require beside lines of mod_access_compat."""
    remaining = list(flatten_directives(analysis.plans[section].control))
    outer = {unit: None for chain in analysis.chains_ending_at(section) for unit in chain.sections[:-1]}
    around = [
        unit
        for unit in outer
        if unit in analysis.plans and has_directive(analysis.plans[unit].control, RECORD | {"satisfy"})
    ]
    words = [line.args.lower() for line in remaining if line.name == "order"]
    if around and words == ["deny,allow"] and not {"allow", "deny"} & {line.name for line in remaining}:
        chains = (analysis.obstacles[unit][0] for unit in around if unit in analysis.obstacles)
        with_these = dict.fromkeys(unit for chain in chains for unit in chain.sections if unit not in around)
        others = [unit for unit in with_these if unit.place != section.place]
        found = f": no Require decides alike together with {_places(tree, others)}" if others else ""
        return (
            f"the Order lines of {_places(tree, around)} stay with mod_access_compat{found}; 2.4 asks them "
            "beside Require, and `Order deny,allow`, which admits all, leaves the decision here to Require"
        )
    names = _remaining_names(analysis.plans[section].control)
    return f"{names} mod_access_compat: {_reason_for_compat(tree, analysis, section)}"


def _gone(analysis: AccessAnalysis, lines: Lines) -> str:
    """Return a clause about the ...Authoritative directives among *lines* that go, "" for none."""
    found = list(dict.fromkeys(line.name for line in lines))
    names = [directive_names()[name] for name in found if name in GONE]
    clause = ""
    if names:
        verb = "is" if len(names) == 1 else "are"
        what = "Require lines are alternatives, whatever module owns them"
        clause = f"; {_listed(names, 'and')} {verb} gone: {what}"
    if "authbasicauthoritative" in analysis.decisions.removed_names.intersection(found):
        clause += (
            "; 2.4 has AuthBasicAuthoritative, but no mod_authn_default: with Off it answers 500 to users "
            "that no provider knows"
        )
    return clause


def _list_names(lines: Lines) -> list[str]:
    """Return the names of the directives of mod_access_compat among *lines*."""
    found = {line.name for line in flatten_directives(lines)}
    return [name for name in ("Order", "Allow", "Deny", "Satisfy") if name.lower() in found]


def _listed(names: list[str], word: str) -> str:
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _advice(section: AccessSection, plan: SectionPlan, sentence: str) -> str:
    """Return who gains or loses access by a text that decides as 2.2 did, and why a <Limit> may go."""
    for tag, line in (
        idle_limits(section.access_lines, plan.control) if sentence.startswith(UNCHANGED) else ()
    ):
        if line.place is not None and has_directive(line.children, ("allow", "deny")):
            return f"{sentence}: {tag} at line {line.place.line} never decided: the lines around it do"
    if any(ERROR_500.text == directive.args for directive in flatten_directives(plan.control)):
        return f"{sentence}; users that no module decides about get 500, as from 2.2"
    return sentence
