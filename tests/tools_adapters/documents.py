"""OpenAPI documents in the styles of well-known APIs; `x-sample` has the arguments of a call by their places."""

from __future__ import annotations

TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TEXTS, OBJECT = {"type": "array", "items": TEXT}, {"type": "object"}


def texts(*names):
    return dict.fromkeys(names, TEXT)


def record(required=(), **properties):
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def reference(name):
    return {"$ref": f"#/components/schemas/{name}"}


def at(place, name, schema=TEXT, **more):
    return {"name": name, "in": place, "schema": schema, **({"required": True} if place == "path" else {}), **more}


def query(name, schema=TEXT, **more):
    return at("query", name, schema, **more)


def json(schema, media_type="application/json", required=True, **media):
    return {"required": required, "content": {media_type: {"schema": schema, **media}}}


def form(schema, *deep, media_type="application/x-www-form-urlencoded"):
    encoding = {name: {"style": "deepObject", "explode": True} for name in deep}
    return json(schema, media_type, encoding=encoding) if deep else json(schema, media_type)


def operation(identifier, *parameters, body=None, sample=None, **more):
    value = {"operationId": identifier, "parameters": list(parameters), "x-sample": sample or {}, **more}
    return {**value, "responses": {"200": {"description": "Done."}}, **({"requestBody": body} if body else {})}


def document(version, server, paths, **components):
    info = {"title": "An API", "version": "1"}
    return {"openapi": version, "info": info, "servers": server, "paths": paths, "components": components}


ID, OWNER, REPO = at("path", "id"), at("path", "owner"), at("path", "repo")
PET = record(
    ["name", "photoUrls"],
    id={"type": "integer", "format": "int64"},
    name={**TEXT, "example": "Rex"},
    category=reference("Category"),
    photoUrls=TEXTS,
    tags={"type": "array", "items": reference("Category")},
    status={**TEXT, "enum": ["available", "sold"]},
)
REX = {"id": 12345678901234567, "name": "Réx", "photoUrls": ["a b"], "category": {"id": 1, "name": "Dogs"}, "tags": []}
USER = record(**texts("username", "email"), id=NUMBER)
ANN = {"id": 1, "username": "ann", "email": "a@b.example"}
SHOP = document(
    "3.0.3",
    [{"url": "https://shop.test/api/v3"}],
    {
        "/pet": {
            "post": operation("addPet", body=json(reference("Pet")), sample={"body": REX}),
            "put": operation("updatePet", body=json(reference("Pet")), sample={"body": {**REX, "status": "sold"}}),
        },
        "/pet/findByStatus": {
            "get": operation(
                "findByStatus", query("status", TEXTS, explode=True), sample={"query": {"status": ["sold", "a&b"]}}
            )
        },
        "/pet/findByTags": {
            "get": operation("findByTags", query("tags", TEXTS, explode=False), sample={"query": {"tags": ["a", "b"]}})
        },
        "/pet/{petId}": {
            "parameters": [at("path", "petId", NUMBER)],
            "get": operation("getPet", sample={"path": {"petId": 12345678901234567}}),
            "post": operation(
                "updatePetWithForm",
                query("name"),
                query("status"),
                sample={"path": {"petId": 7}, "query": {"name": "a b+c", "status": "sold"}},
            ),
            "delete": operation(
                "deletePet", at("header", "api_key"), sample={"path": {"petId": 7}, "header": {"api_key": "s"}}
            ),
        },
        "/store/inventory": {"get": operation("getInventory")},
        "/store/order": {
            "post": operation(
                "placeOrder",
                body=json(record(petId=NUMBER, shipDate={**TEXT, "format": "date-time"}, complete=FLAG)),
                sample={"body": {"petId": 7, "shipDate": "2026-01-02T03:04:05Z", "complete": False}},
            )
        },
        "/user": {"post": operation("createUser", body=json(reference("User")), sample={"body": ANN})},
        "/user/list": {
            "post": operation(
                "createUsers", body=json({"type": "array", "items": reference("User")}), sample={"body": [ANN, {}]}
            )
        },
        "/user/login": {
            "get": operation(
                "login",
                query("username"),
                query("password"),
                sample={"query": {"username": "ann", "password": "p&=?#%"}},
            )
        },
        "/user/{username}": {
            "parameters": [at("path", "username")],
            "get": operation("getUser", sample={"path": {"username": "a/b ü"}}),
            "put": operation(
                "updateUser", body=json(reference("User")), sample={"path": {"username": "ann"}, "body": ANN}
            ),
            "delete": operation("deleteUser", sample={"path": {"username": "a%2Fb"}}),
        },
    },
    schemas={"Pet": PET, "Category": record(id=NUMBER, name=TEXT), "User": USER},
)

