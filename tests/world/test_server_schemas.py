"""Input schemas in the shapes of 30 tools of public MCP servers, shortened: verdicts are those of `jsonschema`."""

from __future__ import annotations

from copy import deepcopy

import jsonschema
import pytest

from tools_core import schema

TEXT, NUMBER, INTEGER, FLAG = ({"type": name} for name in ("string", "number", "integer", "boolean"))
TEXTS = {"type": "array", "items": TEXT}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}  # as zod-to-json-schema writes
DRAFT_2020 = {"$schema": "https://json-schema.org/draft/2020-12/schema"}  # as zod 4 writes
CLOSED = {"additionalProperties": False}
DOMAIN = r"^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])\.)*([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])$"
UUID = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
DAYS = "^((([1-9]|[1-9][0-9]|[1-2][0-9][0-9]|3[0-5][0-9]|36[0-4])d(control)?)|(([1-9]|[1-4][0-9]|5[0-2])w(control)?))$"


def choice(*values, **more):
    return {"type": "string", "enum": list(values), **more}


def items(part, **more):
    return {"type": "array", "items": part, **more}


def either(*parts, **more):
    return {"anyOf": list(parts), **more}


def members(required="", more=None, /, **properties):
    return {"type": "object", "properties": properties, "required": required.split(), **(more or {})}


def nullable(part, **more):  # as pydantic writes `X | None = None`
    return either(part, {"type": "null"}, default=None, **more)


