"""Contract of topics, their names and partitions, and of tenants and namespaces."""

from __future__ import annotations

from typing import Any, Final

from .avro import ONE, OTHER
from .script import Case, delete, get, make_tenant, put, register, schema_path

TOPIC: Final = "/admin/v2/persistent/public/default/{case}"
NAMESPACE: Final = "/admin/v2/namespaces/{case}"
STRATEGY: Final = f"{NAMESPACE}/n/schemaCompatibilityStrategy"
TENANT: Final = "/admin/v2/tenants/{case}"
IN_NAMESPACE: Final = "/admin/v2/persistent/{case}/n"
OWN_TOPIC: Final = "persistent://{case}/n/{case}"
NONE_SUCH: Final = "Topic persistent://public/default/{case}"


def reason(text: str) -> dict[str, str]:
    return {"reason": text}


def cases() -> list[Case]:
    return [*_deleting(), *_partitions(), *_names(), *_tenants(), *_namespaces(), *_strategies()]


def _deleting() -> list[Case]:
    return [
        *[
            Case(
                f"deleting a topic deletes its schemas{name}",
                put(TOPIC).done(),
                put(TOPIC).gives(reason("This topic already exists"), 409),
                register(ONE).registers(0),
                delete(TOPIC + query).done(),
                get().refused(404, "Schema not found"),
                get("schemas").gives({"getSchemaResponses": []}),
                register(OTHER).registers(0),
            )
            for name, query in (("", ""), (", as requested", "?deleteSchema=true"), (", by force", "?force=true"))
        ],
        Case(
            "deleting a topic that was never created deletes its schemas",
            register(ONE).registers(0),
            delete(TOPIC).gives(reason(f"{NONE_SUCH} not found"), 404),
            get().refused(404, "Schema not found"),
            register(OTHER).registers(0),
        ),
        Case(
            "a topic needs its namespace",
            put("/admin/v2/persistent/public/nope/{case}").refused(404, "Namespace not found"),
            put("/admin/v2/persistent/nope/nope/{case}").refused(404, "Namespace not found"),
        ),
    ]


def _partitions() -> list[Case]:
    return [
        Case(
            "a partitioned topic is deleted as such, with its schemas",
            put(f"{TOPIC}/partitions", 3).done(),
            put(f"{TOPIC}/partitions", 3).gives(reason("This topic already exists"), 409),
            put(TOPIC).gives(reason("This topic already exists"), 409),
            register(ONE).registers(0),
            delete(TOPIC).refused(409, "persistent://public/default/{case} is a partitioned topic, instead of calling"),
            get("schema/0"),
            delete(f"{TOPIC}/partitions").done(),
            get().refused(404, "Schema not found"),
            delete(f"{TOPIC}/partitions").gives(reason(f"{NONE_SUCH} not found."), 404),
            register(OTHER).registers(0),
        ),
        Case(
            "deleting a partition does not delete the schemas",
            put(f"{TOPIC}/partitions", 3).done(),
            register(ONE).registers(0),
            delete(f"{TOPIC}-partition-1").done(),
            delete(f"{TOPIC}-partition-1").gives(reason(f"{NONE_SUCH}-partition-1 not found"), 404),
            delete(f"{TOPIC}-partition-7").gives(reason(f"{NONE_SUCH}-partition-7 not found"), 404),
            get("schema/0"),
            put(f"{TOPIC}-partition-1").done(),
            put(f"{TOPIC}-partition-1").gives(reason("This topic already exists"), 409),
            *[
                put(f"{TOPIC}-partition-{beyond}").refused(412, f"Can't create topic {{case}}-partition-{beyond} with")
                for beyond in (3, 5)
            ],
        ),
        Case(
            "a partition cannot be created without a partitioned topic",
            put(f"{TOPIC}-partition-0").refused(412, "Can't create topic {case}-partition-0 with"),
            register(ONE).registers(0),
            delete(f"{TOPIC}-partition-0").gives(reason(f"{NONE_SUCH}-partition-0 not found"), 404),
            get("schema/0"),
        ),
        Case(
            "the number of partitions is at least 1",
            put(f"{TOPIC}/partitions", 0).gives(reason("Number of partitions should be more than 0"), 406),
            put(f"{TOPIC}/partitions", b"x").refused(400, "what Jackson says"),
            put(f"{TOPIC}/partitions").refused(500, 'Cannot read field "partitions" because "metadata" is null'),
            put("/admin/v2/persistent/public/nope/{case}/partitions", 1).refused(404, "Namespace not found"),
        ),
        Case(
            "a topic whose name is that of a partition has no partitions",
            put(f"{TOPIC}-partition-x/partitions", 2).refused(412, "Partitioned Topic Name should not contain"),
            delete(f"{TOPIC}-partition-1/partitions").refused(412, "Partitioned Topic Name should not contain"),
            put(f"{TOPIC}-partition-x").done(),
            put(f"{TOPIC}-partition-x-partition-1").done(),
            put(f"{TOPIC}-partition-01").refused(412, "Can't create topic {case}-partition-01 with"),
            delete(f"{TOPIC}-partition-x").done(),
        ),
        Case(
            "a topic without partitions is deleted as such",
            put(TOPIC).done(),
            delete(f"{TOPIC}/partitions").gives(
                reason(
                    "persistent://public/default/{case} is a non-partitioned topic. "
                    "Instead of calling delete-partitioned-topic please call delete."
                ),
                409,
            ),
        ),
        *[
            Case(
                f"a schema posted to x{posted} is {'found' if found else 'not found'} at x{read or ' itself'}",
                register(ONE, at=posted).registers(0),
                get("schema/0", at=read) if found else get(at=read).refused(404, "Schema not found"),
            )
            for posted, read, found in [
                ("-partition-3", "", True),
                ("", "-partition-0", True),
                ("-partition-99999999999", "-partition-99999999999", True),
                ("-partition-03", "", False),
                ("-partition--1", "", False),
                ("-partition-", "", False),
                ("-partition-1-partition-2", "-partition-1-partition-0", True),
            ]
        ],
    ]  # fmt: skip