VERSION = at("header", "Notion-Version", {"type": "string", "const": "2025-09-03"}, required=True)
RICH = {"type": "array", "items": reference("RichText")}
PARENT = {"oneOf": [record(["page_id"], page_id=TEXT), record(["database_id"], database_id=TEXT)]}
FILTER = {"anyOf": [reference("Condition"), record(**{"and": {"type": "array", "items": reference("Filter")}})]}
TITLE = [{"text": {"content": "Café"}, "annotations": None}]
HEAD = {"header": {"Notion-Version": "2025-09-03"}}
NOTES = document(
    "3.1.0",
    [{"url": "https://notes.test"}],
    {
        "/v1/users": {
            "get": operation(
                "listUsers",
                VERSION,
                query("page_size", {"type": "integer", "default": 100}),
                query("start_cursor", {"type": ["string", "null"]}),
                sample={**HEAD, "query": {"page_size": 5, "start_cursor": "x"}},
            )
        },
        "/v1/users/me": {"get": operation("getSelf", VERSION, sample=HEAD)},
        "/v1/databases/{id}/query": {
            "post": operation(
                "queryDatabase",
                VERSION,
                ID,
                query("filter_properties", TEXTS),
                body=json(record(filter=reference("Filter"), page_size=NUMBER), required=False),
                sample={
                    **HEAD,
                    "path": {"id": "d1"},
                    "query": {"filter_properties": ["a;b", "c"]},
                    "body": {"filter": {"and": [{"property": "Done", "checkbox": {"equals": True}}]}, "page_size": 2},
                },
            )
        },
        "/v1/pages": {
            "post": operation(
                "createPage",
                VERSION,
                body=json(
                    record(
                        ["parent"],
                        parent=PARENT,
                        properties={"type": "object", "additionalProperties": record(title=RICH)},
                        icon={"type": ["object", "null"]},
                    )
                ),
                sample={
                    **HEAD,
                    "body": {"parent": {"page_id": "p"}, "properties": {"Name": {"title": TITLE}}, "icon": None},
                },
            )
        },
        "/v1/pages/{id}": {
            "patch": operation(
                "updatePage",
                VERSION,
                ID,
                body=json(record(archived=FLAG, icon={"anyOf": [{"type": "null"}, reference("RichText")]})),
                sample={**HEAD, "path": {"id": "p"}, "body": {"archived": True, "icon": None}},
            )
        },
        "/v1/blocks/{id}/children": {
            "get": operation(
                "listChildren",
                VERSION,
                ID,
                query("page_size", NUMBER),
                sample={**HEAD, "path": {"id": "b-1"}, "query": {"page_size": 100}},
            ),
            "patch": operation(
                "appendChildren",
                VERSION,
                ID,
                body=json(record(["children"], children={"type": "array", "items": OBJECT}, after=TEXT)),
                sample={
                    **HEAD,
                    "path": {"id": "b"},
                    "body": {"children": [{"type": "paragraph", "paragraph": {"rich_text": TITLE}}]},
                },
            ),
        },
        "/v1/blocks/{id}": {"delete": operation("deleteBlock", VERSION, ID, sample={**HEAD, "path": {"id": "b"}})},
        "/v1/search": {
            "post": operation(
                "search",
                VERSION,
                body=json(
                    record(query=TEXT, sort=record(direction={"enum": ["ascending", "descending"]}), limit=NUMBER)
                ),
                sample={**HEAD, "body": {"query": 'a "b" \' \\', "sort": {"direction": "ascending"}}},
            )
        },
        "/v1/comments": {
            "post": operation(
                "createComment",
                VERSION,
                body=json({"$ref": "#/components/schemas/Comment"}),
                sample={**HEAD, "body": {"parent": {"page_id": "p"}, "rich_text": TITLE}},
            )
        },
    },
    schemas={
        "RichText": record(text=record(content=TEXT), annotations={"type": ["object", "null"]}),
        "Condition": {"type": "object", "required": ["property"], "properties": {"property": TEXT}},
        "Filter": FILTER,
        "Comment": {"allOf": [record(["rich_text"], rich_text=RICH), {"properties": {"parent": PARENT}}]},
    },
)

