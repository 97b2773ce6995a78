//! Legacy sessions across a restart of the server.

use godot_mcp_server::PortChoice;
use rmcp::model::{SubscribeRequestParams, UnsubscribeRequestParams};
use serde_json::json;

use crate::support::host::Event;
use crate::support::http::{initialize, legacy, send};
use crate::support::mcp::{Client, Era, Heard};
use crate::support::{options, start_with};

#[test]
fn old_session_ids_work_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = options();
    kept.session_file = Some(folder.path().join("sessions.json"));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});

    let (server, _host) = start_with(kept.clone());
    let (session, _) = initialize(server.port(), "2025-06-18");
    let (closed, _) = initialize(server.port(), "2025-06-18");
    let end = [("Mcp-Session-Id", &*closed)];
    assert!(send(server.port(), "DELETE", "/mcp", &end, b"").status < 300);
    server.stop();

    let (server, _host) = start_with(kept);
    let answer = legacy(server.port(), &session, &list);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.json()["result"]["tools"].is_array());
    assert_eq!(server.clients()[0].name, "by-hand");
    assert_eq!(legacy(server.port(), &closed, &list).status, 404, "was closed by its client");
    assert_eq!(legacy(server.port(), "made-up", &list).status, 404);
}

/// The client is rmcp's own, which knows nothing of the restart but a broken stream.
#[tokio::test]
async fn a_client_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = options();
    kept.session_file = Some(folder.path().join("sessions.json"));
    let (server, _host) = start_with(kept.clone());
    kept.port = PortChoice::Exact(server.port());
    let mut client = Client::connect(server.url(), Era::Legacy).await;
    client.call("echo", json!({})).await.unwrap();
    server.stop();

    let (server, _host) = start_with(kept);
    let answer = client.call("echo", json!({"again": true})).await.unwrap();
    assert_eq!(answer.structured_content, Some(json!({"again": true})));
    server.announce_tools_changed();
    assert_eq!(client.hear().await, Heard::ToolsChanged);
}

/// The client does not know of the restart, so it does not subscribe again.
#[tokio::test]
#[expect(deprecated, reason = "the legacy methods")]
async fn subscriptions_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = options();
    kept.session_file = Some(folder.path().join("sessions.json"));
    let (server, _host) = start_with(kept.clone());
    kept.port = PortChoice::Exact(server.port());
    let mut client = Client::connect(server.url(), Era::Legacy).await;
    for uri in ["godot://a", "godot://b"] {
        client.service.subscribe(SubscribeRequestParams::new(uri)).await.unwrap();
    }
    client.service.unsubscribe(UnsubscribeRequestParams::new("godot://b")).await.unwrap();
    server.stop();

    let (server, host) = start_with(kept);
    client.call("echo", json!({})).await.unwrap();
    host.event(|it| *it == Event::Watched(vec!["godot://a".to_owned()])).await;
    server.announce_resource_updated("godot://b");
    server.announce_resource_updated("godot://a");
    assert_eq!(client.hear().await, Heard::ResourceUpdated("godot://a".to_owned()));
}

#[test]
fn without_a_file_old_ids_are_unknown() {
    let (server, _host) = start_with(options());
    let (session, _) = initialize(server.port(), "2025-06-18");
    server.stop();
    let (server, _host) = start_with(options());
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(legacy(server.port(), &session, &list).status, 404);
}