def _names() -> list[Case]:
    return [
        *[
            Case(
                f"{posted} in a name is {'' if found else 'not '}the same as {read}",
                register(ONE, at=posted).registers(0),
                get("schema/0", at=read) if found else get(at=read).refused(404, "Schema not found"),
            )
            for posted, read, found in [
                ("%20b", "+b", True),
                ("%20b", "%2520b", True),
                ("%2Fb", "%252Fb", True),
                ("+p", "%252Bp", False),
                ("%2Bp", "+p", True),
                ("%E2%82%AC", "%25E2%2582%25AC", True),
                ("~b", "%7Eb", True),
            ]
        ],
        Case(
            "the name of a topic is decoded once, that of its schemas twice",
            put(f"{TOPIC}%25%2Bb").done(),
            register(ONE, at="%2525%252Bb").registers(0),
            delete(f"{TOPIC}%25%2Bb").done(),
            get(at="%2525%252Bb").refused(404, "Schema not found"),
            put(f"{TOPIC}+b").done(),
            put(f"{TOPIC}%20b").gives(reason("This topic already exists"), 409),
        ),
        Case(
            "a remaining percent sign is an error inside Jetty",
            register(ONE, at="%25b").refused(500, "Request failed."),
            get(at="%25").refused(500, "Request failed."),
        ),
        *[
            Case(f"a path with {at} is invalid", get(at=at).gives(page, 400).as_a("text/html;charset=iso-8859-1"))
            for page in ["<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>"]
            for at in ("%", "%zz", "%00")
        ],
        *[
            Case(
                f"a topic may not be called {path}",
                get(f"/admin/v2/schemas/{path}/schema").gives(reason("Topic name is not valid"), 412),
            )
            for path in ("public/default/%20", "public/default/+", "public/default/%2520", "pub%20lic/default/t")
        ],
        *[
            Case(
                f"a namespace may not be called {path}",
                get(f"/admin/v2/schemas/{path}/t/schema").gives(reason("Topic name is not valid"), 412),
                put(f"/admin/v2/namespaces/{path}").gives(reason("Namespace name is not valid"), 412),
            )
            for path in ("public/a%20b", "public/%C3%A9", "a@b/c")
        ],
    ]