RANGE = {"anyOf": [record(gt=NUMBER, gte=NUMBER, lt=NUMBER), NUMBER]}
DEEP = {"style": "deepObject", "explode": True}
EXPAND = query("expand", TEXTS, **DEEP)
ADDRESS = record(**texts("line1", "city"), country={"anyOf": [TEXT, {"enum": [""]}]})
METADATA = {"type": "object", "additionalProperties": TEXT}
ITEMS = {"type": "array", "items": record(price=TEXT, quantity=NUMBER)}
PAYMENTS = document(
    "3.0.0",
    [{"url": "https://pay.test/"}],
    {
        "/v1/charges": {
            "get": operation(
                "listCharges",
                query("created", RANGE, **DEEP),
                EXPAND,
                query("limit", NUMBER, style="form"),
                sample={"query": {"created": {"gte": 5, "lt": 9}, "limit": 3}},
            )
        },
        "/v1/charges/{id}": {
            "get": operation(
                "getCharge", ID, EXPAND, sample={"path": {"id": "ch_1"}, "query": {"expand": ["customer"]}}
            )
        },
        "/v1/customers": {
            "post": operation(
                "createCustomer",
                body=form(
                    record(address=ADDRESS, email=TEXT, expand=TEXTS, metadata=METADATA),
                    "address",
                    "expand",
                    "metadata",
                ),
                sample={
                    "body": {
                        "address": {"line1": "1 & 2", "city": "Ås", "country": ""},
                        "email": "a+b@c.example",
                        "metadata": {"k 1": "v=1"},
                    }
                },
            )
        },
        "/v1/customers/{id}": {
            "post": operation(
                "updateCustomer",
                ID,
                body=form(record(email=TEXT, balance=NUMBER)),
                sample={"path": {"id": "cus_1"}, "body": {"email": "x@y.example", "balance": -5}},
            ),
            "delete": operation("deleteCustomer", ID, sample={"path": {"id": "cus_1"}}),
        },
        "/v1/customers/search": {
            "get": operation(
                "searchCustomers",
                query("query", required=True),
                query("limit", NUMBER),
                sample={"query": {"query": "email~'x' AND metadata['k']:'v'", "limit": 1}},
            )
        },
        "/v1/payment_intents": {
            "post": operation(
                "createIntent",
                body=form(record(["amount"], amount=NUMBER, confirm=FLAG, currency=TEXT)),
                sample={"body": {"amount": 100, "confirm": True, "currency": "eur"}},
            )
        },
        "/v1/subscriptions": {
            "post": operation(
                "createSubscription",
                body=form(record(customer=TEXT, items=ITEMS), "items"),
                sample={"body": {"customer": "cus_1", "items": [{"price": "p", "quantity": 2}, {"price": "q"}]}},
            )
        },
        "/v1/refunds": {
            "post": operation(
                "createRefund",
                body=form(record(charge=TEXT, metadata=METADATA), "metadata"),
                sample={"body": {"charge": "ch_1", "metadata": {"a": "b"}}},
            )
        },
        "/v1/events": {
            "get": operation(
                "listEvents",
                query("types", TEXTS, style="form", explode=True),
                query("delivery_success", FLAG),
                sample={"query": {"types": ["a.b", "c.*"], "delivery_success": False}},
            )
        },
        "/v1/webhooks": {
            "post": operation(
                "createWebhook",
                body=form(record(url=TEXT, events=TEXTS)),
                sample={"body": {"url": "https://a.example/?b=c", "events": ["x", "y"]}},
            )
        },
        "/v1/files": {
            "post": operation(
                "createFile",
                body=form(
                    record(["purpose"], purpose=TEXT, note=TEXT, file={"type": "string", "format": "binary"}),
                    media_type="multipart/form-data",
                ),
                sample={"body": {"purpose": "logo é", "note": 'a "b"'}},
                servers=[{"url": "https://files.pay.test/"}],
            )
        },
    },
)