# Server and tool: the schema, and arguments that it accepts.
SERVERS = {
    "fetch, fetch": (
        members(
            "url", {"title": "Fetch"}, url={**TEXT, "format": "uri", "minLength": 1}, raw={**FLAG, "default": False},
            max_length={**INTEGER, "default": 5000, "exclusiveMinimum": 0, "exclusiveMaximum": 1_000_000},
        ),
        {"url": "https://example.org", "max_length": 10, "raw": True},
    ),
    "filesystem, edit_file": (
        members("path edits", CLOSED | DRAFT_7, path=TEXT, dryRun={**FLAG, "default": False},
                edits=items(members("oldText newText", CLOSED, oldText=TEXT, newText=TEXT))),
        {"path": "a.txt", "edits": [{"oldText": "a", "newText": "b"}], "dryRun": False},
    ),
    "memory, create_entities": (
        members("entities", entities=items(members("name entityType observations", name=TEXT, entityType=TEXT,
                                                   observations=TEXTS))),
        {"entities": [{"name": "Ada", "entityType": "person", "observations": ["writes"]}]},
    ),
    "sequential thinking, sequentialthinking": (
        members("thought nextThoughtNeeded thoughtNumber", thought=TEXT, nextThoughtNeeded=FLAG,
                thoughtNumber={**INTEGER, "minimum": 1}, isRevision=FLAG),
        {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "isRevision": True},
    ),
    "git, git_log": (
        members("repo_path", {"title": "GitLog"}, repo_path=TEXT, max_count={**INTEGER, "default": 10},
                start_timestamp=nullable(TEXT)),
        {"repo_path": ".", "max_count": 3, "start_timestamp": None},
    ),
    "time, convert_time": (
        members("source_timezone time target_timezone", source_timezone=TEXT, time=TEXT, target_timezone=TEXT),
        {"source_timezone": "Europe/Oslo", "time": "12:30", "target_timezone": "UTC"},
    ),
    "github, create_repository_ruleset": (
        members("level rules", CLOSED, level=choice("repository", "organization"), conditions={"type": "object"},
                bypass_actors=items(members("actor_type", CLOSED, actor_id=NUMBER, actor_type=choice("Team", "User"))),
                rules=items(members("type", CLOSED, type=TEXT, parameters={"type": "object"}))),
        {"level": "repository", "rules": [{"type": "deletion", "parameters": {}}],
         "bypass_actors": [{"actor_type": "Team", "actor_id": 1.5}], "conditions": {"ref_name": {}}},
    ),
    "gitlab, create_issue": (
        members("project_id title", CLOSED | DRAFT_7, project_id=either(TEXT, NUMBER), title=TEXT, labels=TEXTS,
                issue_type={**choice("issue", "task"), "default": "issue"}, assignee_ids=items(NUMBER)),
        {"project_id": 7, "title": "x", "labels": ["bug"], "issue_type": "task", "assignee_ids": [1]},
    ),
    "cloudflare radar, get_domain_rank_details": (
        members("domain", CLOSED | DRAFT_7, domain={**TEXT, "pattern": DOMAIN}, date=items({**TEXT, "format": "date"})),
        {"domain": "docs.example.co.uk", "date": ["2026-01-31"]},
    ),
    "cloudflare radar, get_traffic_anomalies": (
        members("", CLOSED | DRAFT_7, asn={**NUMBER, "exclusiveMinimum": 0},
                location={**TEXT, "pattern": "^[a-zA-Z]{2}$"}, dateRange={**TEXT, "pattern": DAYS}),
        {"asn": 1, "location": "NO", "dateRange": "7dcontrol"},
    ),
    "cloudflare radar, get_ip_details": (
        members("ip", CLOSED | DRAFT_7, ip={**TEXT, "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}),
        {"ip": "192.0.2.1"},
    ),
    "sqlite, write_query": (members("query", query=TEXT), {"query": "DELETE FROM a"}),
    "puppeteer, puppeteer_screenshot": (
        members("name", name=TEXT, selector=TEXT, width=NUMBER, height=NUMBER),
        {"name": "a", "selector": "#a", "width": 800, "height": 600.5},
    ),
    "playwright, browser_fill_form": (
        members("fields", CLOSED | DRAFT_2020, fields=items(members(
            "name type ref value", CLOSED, name=TEXT, ref=TEXT, value=TEXT, type=choice("textbox", "checkbox", "slider")
        ))),
        {"fields": [{"name": "Mail", "type": "textbox", "ref": "e1", "value": "a@b.c"}]},
    ),
    "notion, API-post-page": (
        members("parent properties", parent={"oneOf": [
            members("page_id", page_id={**TEXT, "format": "uuid"}), members("database_id", database_id=TEXT),
        ]}, properties={"type": "object", "additionalProperties": True, "minProperties": 1}, children=TEXTS),
        {"parent": {"page_id": "1"}, "properties": {"title": []}, "children": ["a"]},
    ),
    "notion, block tree": (
        {**members("children", children=items({"$ref": "#/$defs/block"})), "$defs": {"block": members(
            "type", CLOSED, type=choice("paragraph", "toggle"), children=items({"$ref": "#/$defs/block"}, maxItems=2),
        )}},
        {"children": [{"type": "toggle", "children": [{"type": "paragraph"}]}]},
    ),
    "sentry, search_issues": (
        members("organizationSlug", CLOSED | DRAFT_7, organizationSlug={**TEXT, "pattern": "^[a-zA-Z0-9_-]+$"},
                limit={**NUMBER, "minimum": 1, "maximum": 100, "default": 10},
                regionUrl={"anyOf": [{**TEXT, "format": "uri"}, {"type": "null"}], "default": None}),
        {"organizationSlug": "a-1", "limit": 5, "regionUrl": None},
    ),
    "linear, create_issue": (
        members("title team", CLOSED | DRAFT_7, title={**TEXT, "minLength": 1}, team=TEXT,
                priority={"type": "integer", "minimum": 0, "maximum": 4}, estimate={"type": ["number", "null"]},
                id={**TEXT, "pattern": UUID}),
        {"title": "x", "team": "y", "priority": 0, "estimate": None, "id": "12345678-1234-4234-8234-123456789abc"},
    ),
    "slack, slack_get_channel_history": (
        members("channel_id", channel_id={**TEXT, "pattern": "^[CGD][A-Z0-9]{8,}$"}, limit={**NUMBER, "default": 10}),
        {"channel_id": "C012345678", "limit": 3},
    ),
    "stripe, create_price": (
        members("product unit_amount currency", DRAFT_7, product=TEXT, unit_amount={**INTEGER, "minimum": 0},
                currency=TEXT, metadata={
                    "type": "object", "additionalProperties": TEXT, "propertyNames": {"maxLength": 4},
                }),
        {"product": "p", "unit_amount": 0, "currency": "nok", "metadata": {"key": "value"}},
    ),
    "supabase, apply_migration": (
        members("project_id name query", CLOSED | DRAFT_2020, project_id=TEXT, name={**TEXT, "pattern": "^[a-z_]+$"},
                query=TEXT),
        {"project_id": "a", "name": "add_users", "query": "select 1"},
    ),
    "mongodb, aggregate": (
        members("collection pipeline", CLOSED | DRAFT_7, collection=TEXT,
                pipeline=items({"type": "object", "additionalProperties": {}}),
                responseBytesLimit={**NUMBER, "multipleOf": 0.5}),
        {"collection": "a", "pipeline": [{"$match": {"a": 1}}], "responseBytesLimit": 1.5},
    ),
    "grafana, query_prometheus": (
        members("expr startRfc3339", {"dependentRequired": {"endRfc3339": ["stepSeconds"]}}, expr=TEXT,
                startRfc3339=TEXT, endRfc3339=TEXT, stepSeconds=INTEGER, queryType=choice("range", "instant")),
        {"expr": "up", "startRfc3339": "now-1h", "endRfc3339": "now", "stepSeconds": 15, "queryType": "range"},
    ),
    "kubernetes, kubectl_get": (
        members("resourceType", resourceType=TEXT, allNamespaces={**FLAG, "default": False}, name=TEXT,
                output={**choice("json", "yaml", "wide"), "default": "json"}),
        {"resourceType": "pods", "allNamespaces": True, "output": "yaml", "name": "a"},
    ),
    "atlassian, jira_create_issue": (
        members("project_key", project_key={**TEXT, "pattern": "^[A-Z][A-Z0-9_]+$"}, assignee=nullable(TEXT),
                additional_fields=nullable(either({"type": "object", "additionalProperties": True}, TEXT))),
        {"project_key": "AB", "assignee": None, "additional_fields": {"a": 1}},
    ),
    "exa, web_search_exa": (
        members("query", DRAFT_7, query=TEXT, numResults=NUMBER, type=choice("auto", "fast"),
                includeDomains={**TEXTS, "uniqueItems": True, "maxItems": 3}),
        {"query": "x", "numResults": 3, "type": "fast", "includeDomains": ["a", "b"]},
    ),
    "firecrawl, firecrawl_scrape": (
        members("url", CLOSED | DRAFT_2020, url={**TEXT, "format": "uri"}, formats=items({"oneOf": [
            choice("markdown", "html"), members("type prompt", CLOSED, type={"const": "json"}, prompt=TEXT),
        ]}), waitFor={**NUMBER, "minimum": 0}),
        {"url": "https://example.org", "formats": ["html", {"type": "json", "prompt": "x"}], "waitFor": 0},
    ),
    "home assistant, HassLightSet": (
        members("", name=TEXT, area=TEXT, domain=items(choice("light")),
                brightness={**INTEGER, "minimum": 0, "maximum": 100}),
        {"name": "Lamp", "area": "Kitchen", "domain": ["light"], "brightness": 100},
    ),
    "excel, write_data": (
        members("path rows", path=TEXT, rows=items(items(either(TEXT, NUMBER, FLAG, {"type": "null"}), minItems=1)),
                range={"type": "array", "items": [TEXT, TEXT], "additionalItems": False}, **{"start-cell": TEXT}),
        {"path": "a.xlsx", "rows": [["a", 1, True, None]], "range": ["A1", "B2"], "start-cell": "A1"},
    ),
    "zod, a condition": (
        {"type": "object", "unevaluatedProperties": False, "properties": {"kind": choice("mail", "call")},
         "required": ["kind"], "allOf": [{
             "if": {"properties": {"kind": {"const": "mail"}}}, "then": members("to", to=TEXT),
             "else": members("number", number={**TEXT, "pattern": r"^\+?[0-9 ]{3,}$"}),
         }]},
        {"kind": "call", "number": "+47 22 33"},
    ),
}  # fmt: skip


def variants(value):
    """Yield JSON values that differ from `value` in one place."""
    yield from (None, True, 0, -1, 2.5, 1e6, "", "x", "a b", "json", [], ["x", "x"], [1], {}, {"type": "json"})
    if isinstance(value, dict):
        yield {**value, "unknown": 1}
        for key, inner in value.items():
            yield {name: item for name, item in value.items() if name != key}
            yield from ({**value, key: other} for other in variants(inner))
    elif isinstance(value, list):
        yield [*value, *value]
        for index, inner in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in variants(inner))


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_and_this_library_accept_the_same_arguments(server):
    original, example = SERVERS[server]
    is_old = "additionalItems" in str(original)  # of draft 7, without `$schema`
    judge = (jsonschema.Draft7Validator if is_old else jsonschema.validators.validator_for(original))(original)
    enforced, removed = schema.enforceable(deepcopy(original))
    validator = schema.compile(enforced)
    assert removed == []
    assert judge.is_valid(example) and validator.accepts(example)
    verdicts = [(value, judge.is_valid(value)) for value in variants(example)]
    assert [value for value, is_valid in verdicts if validator.is_valid(value) != is_valid] == []
    assert len([is_valid for _, is_valid in verdicts if not is_valid]) > 10