def _tenants() -> list[Case]:
    info: dict[str, Any] = {"adminRoles": [], "allowedClusters": ["standalone"]}
    needs: list[tuple[str, dict[str, Any] | None, str]] = [
        ("a body", None, "TenantInfo is null"),
        ("clusters", {}, "Clusters cannot be null"),
        ("a cluster", {"allowedClusters": []}, "Clusters cannot be empty or blank"),
        ("clusters that exist", {"allowedClusters": ["nope"]}, "Clusters do not exist"),
    ]
    return [
        Case("there is one cluster", get("/admin/v2/clusters").gives(["standalone"])),
        Case(
            "a tenant is created once",
            put(TENANT, info).done(),
            put(TENANT, info).gives(reason("Tenant already exist"), 409),
            get(NAMESPACE).gives([]),
        ),
        *[Case(f"a tenant needs {name}", put(TENANT, body).gives(reason(words), 412)) for name, body, words in needs],
        Case(
            "a tenant may not be called a b",
            put("/admin/v2/tenants/a%20b", info).gives(reason("Tenant name is not valid"), 412),
        ),
        Case(
            "the tenants and namespaces of a new Pulsar exist",
            get("/admin/v2/namespaces/nope").gives(reason("Tenant not found"), 404),
            put("/admin/v2/tenants/public", info).gives(reason("Tenant already exist"), 409),
            put("/admin/v2/namespaces/public/default").gives(reason("Namespace already exists"), 409),
        ),
    ]


def _namespaces() -> list[Case]:
    schema, own = schema_path(namespace="{case}/n"), "{case}/n"
    inside = "/admin/v2/persistent/{case}/n/{case}"
    return [
        Case(
            "a namespace is created once, and deleted with its content",
            make_tenant(),
            register(ONE, namespace=own).gives(reason("Namespace does not exist"), 404),
            put(f"{NAMESPACE}/n").done(),
            put(f"{NAMESPACE}/n").gives(reason("Namespace already exists"), 409),
            get(NAMESPACE).gives(["{case}/n"]),
            register(ONE, namespace=own).registers(0),
            delete(f"{NAMESPACE}/n?force=true").gives(
                reason("Broker doesn't allow forced deletion of namespaces"), 405
            ),
            delete(f"{NAMESPACE}/n").done(),
            get(NAMESPACE).gives([]),
            delete(f"{NAMESPACE}/n").gives(reason("Namespace {case}/n does not exist."), 404),
            get(STRATEGY).gives(reason("Namespace does not exist"), 404),
        ),
        Case(
            "a namespace with a topic is not deleted",
            make_tenant(),
            put(f"{NAMESPACE}/n").done(),
            put(inside).done(),
            register(ONE, namespace=own).registers(0),
            delete(f"{NAMESPACE}/n").gives(reason("Cannot delete non empty namespace"), 409),
            get("schema/0", namespace=own),
            delete(inside).done(),
            delete(f"{NAMESPACE}/n").done(),
            get(schema).refused(404, "Schema not found"),
        ),
        Case(
            "the schemas of a topic that was never created outlive its namespace",
            make_tenant(),
            put(f"{NAMESPACE}/n").done(),
            register(ONE, namespace=own).registers(0),
            delete(f"{NAMESPACE}/n").done(),
            get("schema/0", namespace=own),
            register(ONE, namespace=own).gives(reason("Namespace does not exist"), 404),
            put(f"{NAMESPACE}/n").done(),
            register(OTHER, namespace=own).refused(409),
        ),
        Case(
            "a namespace lists its topics and partitions, and its partitioned topics",
            make_tenant(),
            put(f"{NAMESPACE}/n").done(),
            get(IN_NAMESPACE).gives([]),
            get(f"{IN_NAMESPACE}/partitioned").gives([]),
            register(ONE, namespace=own).registers(0),
            get(IN_NAMESPACE).gives([]),
            put(f"{inside}-b").done(),
            put(f"{inside}-a/partitions", 2).done(),
            get(IN_NAMESPACE).gives([f"{OWN_TOPIC}-{name}" for name in ("a-partition-0", "a-partition-1", "b")]),
            get(f"{IN_NAMESPACE}/partitioned").gives([f"{OWN_TOPIC}-a"]),
            delete(f"{inside}-a-partition-0").done(),
            get(IN_NAMESPACE).gives([f"{OWN_TOPIC}-{name}" for name in ("a-partition-1", "b")]),
        ),
        *[
            Case(
                f"topics are not listed in a namespace that does not exist{of}",
                get(f"/admin/v2/persistent/{path}").gives(reason("Namespace does not exist"), 404),
                get(f"/admin/v2/persistent/{path}/partitioned").gives(reason("Namespace does not exist"), 404),
            )
            for of, path in (("", "public/nope"), (", nor of a tenant", "nope/nope"))
        ],
        Case("a namespace needs its tenant", put(f"{NAMESPACE}/n").gives(reason("Tenant does not exist"), 404)),
    ]