COMMIT = record(["message"], message=TEXT, content=TEXT, sha=TEXT, committer=record(**texts("name", "email")))
LABELS = {"oneOf": [record(labels=TEXTS), TEXTS]}
THIS = {"path": {"owner": "ann", "repo": "a.b"}}


def of_repository(**more):
    return {"path": {**THIS["path"], **more}}


CODE = document(
    "3.0.3",
    [{"url": "https://code.test"}],
    {
        "/repos/{owner}/{repo}": {
            "get": operation("getRepo", OWNER, REPO, sample=THIS),
            "patch": operation(
                "updateRepo",
                OWNER,
                REPO,
                body=json(record(private=FLAG, description={**TEXT, "nullable": True}), required=False),
                sample={**THIS, "body": {"private": True, "description": None}},
            ),
        },
        "/repos/{owner}/{repo}/issues": {
            "get": operation(
                "listIssues",
                OWNER,
                REPO,
                query("labels"),
                query("since", {**TEXT, "format": "date-time"}),
                query("page", {**NUMBER, "default": 1}),
                sample={**THIS, "query": {"labels": "bug,ui", "since": "2026-01-02T03:04:05+01:00", "page": 2}},
            ),
            "post": operation(
                "createIssue",
                OWNER,
                REPO,
                body=json(
                    record(
                        ["title"],
                        title={"oneOf": [TEXT, NUMBER]},
                        milestone={"nullable": True, "oneOf": [TEXT, NUMBER]},
                        labels={"type": "array", "items": {"oneOf": [TEXT, record(name=TEXT)]}},
                    )
                ),
                sample={**THIS, "body": {"title": 3, "milestone": None, "labels": ["bug", {"name": "ui"}]}},
            ),
        },
        "/repos/{owner}/{repo}/issues/{number}/labels": {
            "parameters": [OWNER, REPO, at("path", "number", NUMBER)],
            "post": operation(
                "addLabels", body=json(LABELS, required=False), sample={**of_repository(number=3), "body": ["a", "b"]}
            ),
            "put": operation(
                "setLabels", body=json(LABELS), sample={**of_repository(number=3), "body": {"labels": ["a"]}}
            ),
            "delete": operation("removeLabels", sample=of_repository(number=3)),
        },
        "/repos/{owner}/{repo}/contents/{path}": {
            "parameters": [OWNER, REPO, at("path", "path")],
            "get": operation(
                "getContent",
                query("ref"),
                sample={**of_repository(path="docs/a b.md"), "query": {"ref": "refs/heads/x"}},
            ),
            "put": operation(
                "putContent",
                body=json(COMMIT),
                sample={
                    **of_repository(path="a"),
                    "body": {"message": "Add", "content": "YQ==", "committer": {"name": "Ann", "email": "a@b.example"}},
                },
            ),
        },
        "/repos/{owner}/{repo}/compare/{basehead}": {
            "get": operation("compare", OWNER, REPO, at("path", "basehead"), sample=of_repository(basehead="main...b"))
        },
        "/repos/{owner}/{repo}/releases/{id}/assets": {
            "post": operation(
                "uploadAsset",
                OWNER,
                REPO,
                at("path", "id", NUMBER),
                query("name", required=True),
                query("label"),
                body=json({**TEXT, "format": "binary"}, "application/octet-stream", required=False),
                sample={**of_repository(id=1), "query": {"name": "a b.zip"}, "body": "bytes"},
                servers=[{"url": "https://{host}.code.test", "variables": {"host": {"default": "uploads"}}}],
            )
        },
        "/repos/{owner}/{repo}/topics": {
            "put": operation(
                "setTopics",
                OWNER,
                REPO,
                body=json(record(["names"], names=TEXTS)),
                sample={**THIS, "body": {"names": []}},
            )
        },
        "/user/starred/{owner}/{repo}": {
            "parameters": [OWNER, REPO],
            "get": operation("isStarred", sample=THIS),
            "put": operation("star", sample=THIS),
            "delete": operation("unstar", sample=THIS),
        },
        "/search/code": {
            "get": operation(
                "searchCode",
                query("q", required=True),
                query("order", {**TEXT, "enum": ["asc", "desc"]}),
                sample={"query": {"q": "addClass in:file language:js c++", "order": "asc"}},
            )
        },
        "/markdown": {
            "post": operation(
                "renderMarkdown",
                body=json(record(["text"], text=TEXT, mode={"enum": ["markdown", "gfm"]})),
                sample={"body": {"text": "# a\n", "mode": "gfm"}},
            )
        },
        "/markdown/raw": {
            "post": operation("renderRaw", body=json(TEXT, "text/plain"), sample={"body": "# ü\n"}),
        },
        "/settings": {
            "patch": operation(
                "mergeSettings",
                body=json(record(a={**TEXT, "nullable": True}, b=NUMBER), "application/merge-patch+json"),
                sample={"body": {"a": None, "b": 1}},
            ),
            "put": operation(
                "patchSettings",
                body=json({"type": "array", "items": OBJECT}, "application/json-patch+json"),
                sample={"body": [{"op": "remove", "path": "/a"}]},
            ),
        },
        "/graphql": {
            "post": operation(
                "graphql",
                body=json(record(query=TEXT, variables=OBJECT)),
                sample={"body": {"query": "{ a }", "variables": {"x": [1, None, {"y": 0.5}]}}},
            )
        },
    },
)

