//! List changes and resource updates, on both push paths (S11.3).

use std::io::{Read, Write};

use rmcp::model::UnsubscribeRequestParams;
use rmcp::model::{ServerNotification, SubscribeRequestParams, SubscriptionFilter};
use serde_json::json;

use crate::support::host::Event;
use crate::support::http::{connect, initialize, modern, modern_request, request};
use crate::support::mcp::{Client, Era, Heard};
use crate::support::{PATIENCE, start};

#[tokio::test]
async fn legacy_sessions_hear_of_changes() {
    let (server, host) = start();
    let mut clients = [
        Client::connect(server.url(), Era::Legacy).await,
        Client::connect(server.url(), Era::Legacy).await,
    ];
    host.reveal();
    server.announce_tools_changed();
    for client in &mut clients {
        assert_eq!(client.hear().await, Heard::ToolsChanged);
        let tools = client.service.list_all_tools().await.unwrap();
        assert_eq!(tools.last().unwrap().name, "hidden");
    }
    server.announce_resources_list_changed();
    for client in &mut clients {
        assert_eq!(client.hear().await, Heard::ResourcesChanged);
    }
}

#[tokio::test]
async fn changes_that_come_together_are_told_once() {
    let (server, _host) = start();
    let mut client = Client::connect(server.url(), Era::Legacy).await;
    for _ in 0..100 {
        server.announce_tools_changed();
    }
    server.announce_resources_list_changed();
    assert_eq!(client.hear().await, Heard::ToolsChanged);
    assert_eq!(client.hear().await, Heard::ResourcesChanged);
    assert_eq!(client.try_hear(), None);
}

#[tokio::test]
#[expect(deprecated, reason = "the legacy methods")]
async fn legacy_sessions_hear_of_resources_they_subscribed_to() {
    let (server, _host) = start();
    let mut client = Client::connect(server.url(), Era::Legacy).await;
    let uri = "godot://scene";
    client.service.subscribe(SubscribeRequestParams::new(uri)).await.unwrap();
    server.announce_resource_updated("godot://other");
    server.announce_resource_updated(uri);
    assert_eq!(client.hear().await, Heard::ResourceUpdated(uri.to_owned()));
    client.service.unsubscribe(UnsubscribeRequestParams::new(uri)).await.unwrap();
    server.announce_resource_updated(uri);
    server.announce_tools_changed();
    assert_eq!(client.hear().await, Heard::ToolsChanged);
}

#[tokio::test]
async fn listeners_hear_of_what_they_asked_for() {
    let (server, _host) = start();
    let client = Client::connect(server.url(), Era::Modern).await;
    let filter = SubscriptionFilter::builder()
        .tools_list_changed()
        .resource_subscription("godot://scene")
        .build();
    let mut listening = client.service.listen(filter).await.unwrap();
    server.announce_resources_list_changed();
    server.announce_resource_updated("godot://other");
    server.announce_resource_updated("godot://scene");
    server.announce_tools_changed();
    let mut heard = Vec::new();
    for _ in 0..2 {
        let next = tokio::time::timeout(PATIENCE, listening.next()).await.unwrap();
        heard.push(next.unwrap().unwrap());
    }
    assert!(matches!(heard[0], ServerNotification::ToolListChangedNotification(_)), "{heard:?}");
    assert!(
        matches!(&heard[1], ServerNotification::ResourceUpdatedNotification(it)
            if it.params.uri == "godot://scene"),
        "{heard:?}"
    );
}

/// The host has to look only at what somebody wants to hear of, counted over both push paths.
#[tokio::test]
#[expect(deprecated, reason = "the legacy methods")]
async fn the_host_knows_what_is_watched() {
    let (server, host) = start();
    let watched = async |uris: &[&str]| {
        let uris = uris.iter().map(|it| (*it).to_owned()).collect();
        host.event(|it| *it == Event::Watched(Vec::clone(&uris))).await;
    };
    let legacy = Client::connect(server.url(), Era::Legacy).await;
    let modern = Client::connect(server.url(), Era::Modern).await;
    for uri in ["godot://a", "godot://a", "godot://b"] {
        legacy.service.subscribe(SubscribeRequestParams::new(uri)).await.unwrap();
    }
    watched(&["godot://a", "godot://b"]).await;
    let error = legacy.service.subscribe(SubscribeRequestParams::new("godot://unwatchable")).await;
    assert!(error.unwrap_err().to_string().contains("nobody will tell"));
    let filter = SubscriptionFilter::builder()
        .resource_subscription("godot://a")
        .resource_subscription("godot://c")
        .resource_subscription("godot://unwatchable")
        .build();
    let listening = modern.service.listen(filter).await.unwrap();
    watched(&["godot://a", "godot://b", "godot://c"]).await;
    legacy.service.unsubscribe(UnsubscribeRequestParams::new("godot://b")).await.unwrap();
    watched(&["godot://a", "godot://c"]).await;
    drop(listening);
    drop(modern);
    watched(&["godot://a"]).await;
    legacy.service.cancel().await.unwrap();
    watched(&[]).await;
}

#[tokio::test]
async fn a_listener_learns_that_the_server_stops() {
    let (server, _host) = start();
    let (headers, body) = modern_request(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut stream = connect(server.port());
    stream.write_all(&request("POST", "/mcp", &headers, &body)).unwrap();
    let mut text = String::new();
    while !text.contains("subscriptions/acknowledged") {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).unwrap();
        assert_ne!(read, 0, "{text}");
        text += std::str::from_utf8(&buffer[..read]).unwrap();
    }
    server.stop();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.lines().last().is_some_and(|it| it == "0" || it.is_empty()), "{text}");
    assert!(text.contains(r#""result""#), "a graceful end: {text}");
}

/// Nobody reads these streams, and everything else goes on.
#[tokio::test]
async fn a_stalled_reader_holds_up_nobody() {
    let (server, _host) = start();
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let (session, _) = initialize(server.port(), "2025-11-25");
        let mut stream = connect(server.port());
        let headers = [("Mcp-Session-Id", &*session), ("Content-Length", "")];
        stream.write_all(&request("GET", "/mcp", &headers, b"")).unwrap();
        stalled.push(stream);
    }
    let mut client = Client::connect(server.url(), Era::Legacy).await;
    for _ in 0..5 {
        server.announce_tools_changed();
        assert_eq!(client.hear().await, Heard::ToolsChanged);
        assert_eq!(modern(server.port(), "tools/list", json!({})).status, 200);
    }
}