def _strategies() -> list[Case]:
    made, own = [make_tenant(), put(f"{NAMESPACE}/n").done()], "{case}/n"
    return [
        Case(
            "a namespace's strategy applies once it is set",
            *made,
            get(STRATEGY).gives("UNDEFINED"),
            register(ONE, namespace=own).registers(0),
            register(OTHER, namespace=own).refused(409),
            put(STRATEGY, "ALWAYS_COMPATIBLE").done(),
            get(STRATEGY).gives("ALWAYS_COMPATIBLE"),
            register(OTHER, namespace=own).registers(1),
            put(STRATEGY, "ALWAYS_INCOMPATIBLE").done(),
            register(ONE, namespace=own).registers(0),
            register(ONE, "JSON", namespace=own).refused(409),
        ),
        *[
            Case(
                f"{name} as a strategy sets {kept}",
                *made,
                put(STRATEGY, "BACKWARD").done(),
                put(STRATEGY, body).done(),
                get(STRATEGY).gives(kept),
            )
            for name, body, kept in [
                ("an unknown name", "SIDEWAYS", "UNDEFINED"),
                ("null", b"null", "UNDEFINED"),
                ("an empty body", b"", "UNDEFINED"),
                ("the number of a strategy", 7, "FORWARD_TRANSITIVE"),
                ("UNDEFINED", "UNDEFINED", "UNDEFINED"),
            ]
        ],
        Case(
            "a strategy is JSON",
            *made,
            put(STRATEGY, b"FULL").refused(400, "what Jackson says"),
            put(STRATEGY, b"{}").refused(400, "what Jackson says"),
            put(STRATEGY, "FULL").with_headers(Content_Type="text/plain").done(415),
            put(STRATEGY, "FULL").accepting("text/plain").done(406),
        ),
        Case(
            "a strategy needs its namespace",
            get("/admin/v2/namespaces/public/nope/schemaCompatibilityStrategy").refused(404, "Namespace does not"),
            put("/admin/v2/namespaces/public/nope/schemaCompatibilityStrategy", "FULL").refused(404, "Namespace does"),
        ),
    ]


def of_topic_strategies() -> list[Case]:
    """Return the cases for a Pulsar with topic-level policies, which are off by default."""
    path = f"{TOPIC}/schemaCompatibilityStrategy"
    missing = reason(f"{NONE_SUCH} not found")
    return [
        Case(
            "a topic's strategy takes precedence over its namespace's",
            put(TOPIC).done(),
            get(path).done(200),
            get(f"{path}?applied=true").gives("FULL"),
            register(ONE).registers(0),
            register(OTHER).refused(409),
            put(path, "ALWAYS_COMPATIBLE").done(),
            get(path).gives("ALWAYS_COMPATIBLE"),
            get(f"{path}?applied=true").gives("ALWAYS_COMPATIBLE"),
            register(OTHER).registers(1),
            put(path, "ALWAYS_INCOMPATIBLE").done(),
            register(ONE, "JSON").refused(409),
            delete(path).done(),
            get(path).done(200),
            delete(path).done(),
        ),
        Case(
            "a topic's strategy ends with the topic",
            put(f"{TOPIC}/partitions", 2).done(),
            put(path, "ALWAYS_COMPATIBLE").done(),
            delete(f"{TOPIC}/partitions").done(),
            put(TOPIC).done(),
            get(path).done(200),
            register(ONE).registers(0),
            register(OTHER).refused(409),
        ),
        Case(
            "a topic's strategy needs the topic",
            get(path).gives(missing, 404),
            get(f"{path}?applied=true").gives(missing, 404),
            put(path, "FULL").gives(missing, 404),
            delete(path).gives(missing, 404),
            put(path, b"[]").refused(400, "what Jackson says"),
        ),
        *[
            Case(
                f"{name} as a topic's strategy sets {kept or 'none'}",
                put(TOPIC).done(),
                put(path, "BACKWARD").done(),
                put(path, body).done(),
                get(path).gives(kept),
            )
            for name, body, kept in [
                ("an unknown name", "SIDEWAYS", None),
                ("null", b"null", None),
                ("the number of a strategy", 4, "FORWARD"),
            ]
        ],
    ]