PERSON = record(role=TEXT, name=TEXT)
ADMIN, COLORS = {"role": "admin", "name": "A B"}, ["blue", "a b"]


def style(identifier, place, value, schema=TEXTS, name="p", **more):
    more = {key: part for key, part in more.items() if part is not None}
    return operation(identifier, at(place, name, schema, **more), sample={place: {name: value}})


STYLES = document(
    "3.1.1",
    [{"url": "https://{region}.styles.test/v1", "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}}}],
    {
        "/simple/{p}": {
            "get": style("simpleList", "path", COLORS),
            "put": style("simpleObject", "path", ADMIN, PERSON),
            "post": style("simpleObjectExploded", "path", ADMIN, PERSON, explode=True),
            "delete": style("simpleNumber", "path", -1.5, {"type": "number"}),
        },
        "/label/{p}": {
            "get": style("labelText", "path", "a", TEXT, style="label"),
            "put": style("labelList", "path", COLORS, style="label", explode=True),
        },
        "/matrix/{p}": {
            "get": style("matrixText", "path", "a", TEXT, style="matrix"),
            "put": style("matrixList", "path", COLORS, style="matrix", explode=True),
        },
        "/query": {
            "get": style("formList", "query", COLORS),
            "put": style("formListJoined", "query", COLORS, explode=False),
            "post": style("formObject", "query", ADMIN, PERSON),
            "delete": style("formObjectJoined", "query", ADMIN, PERSON, explode=False),
        },
        "/delimited": {
            "get": style("spaceDelimited", "query", ["blue", "c"], style="spaceDelimited", explode=False),
            "put": style("pipeDelimited", "query", COLORS, style="pipeDelimited", explode=False),
            "post": style("deepObject", "query", ADMIN, PERSON, **DEEP),
        },
        "/header": {
            "get": style("headerList", "header", ["a", "b"], name="X-P"),
            "put": style("headerObject", "header", ADMIN, PERSON, name="X-P"),
            "post": style("headerObjectExploded", "header", ADMIN, PERSON, name="X-P", explode=True),
            "delete": style("headerFlag", "header", True, FLAG, name="X-P"),
        },
        "/cookie": {
            "get": style("cookieText", "cookie", "a", TEXT),
            "put": style("cookieFlag", "cookie", False, FLAG),
        },
        "/names": {
            "get": operation(
                "bracketNames",
                query("filter[x]"),
                query("$select", TEXTS, explode=False),
                sample={"query": {"filter[x]": "1", "$select": ["a", "b"]}},
            )
        },
    },
)
DOCUMENTS = {"shop": SHOP, "notes": NOTES, "payments": PAYMENTS, "code": CODE, "styles": STYLES}
