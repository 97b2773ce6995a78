//! What clients of both eras get to see.

use rmcp::model::{ReadResourceRequestParams, ResourceContents};
use serde_json::{Value, json};

use crate::support::http::{initialize, legacy, modern, send};
use crate::support::mcp::{Client, ERAS, Era};
use crate::support::start;

#[tokio::test]
async fn tools_are_listed_in_the_hosts_order_and_called() {
    for era in ERAS {
        let (server, host) = start();
        let client = Client::connect(server.url(), era).await;
        let tools = client.service.list_all_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|it| &*it.name).collect();
        assert_eq!(
            names,
            [
                "echo", "text", "image", "bytes", "sigpipe", "wait", "stubborn", "progress",
                "refuse", "panic", "ask", "log"
            ],
            "{era:?}"
        );
        assert!(tools.iter().all(|it| it.output_schema.is_none()));

        let result = client.call("echo", json!({"a": [1, {"b": null}]})).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({"a": [1, {"b": null}]})), "{era:?}");
        assert_eq!(result.is_error, Some(false));
        assert_eq!(host.started("echo").await, "tester 7", "{era:?}");

        let result = client.call("refuse", json!({})).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{era:?}");
        let error = result.structured_content.unwrap();
        assert_eq!(error["error"], "PRECONDITION_FAILED");
        assert_eq!(error["required"], "confirm");
        let text = result.content[0].as_text().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text.text).unwrap(), error);

        let clients = server.clients();
        assert_eq!(clients.len(), 1);
        assert_eq!((&*clients[0].name, &*clients[0].version), ("tester", "7"));
        let version = match era {
            Era::Legacy => "2025-11-25",
            Era::Modern => "2026-07-28",
        };
        assert_eq!(clients[0].protocol_version, version);
    }
}

#[tokio::test]
async fn identity_instructions_and_capabilities_are_told() {
    for era in ERAS {
        let (server, _host) = start();
        let client = Client::connect(server.url(), era).await;
        let info = client.service.peer_info().unwrap();
        assert_eq!(info.server_info.as_ref().unwrap().name, "godot-mcp", "{era:?}");
        assert_eq!(info.instructions.as_deref(), Some("Look before you change."), "{era:?}");
        let capabilities = serde_json::to_value(&info.capabilities).unwrap();
        assert_eq!(
            capabilities,
            json!({
                "tools": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "prompts": {"listChanged": true},
                "completions": {},
                "logging": {},
            }),
            "{era:?}"
        );
    }
}

#[test]
fn every_legacy_version_is_spoken() {
    let (server, _host) = start();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (session, answer) = initialize(server.port(), version);
        assert_eq!(answer["result"]["protocolVersion"], version);
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "echo", "arguments": {"v": version}}});
        let answer = legacy(server.port(), &session, &call).json();
        assert_eq!(answer["result"]["structuredContent"]["v"], version);
        assert_eq!(answer["result"].get("resultType"), None, "legacy results have none");
    }
    // A version of the future is answered with one that both may know.
    let (_, answer) = initialize(server.port(), "2099-01-01");
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn modern_answers_are_plain_json_with_cache_hints() {
    let (server, _host) = start();
    let list = modern(server.port(), "tools/list", json!({}));
    assert_eq!(list.status, 200);
    assert_eq!(list.header("content-type"), Some("application/json"));
    let result = &list.json()["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
    let discover = modern(server.port(), "server/discover", json!({})).json();
    assert_eq!(discover["result"]["ttlMs"], 60_000);
    assert!(discover["result"]["supportedVersions"].as_array().unwrap().len() >= 5);
}

#[test]
fn an_unknown_tool_is_a_protocol_error_with_near_names() {
    let (server, _host) = start();
    let call = modern(server.port(), "tools/call", json!({"name": "ecko", "arguments": {}})).json();
    assert_eq!(call["error"]["code"], -32602);
    assert!(call["error"]["message"].as_str().unwrap().contains("\"echo\""), "{call}");

    // One that is switched off is the host's to explain.
    let call =
        modern(server.port(), "tools/call", json!({"name": "hidden", "arguments": {}})).json();
    assert_eq!(call["result"]["structuredContent"]["error"], "TOOLSET_DISABLED", "{call}");
}

#[test]
fn headers_that_contradict_the_body_are_refused() {
    let (server, _host) = start();
    let (mut headers, body) = crate::support::http::modern_request(
        "tools/call",
        json!({"name": "echo", "arguments": {}}),
    );
    headers.retain(|(name, _)| *name != "Mcp-Name");
    headers.push(("Mcp-Name", "text".to_owned()));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let response = send(server.port(), "POST", "/mcp", &headers, &body);
    assert_eq!(response.status, 400);
    assert_eq!(response.json()["error"]["code"], -32020);
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    for era in ERAS {
        let (server, _host) = start();
        let client = Client::connect(server.url(), era).await.service;
        let resources = client.list_all_resources().await.unwrap();
        assert_eq!(resources.iter().map(|it| &*it.uri).collect::<Vec<_>>(), ["godot://scene"]);
        let templates = client.list_all_resource_templates().await.unwrap();
        assert_eq!(templates[0].uri_template, "godot://class/{name}");

        let read =
            client.read_resource(ReadResourceRequestParams::new("godot://scene")).await.unwrap();
        let ResourceContents::TextResourceContents { text, mime_type, .. } = &read.contents[0]
        else {
            panic!("{read:?}");
        };
        assert_eq!((&**text, mime_type.as_deref()), ("Root", Some("text/plain")), "{era:?}");
        for uri in ["godot://nothing", "godot://large", "godot://panic"] {
            assert!(
                client.read_resource(ReadResourceRequestParams::new(uri)).await.is_err(),
                "{uri}"
            );
        }
    }
}

#[test]
fn an_unknown_resource_is_not_found_in_the_code_of_the_era() {
    let (server, _host) = start();
    let answer = modern(server.port(), "resources/read", json!({"uri": "godot://nothing"})).json();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let (session, _) = initialize(server.port(), "2025-11-25");
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": {"uri": "godot://nothing"}});
    let answer = legacy(server.port(), &session, &read).json();
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    assert_eq!(answer["error"]["data"]["error"], "RESOURCE_NOT_FOUND");
}
